package notes_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/notes"
)

func TestMap(t *testing.T) {
	many := func(n int, format string) []string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf(format, i))
		}
		return names
	}
	deep := append(many(150, "src/a%03d/b/f"), many(150, "src/a%03d/c/f")...)
	long := strings.Repeat("x", 100)
	for name, tt := range map[string]struct {
		names []string
		more  int
		want  string // the whole, or the beginning if there is an end
		end   string
	}{
		"some": {
			names: []string{"src/a.go", "src/api/x.go", "src/api/y z.go", "src/api/v1/b.go", "src/t/\n\u202e`\xff"},
			want: `5 files
src/ (1) a.go
src/api/ (2) x.go "y z.go"
src/api/v1/ (1) b.go
src/t/ (1) "\n\u202e` + "`" + `\xff"
`,
		},
		"left out": {names: many(2, "src/%d"), more: 7, want: "2 files, and 7 more are left out\nsrc/ (2) 0 1\n"},
		"depth":    {names: deep, want: "300 files\nsrc/a000/ (0, and 2 further down)\nsrc/a001/", end: "src/a149/ (0, and 2 further down)\n"},
		"deepest":  {names: []string{"src/1/2/3/4/5/6/7/8/9/f"}, want: "1 files\nsrc/1/2/3/4/5/6/7/8/ (0, and 1 further down)\n"},
		"lines":    {names: many(300, "src/d%03d/f"), want: "300 files\nsrc/d000/ (1) f\n", end: "src/d199/ (1) f\n… 100 more directories\n"},
		"bytes":    {names: many(100, "src/"+long+"%03d/f"), want: "100 files\n", end: "/ (1) f\n… 29 more directories\n"},
		"names":    {names: many(100, "src/"+long+"%03d"), want: "100 files\nsrc/ (100) " + long + "000 … 99 more\n"},
	} {
		c := mapOf(t, "src", func(dir string) ([]string, int, error) {
			if dir != "src" {
				t.Errorf("%s: a map of %s", name, dir)
			}
			return tt.names, tt.more, nil
		})
		if c.Missing || c.Ref != "map:src" || c.Hash == "" || c.Size != int64(len(c.Text)) || len(c.Text) > 8<<10+50 {
			t.Errorf("%s: %+v", name, c)
		}
		if !strings.HasPrefix(c.Text, tt.want) || !strings.HasSuffix(c.Text, tt.end) || tt.end == "" && c.Text != tt.want {
			t.Errorf("%s: %s", name, cmp.Diff(tt.want+tt.end, c.Text))
		}
	}
}

func TestMapMissing(t *testing.T) {
	none := func(string) ([]string, int, error) { return nil, 0, nil }
	for name, tt := range map[string]struct {
		below func(string) ([]string, int, error)
		want  string
	}{
		"src":    {none, "there is no file below it that may be shown"},
		"src/.":  {func(string) ([]string, int, error) { return nil, 0, errors.New("too slow\nby far") }, "too slow"},
		"./src/": {nil, "files cannot be listed here"},
		"none":   {none, "no such file"},
		"file":   {none, "it is no directory"},
		"link":   {none, "it is no directory"},
		"../src": {none, "it is not a path inside the workspace"},
		"/etc":   {none, "it is not a path inside the workspace"},
	} {
		if c := mapOf(t, name, tt.below); !c.Missing || c.Reason != tt.want || c.Ref != "map:"+name {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// mapOf reads the map of a directory where src is one.
func mapOf(t *testing.T, dir string, below func(string) ([]string, int, error)) notes.Content {
	t.Helper()
	ws := t.TempDir()
	err := errors.Join(os.Mkdir(filepath.Join(ws, "src"), 0o700), os.WriteFile(filepath.Join(ws, "file"), nil, 0o600), os.Symlink("/etc", filepath.Join(ws, "link")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := notes.Read(ws, []engine.Subscription{{Kind: "map", Ref: dir}}, notes.Sources{Below: below})
	if err != nil || len(got) != 1 {
		t.Fatalf("%s: %v, %v", dir, got, err)
	}
	return got[0]
}
