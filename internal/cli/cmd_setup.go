package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/docs"
	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/view"
)

// skillFile is the skill below a directory of skills.
const skillFile = "skills/piton-plans/SKILL.md"

// reader is where an agent program looks for skills and for what it is told of a project.
type reader struct {
	name     string
	skills   string // directory in a project
	told     string // file in a project
	variable string // that names its directory of a person
	home     string // else that, below theirs
	own      string // file there
}

// readers are those that piton setup knows, each tried.
var readers = []reader{
	{"claude", ".claude", "CLAUDE.md", "CLAUDE_CONFIG_DIR", ".claude", "CLAUDE.md"},
	{"codex", ".agents", "AGENTS.md", "CODEX_HOME", ".codex", "AGENTS.md"},
	{"gemini", ".gemini", "GEMINI.md", "", ".gemini", "GEMINI.md"},
	{"opencode", ".opencode", "AGENTS.md", "", ".config/opencode", "AGENTS.md"},
	{"copilot", ".github", "AGENTS.md", "", ".copilot", "copilot-instructions.md"},
}

func (a *app) setupCmd() *cobra.Command {
	var home, remove, dry bool
	c := &cobra.Command{
		Use:   "setup AGENT",
		Short: "Teach an agent of yours to write plans and to use piton",
		Long: `Writes two things: a skill about plans where the agent looks for skills, and a section about Piton in
the file that it reads first, such as AGENTS.md. They are for this workspace, or with --home for all of
your projects. AGENT is claude, codex, gemini, opencode or copilot.

Two marks enclose the section, and the rest of the file stays as it is. Run piton setup again to bring
both up to date, or with --remove to take them away. A text that somebody has changed is left as it
is, and you are told.`,
		Example: "  piton setup claude --dry-run\n  piton setup codex\n  piton setup gemini --home\n  piton setup codex --remove",
		Args:    exactly("an agent", 1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.setup(args[0], home, remove, dry) },
	}
	c.Flags().BoolVar(&home, "home", false, "for all of your projects, in your home directory")
	c.Flags().BoolVar(&remove, "remove", false, "take away what piton setup wrote")
	c.Flags().BoolVar(&dry, "dry-run", false, "print the texts and the files, and write nothing")
	c.ValidArgsFunction = cobra.FixedCompletions(readerNames(), cobra.ShellCompDirectiveNoFileComp)
	return c
}

func readerNames() (names []string) {
	for _, r := range readers {
		names = append(names, r.name)
	}
	return names
}

// taught is a file that setup writes.
type taught struct {
	File   string `json:"file"`
	Did    string `json:"did"` // wrote, removed, kept: nothing was to be done
	Text   string `json:"text"`
	path   string
	within string // the directory that it must not lead out of
	base   string // the same, links followed
	whole  bool   // nothing else is in it
	was    []byte
	is     []byte
	mode   fs.FileMode
}

func (a *app) setup(name string, home, remove, dry bool) error {
	i := slices.IndexFunc(readers, func(r reader) bool { return r.name == name })
	if i < 0 {
		return misuse(fmt.Sprintf("piton setup does not know the agent %q", name), "name one of "+view.Join(readerNames())+"; for another agent, copy what piton setup codex --dry-run prints")
	}
	files, err := a.taught(readers[i], home)
	if err != nil {
		return err
	}
	for n := range files { // all of them are looked at before one is written
		if err := files[n].plan(a, remove); err != nil {
			return err
		}
	}
	for n := range files {
		if !dry {
			err = errors.Join(err, files[n].write())
		}
	}
	if err != nil {
		return err
	}
	if a.json {
		a.document("setup", map[string]any{"agent": name, "files": files, "dry_run": dry})
		return nil
	}
	a.showTaught(files, dry, remove)
	return nil
}

// taught are the files of an agent, in the workspace or in the person's home.
func (a *app) taught(r reader, home bool) ([]taught, error) {
	place, err := a.place()
	if err != nil {
		return nil, err
	}
	base, skills, told := place.Dir, r.skills, r.told
	if home {
		if base, skills, told, err = a.homeOf(r), "", r.own, nil; base == "" {
			return nil, misuse("there is no home directory", "set HOME")
		}
	}
	return []taught{
		{Text: docs.Skill, path: filepath.Join(base, skills, filepath.FromSlash(skillFile)), within: base, whole: true},
		{Text: docs.Agents, path: filepath.Join(base, told), within: base},
	}, nil
}

// homeOf is the directory of an agent below the person's home.
func (a *app) homeOf(r reader) string {
	env := a.environ()
	if dir := env[r.variable]; r.variable != "" && filepath.IsAbs(dir) {
		return dir
	}
	if dir := env["XDG_CONFIG_HOME"]; r.name == "opencode" && filepath.IsAbs(dir) {
		return filepath.Join(dir, "opencode")
	}
	home := cmp.Or(env["HOME"], env["USERPROFILE"])
	if home == "" {
		return ""
	}
	return filepath.Join(home, filepath.FromSlash(r.home))
}

// maxTaught is the size of a file that a section is put into.
const maxTaught = 1 << 20

// plan says what is to become of the file.
func (f *taught) plan(a *app, remove bool) error {
	f.File = a.nearName(f.path)
	refuse := func(why, hint string) error {
		return &api.Problem{Code: api.Conflict, Message: f.File + " is left as it is: " + why, Hint: hint}
	}
	if err := f.resolve(); err != nil {
		return refuse(err.Error(), "make it a file of its own, or write the section there yourself: --dry-run prints it")
	}
	var err error
	f.was, err = durable.ReadFile(f.path, maxTaught)
	f.mode = 0o644
	if err == nil {
		if info, other := os.Stat(f.path); other == nil {
			f.mode = info.Mode().Perm()
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return refuse(unwrapped(err).Error(), "move it away")
	}
	text := f.Text
	if remove {
		text = ""
	}
	if f.whole {
		f.is, err = remarkedSkill(f.was, text)
	} else {
		f.is, err = remarked(f.was, text)
	}
	if err != nil {
		return refuse(err.Error(), "remove that text with its marks, or the file, and say it again")
	}
	switch {
	case bytes.Equal(f.is, f.was):
		f.Did = "kept"
	case len(bytes.TrimSpace(f.is)) == 0:
		f.Did = "removed"
	default:
		f.Did = "wrote"
	}
	return nil
}

// resolve follows links, which must not lead out of where the file belongs.
func (f *taught) resolve() error {
	base, err := filepath.EvalSymlinks(f.within)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // all of it is made
	}
	if err != nil {
		return unwrapped(err)
	}
	at, rest := f.path, ""
	for {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			rel, err := filepath.Rel(base, real)
			if err != nil || !filepath.IsLocal(rel) {
				return errors.New("it leads to " + real)
			}
			f.path, f.base = filepath.Join(real, rest), base
			return nil
		}
		if _, other := os.Lstat(at); other == nil {
			return unwrapped(err) // a link to nothing
		}
		at, rest = filepath.Dir(at), path.Join(filepath.Base(at), rest)
	}
}

func unwrapped(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// remarkedSkill is the file of the skill. A file of a skill begins with its frontmatter, so
// that the mark stands at the end.
func remarkedSkill(file []byte, text string) ([]byte, error) {
	if text != "" {
		text += fmt.Sprintf(markEnds, markHash([]byte(text))) + "\n"
	}
	if len(file) == 0 {
		return []byte(text), nil
	}
	body := bytes.TrimSuffix(bytes.TrimRight(file, "\r\n"), []byte("-->"))
	at := bytes.LastIndex(body, []byte("<!-- piton setup: ends "))
	if at < 0 || strings.TrimSpace(string(body[at+len("<!-- piton setup: ends "):])) != markHash(body[:at]) {
		return nil, markFault("it is not as piton setup wrote it")
	}
	return []byte(text), nil
}

// write makes the file what it is to be.
func (f *taught) write() error {
	var err error
	switch f.Did {
	case "removed":
		err = os.Remove(f.path)
		for dir := filepath.Dir(f.path); err == nil && f.whole && dir != f.base; dir = filepath.Dir(dir) {
			if os.Remove(dir) != nil {
				break // something else is in it
			}
		}
	case "wrote":
		if err = os.MkdirAll(filepath.Dir(f.path), 0o755); err == nil {
			err = durable.Replace(f.path, f.is, f.mode, nil)
		}
	}
	if err != nil {
		return api.CannotWrite(f.File, err)
	}
	return nil
}

func (a *app) showTaught(files []taught, dry, remove bool) {
	for _, f := range files {
		switch {
		case dry && f.Did == "wrote" && remove:
			fmt.Fprintf(a.out, "%s would lose the section of piton setup\n", f.File)
		case dry && f.Did == "wrote":
			fmt.Fprintf(a.out, "%s would get:\n\n%s\n", f.File, strings.TrimSuffix(f.Text, "\n"))
		case dry:
			fmt.Fprintf(a.out, "%s would be %s\n", f.File, f.Did)
		case remove && f.Did == "wrote":
			fmt.Fprintf(a.out, "removed the section of piton setup from %s\n", f.File)
		case f.Did == "kept":
			fmt.Fprintf(a.out, "%s needs no change\n", f.File)
		default:
			fmt.Fprintf(a.out, "%s %s\n", f.Did, f.File)
		}
	}
}
