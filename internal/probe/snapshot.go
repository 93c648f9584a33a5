package probe

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/tree"
	"github.com/piton-dev/piton/internal/verify"
)

// Snapshot is what a planner is shown of a workspace.
type Snapshot struct {
	Paths     []string // files, by what is near the root first; sorted
	More      int      // files that are left out
	Languages []string // the most used first
	Commands  []string // by which it seems to be built, checked and tested
	Commits   []string // titles, the newest first
}

const (
	maxShown  = 300      // files of a snapshot
	maxTitles = 10       // commits
	maxLog    = 64 << 10 // bytes of their titles
)

// Look makes a snapshot of the workspace. Nothing of it is run but git, which reads.
func Look(ctx context.Context, env Env) Snapshot {
	names := Files(ctx, env)
	s := Snapshot{Languages: languages(names), Commands: commands(ctx, env)}
	s.Paths, s.More = nearest(names)
	titles := func(dir, git string) ([]string, []string) { return tree.Titles(dir, git, maxTitles) }
	if body, ok := askGit(ctx, env, maxLog, titles); ok {
		s.Commits = slices.DeleteFunc(strings.Split(string(body), "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	}
	return s
}

// Files are the files of the workspace, as paths with slashes, sorted: those that git
// does not ignore, or all but hidden ones where there is no git.
func Files(ctx context.Context, env Env) (names []string) {
	if body, ok := askGit(ctx, env, maxKept, tree.Kept); ok {
		for name := range strings.SplitSeq(string(body), "\x00") {
			if name != "" && !strings.HasPrefix(name, ".piton/") && !strings.HasSuffix(name, "/") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	root, err := os.OpenRoot(env.Workspace)
	if err != nil {
		return nil
	}
	defer root.Close()
	looked := 0
	fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		looked++
		switch base := filepath.Base(name); {
		case ctx.Err() != nil || looked > maxLooked:
			return fs.SkipAll
		case err != nil, name != "." && d.IsDir() && (base[0] == '.' || base == "node_modules"):
			return skipped(d)
		case !d.IsDir():
			names = append(names, name)
		}
		return nil
	}) //nolint:errcheck // what cannot be entered is not shown
	return names
}

func skipped(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// nearest are the files that are shown: those with the fewest directories above them.
func nearest(names []string) (shown []string, more int) {
	shown = slices.Clone(names)
	slices.SortStableFunc(shown, func(a, b string) int { return cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")) })
	more = max(0, len(shown)-maxShown)
	shown = shown[:len(shown)-more]
	slices.Sort(shown)
	return shown, more
}

// extensions of languages, as people call them.
var extensions = map[string]string{
	".go": "Go", ".py": "Python", ".js": "JavaScript", ".mjs": "JavaScript", ".jsx": "JavaScript", ".ts": "TypeScript", ".tsx": "TypeScript",
	".rs": "Rust", ".java": "Java", ".kt": "Kotlin", ".rb": "Ruby", ".php": "PHP", ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++", ".hpp": "C++",
	".cs": "C#", ".swift": "Swift", ".scala": "Scala", ".ex": "Elixir", ".exs": "Elixir", ".hs": "Haskell", ".ml": "OCaml", ".sh": "shell",
	".lua": "Lua", ".pl": "Perl", ".r": "R", ".jl": "Julia", ".zig": "Zig", ".dart": "Dart", ".sql": "SQL", ".html": "HTML", ".css": "CSS", ".tf": "Terraform",
}

// languages counts files by their extension.
func languages(names []string) []string {
	count := map[string]int{}
	for _, name := range names {
		if l := extensions[strings.ToLower(filepath.Ext(name))]; l != "" {
			count[l]++
		}
	}
	all := slices.Sorted(maps.Keys(count))
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	return all[:min(len(all), 6)]
}

// commands are those that the files at the root lead one to expect, as far as they are
// installed.
func commands(ctx context.Context, env Env) []string {
	root, err := os.OpenRoot(env.Workspace)
	if err != nil {
		return nil
	}
	defer root.Close()
	q := verify.Detecting()
	f := verify.Facts{Commands: map[string]string{}, Files: map[string]verify.File{}, Texts: map[string]string{}}
	programs(ctx, q.Commands, env, f.Commands)
	files(ctx, q.Files, root, f.Files)
	texts(ctx, q.Texts, root, f.Texts)
	return verify.Commands(f)
}
