package probe

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/tree"
	"github.com/piton-dev/piton/internal/verify"
)

// worktrees says whether git can make worktrees of the workspace.
func worktrees(ctx context.Context, env Env) *verify.Git {
	file := outside("git", env)
	if file == "" {
		return &verify.Git{Missing: true}
	}
	g := &verify.Git{
		Repository: tree.InRepository(env.Workspace), Version: gitVersion(version(ctx, env, file)), Taken: tree.Taken(env.Workspace),
	}
	if g.Repository {
		g.Partly, g.Nobody = partly(ctx, env), nobody(ctx, env)
	}
	return g
}

// partly says what a worktree would not have as the checkout has it.
func partly(ctx context.Context, env Env) string {
	if why := tree.Partly(env.Workspace); why != "" {
		return why
	}
	if _, born := askGit(ctx, env, maxKept, tree.Head); !born {
		return verify.NoCommit
	}
	if _, err := os.Lstat(filepath.Join(env.Workspace, ".git")); err == nil {
		return ""
	}
	if body, ok := askGit(ctx, env, maxKept, tree.Kept); !ok || len(body) == 0 {
		return "git ignores the whole workspace"
	}
	return ""
}

// nobody reports that git does not know who works here, so that commits would have no author.
func nobody(ctx context.Context, env Env) bool {
	body, ok := askGit(ctx, env, maxKept, tree.Settings)
	known := map[string]string{}
	for setting := range strings.SplitSeq(string(body), "\x00") {
		key, value, _ := strings.Cut(setting, "\n")
		known[key] = value
	}
	return ok && (known["user.name"] == "" || known["user.email"] == "")
}

// gitVersion reads "git version 2.39.5"; zero for what is none.
func gitVersion(line string) (v verify.GitVersion) {
	if n, _ := fmt.Sscanf(line, "git version %d.%d", &v.Major, &v.Minor); n < 2 {
		return verify.GitVersion{}
	}
	return v
}

// maxKept is how much of what git lists is read.
const maxKept = 64 << 20

// unignored are the files of the workspace that git does not ignore, and the
// directories that hold some; not ok where git cannot tell.
func unignored(ctx context.Context, env Env) (names map[string]bool, ok bool) {
	body, ok := askGit(ctx, env, maxKept, tree.Kept)
	if !ok {
		return nil, false
	}
	return withParents(strings.Split(string(body), "\x00")), true
}

// askGit is what git prints to a command that is made of the workspace and its program;
// not ok where it cannot tell.
func askGit(ctx context.Context, env Env, most int64, command func(dir, git string) (argv, environ []string)) (body []byte, ok bool) {
	file := outside("git", env)
	if file == "" {
		return nil, false
	}
	argv, environ := command(env.Workspace, file)
	if argv == nil {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = env.Workspace, environ, time.Second
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return nil, false
	}
	body, err = io.ReadAll(io.LimitReader(out, most))
	return body, cmd.Wait() == nil && err == nil
}

// withParents is the set of the names and of the directories above them.
func withParents(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		for ; name != "" && !all[name]; name = name[:max(0, strings.LastIndexByte(name, '/'))] {
			all[name] = true
		}
	}
	return all
}
