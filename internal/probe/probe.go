// Package probe looks at the machine. It answers what the verification of a plan asks
// ([Answer]), and says what a run would find here ([Doctor]).
//
// Everything outside a plan that a rule depends on is looked up here, once, and passed
// on as plain values, so that the rules stay pure.
//
// It must never start anything that the workspace provides: such programs are looked up
// and not run. Only programs outside the workspace are asked for their version: by
// doctor, and git if a plan wants worktrees. If a pattern names files, git is also asked
// which ones it does not ignore. Nothing that probe changes stays.
package probe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	worker "github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/verify"
)

// Env is where to look.
type Env struct {
	Workspace string   // root of the workspace, absolute
	State     string   // the state directory, which need not exist; only doctor looks at it
	Environ   []string // as os.Environ gives it; its PATH is searched
	Config    config.Config
}

// Answer looks everything up that a plan's verification asks for. What cannot
// be looked at stays unanswered, and so does the rest when the context ends.
func Answer(ctx context.Context, q verify.Queries, env Env) verify.Facts {
	f := verify.Facts{
		Commands:        make(map[string]string, len(q.Commands)),
		Files:           make(map[string]verify.File, len(q.Files)),
		Texts:           make(map[string]string, len(q.Texts)),
		Workspace:       filepath.ToSlash(env.Workspace),
		Agents:          agents(env),
		Judge:           judge(env.Config),
		DefaultAgent:    env.Config.DefaultAgent,
		NoPlanner:       env.Config.Planner.None(),
		Allow:           env.Config.Policy.Allow,
		RefuseUnmetered: env.Config.Policy.Unmetered == "refuse",
		Commit:          env.Config.Policy.Commit,
		Leave:           env.Config.Policy.Land == "no",
		Shared:          env.Config.Policy.Workspace == "shared",
		Tools:           tools(q.Tools, env),
	}
	programs(ctx, q.Commands, env, f.Commands)
	if ctx.Err() != nil {
		return f
	}
	f.Calls = calls(ctx, q.Calls, env)
	if q.Offline || q.Held {
		f.Exposed, f.Loose = held(env.Config.Policy.Isolation)
	}
	if q.Git {
		f.Git = worktrees(ctx, env)
	}
	if root, err := os.OpenRoot(env.Workspace); err == nil {
		defer root.Close()
		files(ctx, q.Files, root, f.Files)
		texts(ctx, q.Texts, root, f.Texts)
		f.Globs = globs(ctx, q.Globs, root, env)
	}
	return f
}

// maxLooked is how many files and directories are looked at for patterns. Those
// that nothing matched until then stay unanswered.
const maxLooked = 100_000

// globs answers whether anything of the workspace matches each pattern, without
// following links and without what git ignores and what belongs to git and to
// Piton: a run finds the same.
func globs(ctx context.Context, patterns []string, root *os.Root, env Env) map[string]bool {
	if len(patterns) == 0 {
		return nil
	}
	kept, known := unignored(ctx, env)
	answers := make(map[string]bool, len(patterns))
	open := slices.Clone(patterns)
	looked := 0
	fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		looked++
		switch {
		case name == ".git" || name == ".piton":
			return fs.SkipDir
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case ctx.Err() != nil || looked > maxLooked:
			return fs.SkipAll
		}
		open = slices.DeleteFunc(open, func(p string) bool {
			answers[p] = name != "." && (!known || kept[name]) && verify.MatchGlob(p, name)
			return answers[p]
		})
		if len(open) == 0 {
			return fs.SkipAll
		}
		return nil
	}) //nolint:errcheck // what cannot be entered matches nothing
	if ctx.Err() != nil || looked > maxLooked {
		for _, p := range open {
			delete(answers, p)
		}
	}
	return answers
}

// files answers for paths of the workspace, without following a link out of it.
func files(ctx context.Context, names []string, root *os.Root, answers map[string]verify.File) {
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		info, err := root.Stat(filepath.FromSlash(name))
		switch {
		case err == nil:
			answers[name] = verify.File{Exists: true, Dir: info.IsDir(), Executable: !info.IsDir() && mayRun(info)}
		case errors.Is(err, fs.ErrNotExist):
			answers[name] = verify.File{}
		case !errors.Is(err, fs.ErrPermission) && isLink(root, name):
			answers[name] = verify.File{Outside: true}
		}
	}
}

// isLink reports whether a path is that of a link, whatever it leads to.
func isLink(root *os.Root, name string) bool {
	info, err := root.Lstat(filepath.FromSlash(name))
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// Caps on the texts that are looked into: of one, and of all that are asked for
// at a time.
const (
	maxText  = 256 << 10
	maxTexts = 8 << 20
)

// texts answers with the contents of files that are text, without following a
// link out of the workspace.
func texts(ctx context.Context, names []string, root *os.Root, answers map[string]string) {
	left := maxTexts
	for _, name := range names {
		if ctx.Err() != nil || left <= 0 {
			return
		}
		if text, ok := readText(root, filepath.FromSlash(name)); ok {
			answers[name] = text
			left -= len(text)
		}
	}
}

// readText reads a regular file that is text and not too long. It looks before
// it opens: to open a pipe would wait for somebody to write into it.
func readText(root *os.Root, name string) (string, bool) {
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxText {
		return "", false
	}
	f, err := root.Open(name)
	if err != nil {
		return "", false
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil || len(body) > maxText || !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		return "", false
	}
	return string(body), true
}

func agents(env Env) map[string]verify.Agent {
	list := make(map[string]verify.Agent, len(env.Config.Agents))
	for name, a := range env.Config.Agents {
		fact := verify.Agent{
			Shell:   a.Kind == config.Shell,
			Metered: a.Kind == config.Exec && tellsUsage(a.Parse) || a.Kind == config.ACP && worker.TellsOver(a.Command) != "",
			Time:    a.Limits.Time,
			When:    a.When,
			Hosts:   len(a.Network) > 0 || len(worker.ProgramOf(a.Command).Hosts) > 0,
		}
		_, priced := env.Config.Price(name)
		fact.Costless = fact.Metered && !priced && (tokensOnly(a.Parse) || worker.TellsOver(a.Command) == "tokens")
		if len(a.Command) > 0 && agentProgram(env, a) == "" {
			fact.Missing, fact.Instead = a.Command[0], instead(env, a)
		}
		list[name] = fact
	}
	return list
}

// judge is the model that judges; nil for none.
func judge(c config.Config) *verify.Judge {
	if c.Judge.None() {
		return nil
	}
	_, priced := c.ModelPrice(c.Judge.Model)
	return &verify.Judge{Agent: c.Judge.Agent, Costless: c.Judge.Agent == "" && !priced}
}

// tellsUsage reports a form of output that has the tokens of a step in it.
// Copilot tells what it wrote at most, never what it read.
func tellsUsage(parse string) bool { return parse != "none" && parse != "copilot" }

// tokensOnly reports a form of output that has no cost in it.
func tokensOnly(parse string) bool { return parse == "codex" || parse == "gemini" || parse == "qwen" }

// programs finds where each command is.
func programs(ctx context.Context, names []string, env Env, answers map[string]string) {
	path := proc.SearchPath(env.Environ)
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		answers[name] = find(name, path)
	}
}

// find returns the absolute path of a program, or "".
func find(name string, path []string) string {
	file, err := proc.Find(name, path)
	if err != nil {
		return ""
	}
	return file
}
