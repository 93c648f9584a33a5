package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/proc"
)

// Limits of one question to git.
const (
	gitTimeout  = 30 * time.Minute // a snapshot of a large repository reads all of it; a person may stop it
	maxGitBytes = 512 << 20
)

// kept asks git for the files that it follows, or would if they were added.
var kept = []string{"--cached", "--others", "--exclude-standard", "--"}

// gitIgnored returns what git ignores: files, and directories of which it
// ignores all. It must have listed files before: that it refuses now is an error.
func (t *Tree) gitIgnored(ctx context.Context) ([]string, error) {
	names, ok, err := t.ask(ctx, "--others", "--ignored", "--exclude-standard", "--directory")
	if err == nil && !ok {
		err = errors.New("git lists what it follows, but not what it ignores")
	}
	slices.Sort(names)
	return names, err
}

// ask returns what git ls-files answers. ok is false where there is no repository or git
// cannot read it.
func (t *Tree) ask(ctx context.Context, args ...string) (names []string, ok bool, err error) {
	argv, env := command(t.dir, t.git, slices.Concat(listing, args)...)
	if t.git == "" || t.pool == nil || argv == nil {
		return nil, false, nil
	}
	out, err := t.runGit(ctx, proc.Spec{Argv: argv, Dir: t.dir, Env: env}, "ls-files")
	if _, ok := errors.AsType[*refused](err); ok {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	for name := range strings.SplitSeq(out, "\x00") {
		if name, ok := clean(wire(name)); ok && !skipped(name) {
			names = append(names, name)
		}
	}
	return names, true, nil
}

// refused is the answer of a git that did not do what it was told.
type refused struct {
	verb   string
	status int
	says   string
	out    string
}

func (r *refused) Error() string { return fmt.Sprintf("git %s: exit %d: %s", r.verb, r.status, r.says) }

// runGit returns what git printed.
func (t *Tree) runGit(ctx context.Context, spec proc.Spec, verb string) (string, error) {
	spec.Timeout, spec.Output = gitTimeout, proc.Output{Head: -1, Tail: maxGitBytes}
	r := t.pool.Run(ctx, spec)
	status, exited := r.Exited()
	out := string(r.Stdout.Tail)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case r.Err != nil:
		return "", fmt.Errorf("git %s: %w", verb, r.Err)
	case !exited:
		return "", fmt.Errorf("git %s: it was ended (timeout %t, signal %q)", verb, r.TimedOut, r.Signal)
	case r.Stdout.Dropped() > 0:
		return "", fmt.Errorf("git %s: it prints more than can be held", verb)
	case status != 0:
		return "", &refused{verb, status, r.Stderr.LastLines(12, 2000), out}
	}
	return out, nil
}

// safely are settings by which nothing that the repository's own configuration says
// runs a program or sends git elsewhere.
var safely = []string{
	"--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
	"-c", "core.untrackedCache=false", "-c", "submodule.recurse=false", "-c", "core.excludesFile=" + os.DevNull,
}

// listing asks for names only.
var listing = []string{"--literal-pathspecs", "ls-files", "-z"}

// command is one of git on the repository that dir lies in, and its environment; nil
// where there is none.
func command(dir, git string, args ...string) (argv, env []string) {
	gitDir, workTree := repository(dir)
	if gitDir == "" {
		return nil, nil
	}
	return slices.Concat([]string{git}, safely, args), gitEnv(gitDir, workTree)
}

func gitEnv(gitDir, workTree string) []string {
	return proc.Environ(os.Environ(), nil, map[string]string{
		"GIT_DIR": gitDir, "GIT_WORK_TREE": workTree,
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_ATTR_NOSYSTEM": "1",
		"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.DevNull, "GIT_NO_LAZY_FETCH": "1",
		"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C",
	})
}

// Kept returns the command, and its environment, by which git at an absolute
// path lists what it does not ignore in dir, with a NUL after each name. It is
// to be started in dir, and runs nothing that the repository names. There is
// none where dir is in no repository.
func Kept(dir, git string) (argv, env []string) {
	return command(dir, git, slices.Concat(listing, kept)...)
}

// Titles is the command that prints the titles of the newest commits of the repository
// that dir lies in, one a line; nil where there is none.
func Titles(dir, git string, most int) (argv, env []string) {
	return command(dir, git, "log", "-n", strconv.Itoa(most), "--no-show-signature", "--format=%s")
}

// Head is the command that prints the commit that the checkout around dir stands on, and
// fails where there is none; nil where there is no repository.
func Head(dir, git string) (argv, env []string) {
	return command(dir, git, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
}

// Settings is the command that lists the settings of git for the repository around dir, those
// of the person too: each key, a line feed, its value and a NUL. It is nil where there is no
// repository.
func Settings(dir, git string) (argv, env []string) {
	gitDir, workTree := repository(dir)
	if gitDir == "" {
		return nil, nil
	}
	return []string{git, "--no-pager", "config", "--list", "-z"}, personEnv(gitDir, workTree)
}

// personEnv is the environment in which git reads the settings of the person too.
func personEnv(gitDir, workTree string) []string {
	return slices.DeleteFunc(gitEnv(gitDir, workTree), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_CONFIG_GLOBAL=") || strings.HasPrefix(kv, "GIT_CONFIG_NOSYSTEM=")
	})
}
