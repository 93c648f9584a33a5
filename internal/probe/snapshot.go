package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/tree"
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
	maxShown   = 300      // files of a snapshot
	maxTitles  = 10       // commits
	maxScripts = 64 << 10 // bytes of a file that names commands
)

// Look makes a snapshot of the workspace. Nothing of it is run but git, which reads.
func Look(ctx context.Context, env Env) Snapshot {
	names := Files(ctx, env)
	s := Snapshot{Languages: languages(names), Commands: commands(names, env.Workspace)}
	s.Paths, s.More = nearest(names)
	titles := func(dir, git string) ([]string, []string) { return tree.Titles(dir, git, maxTitles) }
	if body, ok := askGit(ctx, env, maxScripts, titles); ok {
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

// manifests are files at the root that say how a workspace is built and tested.
var manifests = []struct {
	file     string
	commands []string
	named    func(body []byte) []string
}{
	{"go.mod", []string{"go build ./...", "go vet ./...", "go test ./..."}, nil},
	{"Cargo.toml", []string{"cargo build", "cargo test"}, nil},
	{"package.json", nil, npmScripts},
	{"pyproject.toml", []string{"pytest -q"}, nil},
	{"setup.py", []string{"pytest -q"}, nil},
	{"pom.xml", []string{"mvn test"}, nil},
	{"build.gradle", []string{"gradle test"}, nil},
	{"build.gradle.kts", []string{"gradle test"}, nil},
	{"mix.exs", []string{"mix test"}, nil},
	{"composer.json", []string{"composer test"}, nil},
	{"deno.json", []string{"deno test"}, nil},
	{"Makefile", nil, makeTargets},
}

// commands are those that the manifests at the root lead one to expect.
func commands(names []string, workspace string) (found []string) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil
	}
	defer root.Close()
	for _, m := range manifests {
		if _, there := slices.BinarySearch(names, m.file); !there {
			continue
		}
		found = append(found, m.commands...)
		if m.named != nil {
			found = append(found, m.named(beginning(root, m.file))...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// beginning is what a regular file begins with, as much as is looked at.
func beginning(root *os.Root, name string) []byte {
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxScripts {
		return nil
	}
	body, _ := root.ReadFile(name) // what cannot be read names nothing
	return body
}

// usual are names of scripts and targets that build, check or test.
var usual = []string{"build", "check", "lint", "test", "typecheck"}

func npmScripts(body []byte) (found []string) {
	var m struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal(body, &m) != nil {
		return nil
	}
	for _, name := range usual {
		if m.Scripts[name] != "" {
			found = append(found, "npm run "+name)
		}
	}
	return found
}

var target = regexp.MustCompile(`(?m)^([a-z]+)[ \t]*:(?:[^=]|$)`)

func makeTargets(body []byte) (found []string) {
	for _, m := range target.FindAllSubmatch(body, -1) {
		if name := string(m[1]); slices.Contains(usual, name) {
			found = append(found, "make "+name)
		}
	}
	return found
}
