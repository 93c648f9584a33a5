package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/proc"
)

// Limits of one question to git.
const (
	gitTimeout  = 2 * time.Minute
	maxGitBytes = 512 << 20
	maxGitDirs  = 200
)

// gitFiles returns the files below dirs (all, if there are none) that git
// follows, or would if they were added. ok is false where there is no repository
// or git cannot read it.
func (t *Tree) gitFiles(ctx context.Context, dirs ...string) (names []string, ok bool, err error) {
	if len(dirs) > maxGitDirs {
		dirs = nil
	}
	return t.ask(ctx, append(slices.Clone(kept), disks(dirs)...)...)
}

// kept asks git for the files that it does not ignore.
var kept = []string{"--cached", "--others", "--exclude-standard", "--"}

// gitIgnored returns what git ignores: files, and directories of which it
// ignores all.
func (t *Tree) gitIgnored(ctx context.Context) ([]string, error) {
	names, _, err := t.ask(ctx, "--others", "--ignored", "--exclude-standard", "--directory")
	slices.Sort(names)
	return names, err
}

// ask returns what git ls-files answers.
func (t *Tree) ask(ctx context.Context, args ...string) (names []string, ok bool, err error) {
	gitDir, workTree := repository(t.dir)
	if t.git == "" || t.pool == nil || gitDir == "" {
		return nil, false, nil
	}
	r := t.pool.Run(ctx, proc.Spec{
		Argv:    append(gitArgs(t.git), args...),
		Dir:     t.dir,
		Env:     gitEnv(gitDir, workTree),
		Timeout: gitTimeout,
		Output:  proc.Output{Head: -1, Tail: maxGitBytes},
	})
	status, exited := r.Exited()
	switch {
	case ctx.Err() != nil:
		return nil, false, ctx.Err()
	case r.Err != nil:
		return nil, false, fmt.Errorf("ask git for the files: %w", r.Err)
	case !exited:
		return nil, false, fmt.Errorf("ask git for the files: it was ended (timeout %t, signal %q)", r.TimedOut, r.Signal)
	case r.Stdout.Dropped() > 0:
		return nil, false, errors.New("ask git for the files: more than can be held")
	case status != 0:
		return nil, false, nil
	}
	for name := range strings.SplitSeq(string(r.Stdout.Tail), "\x00") {
		if name, ok := clean(wire(name)); ok && !skipped(name) {
			names = append(names, name)
		}
	}
	return names, true, nil
}

// gitArgs ask for names only. Nothing that the repository's own configuration
// says may run a program or send git elsewhere.
func gitArgs(git string) []string {
	return []string{
		git, "--no-pager", "--literal-pathspecs",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.untrackedCache=false", "-c", "core.excludesFile=" + os.DevNull,
		"ls-files", "-z",
	}
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
	gitDir, workTree := repository(dir)
	if gitDir == "" {
		return nil, nil
	}
	return append(gitArgs(git), kept...), gitEnv(gitDir, workTree)
}

func disks(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = disk(n)
	}
	return out
}
