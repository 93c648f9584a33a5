package tree_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/linear"
	"github.com/piton-dev/piton/internal/tier"
	"github.com/piton-dev/piton/internal/tree"
)

// Each case is a text, what counts of it, and what becomes of it when that is
// put into another text.
var parts = []struct {
	name, file, part string
	text, want       string // want "!" is malformed
}{
	{"scripts", "package.json", "scripts", `{"name": "x", "scripts": {"b": "1", "a": "2"}}`, `{"scripts":{"b":"1","a":"2"}}`},
	{"no scripts", "package.json", "scripts", `{"name": "x", "nested": {"scripts": {}}}`, ``},
	{"scripts twice", "a/package.json", "scripts", `{"scripts":1,"x":2,"scripts":3}`, `{"scripts":1,"scripts":3}`},
	{"scripts in disguise", "package.json", "scripts", `{"\u0073cripts": "\u003c<"}`, `{"scripts":"\u003c<"}`},
	{"every kind of value", ".mocharc.json", "v", `{ "v" : [ 1.50 , -2e3, true , null, { }, [ ], {"a":[{"b":{}}]} ] }`, `{"v":[1.50,-2e3,true,null,{},[],{"a":[{"b":{}}]}]}`},
	{"no object", "package.json", "scripts", `[1]`, `!`},
	{"cut off", "package.json", "scripts", `{"scripts":{`, `!`},
	{"more than one", "package.json", "scripts", `{"scripts":{}}{}`, `!`},
	{"a byte order mark", "package.json", "scripts", "\ufeff{}", `!`},
	{"a comment", "tsconfig.json", "x", "{// no\n}", `!`},

	{
		"tool tables", "pyproject.toml", "tool", "[project]\ndependencies = [\n  \"x\", # y\n]\n\n[tool.pytest.ini_options]\naddopts = \"-x\" # z\n\n# c\n[tool.ruff]\n[other]\na = 1\n",
		"[tool.pytest.ini_options]\naddopts = \"-x\" # z\n[tool.ruff]\n",
	},
	{
		"dependencies of installers", "pyproject.toml", "tool", "[tool.poetry.dependencies]\na = 1\n[tool.poetry.group.dev.dependencies]\nb = 1\n[tool.poetry.scripts]\nx = 1\n[tool.evil.dependencies]\n",
		"[tool.poetry.scripts]\nx = 1\n[tool.evil.dependencies]\n",
	},
	{"a header in a string", "pyproject.toml", "tool", "a = \"\"\"\n[tool.x]\n\"\"\"\nb = '''\n[tool.x]'''\nc = \"[tool.x]\"", ""},
	{"a string that ends in quotes", "pyproject.toml", "tool", "a = \"\"\"x\"\"\"\"\"\n[tool.x]\na = 1", "[tool.x]\na = 1\n"},
	{"an escaped end of a string", "pyproject.toml", "tool", "a = \"\"\"x\\\"\"\"\n[tool.x]\n\"\"\"\n", ""},
	{"a header in a comment", "pyproject.toml", "tool", "# \"\"\"\n[tool.x]\na = 1", "[tool.x]\na = 1\n"},
	{"a nested array", "pyproject.toml", "tool", "a = [\n[\"tool\"],\n]\n", ""},
	{"names in disguise", "pyproject.toml", "tool", "[ \"tool\" . x ]\na=1\n[\"\\u0074ool\".y]\nb=1\n[['tool'.z]]\n", "[ \"tool\" . x ]\na=1\n[\"\\u0074ool\".y]\nb=1\n[['tool'.z]]\n"},
	{"keys without a table", "pyproject.toml", "tool", "x.tool = 1\ntool.pytest.a = 1\ntool = {a = [\n1]}\n[x]\ntool.a = 1\n", "tool.pytest.a = 1\ntool = {a = [\n1]}\n"},
	{"a lone return", "pyproject.toml", "tool", "# x\r[tool.x]\ra = 1\r", "[tool.x]\na = 1\n"},
	{"an open string", "pyproject.toml", "tool", "a = \"x\n[tool.x]", "!"},
	{"an open long string", "pyproject.toml", "tool", "a = '''x\n[tool.x]", "!"},
	{"an open header", "pyproject.toml", "tool", "[tool.x\na = 1\n", "!"},
	{"one bracket too many", "pyproject.toml", "tool", "a = ]\n", "!"},

	{
		"git", ".git/config", "run", "[core]\n\tbare = false\n[branch \"main\"]\n\tremote = origin\n[Alias]\n\tCO = !evil\n",
		"[core]\n\tbare = \"false\"\n[alias]\n\tco = \"!evil\"\n",
	},
	{"git on one line", ".git/config", "run", "[core] fsmonitor = ./x ; y\n[branch \"a\"] remote = b\n[color] ui\n", "[core]\n\tfsmonitor = \"./x\"\n"},
	{"git over two lines", ".git/config", "run", "[branch \"a\"]\n\tremote = b\\\n[core]\n", ""},
	{"git with quotes", ".git/config", "run", "[core]\n\tpager = \"a # b\" c\\t\\\"\n\tx\n", "[core]\n\tpager = \"a # b c\\t\\\"\"\n\tx\n"},
	{"git with a subsection", ".git/config", "run", "[filter \"a\\\\\\\"]b\"]\n\tclean = x\n[filter.OLD]\n\tclean = y\n", "[filter \"a\\\\\\\"]b\"]\n\tclean = \"x\"\n[filter \"old\"]\n\tclean = \"y\"\n"},
	{"git remotes", ".git/config", "run", "[remote \"o\"]\n\turl = a\n\tuploadpack = evil\n\tfetch = +x\n[url \"x\"]\n\tinsteadOf = y\n", "[remote \"o\"]\n\tuploadpack = \"evil\"\n[url \"x\"]\n\tinsteadof = \"y\"\n"},
	{"git broken", ".git/config", "run", "[core\n", "!"},
	{"git without a section", ".git/config", "run", "a = b\n", "!"},
	{"git open quote", ".git/config", "run", "[a]\nb = \"c\n", "!"},
	{"git bad escape", ".git/config", "run", "[a]\nb = \\x\n", "!"},
}

func TestParts(t *testing.T) {
	for _, tt := range parts {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tree.Extract(tt.file, tt.part, []byte(tt.text))
			if err != nil {
				got = []byte("!")
			}
			if d := cmp.Diff(tt.want, string(got)); d != "" {
				t.Errorf("what counts (-want +got):\n%s", d)
			}
		})
	}
}

// A part put into another text is what counts of that text, and the rest stays.
func TestSpliceKeepsTheRest(t *testing.T) {
	tests := []struct{ file, part, text, put, want string }{
		{
			"package.json", "scripts", `{"a":1,"scripts":{"test":"true"},"b":2,"scripts":3}`, `{"scripts":{"test":"jest"}}`,
			"{\n  \"a\": 1,\n  \"scripts\": {\n    \"test\": \"jest\"\n  },\n  \"b\": 2\n}\n",
		},
		{"package.json", "scripts", `{"<a>&\"":"<","scripts":{"x":1}}`, ``, "{\n  \"<a>&\\\"\": \"<\"\n}\n"},
		{"package.json", "scripts", `{"a":1,"scripts":{"test":"true"}}`, ``, "{\n  \"a\": 1\n}\n"},
		{
			"pyproject.toml", "tool", "# mine\n[project]\nname = 'x'\n[tool.x]\na = 1\n[z]\nb = 1\n", "tool.y = 1\n[tool.x]\na = 2\n",
			"tool.y = 1\n# mine\n[project]\nname = 'x'\n[z]\nb = 1\n[tool.x]\na = 2\n",
		},
		{
			".git/config", "run", "[core]\n\tbare = true\n[branch \"a\"]\n\tmerge = b\n", "[core]\n\tbare = \"false\"\n",
			"[core]\n\tbare = \"false\"\n[branch \"a\"]\n\tmerge = \"b\"\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			got, err := tree.Splice(tt.file, tt.part, []byte(tt.text), []byte(tt.put))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if again, err := tree.Extract(tt.file, tt.part, got); err != nil || string(again) != tt.put {
				t.Errorf("what counts afterwards is %q, %v; want %q", again, err, tt.put)
			}
		})
	}
}

// What is read here is what git reads.
func TestGitReadsTheSame(t *testing.T) {
	list := func(body []byte) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, body, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("git", "config", "--file", file, "--list", "-z").Output()
		if err != nil {
			t.Fatalf("git config on %q: %v", body, err)
		}
		return string(out)
	}
	for _, tt := range parts {
		if tt.part != "run" || tt.want == "!" {
			continue
		}
		// With nothing but what counts, and with the whole text written anew.
		spliced, err := tree.Splice(tt.file, tt.part, []byte(tt.text), []byte(tt.want))
		if err != nil {
			t.Fatal(err)
		}
		sorted := func(s string) []string { return slices.Sorted(strings.SplitSeq(s, "\x00")) }
		if d := cmp.Diff(sorted(list([]byte(tt.text))), sorted(list(spliced))); d != "" {
			t.Errorf("%s: written anew, git reads (-before +after):\n%s", tt.name, d)
		}
	}
}

// partFiles has a file and part for each format.
var partFiles = [][2]string{{"package.json", "scripts"}, {"pyproject.toml", "tool"}, {".git/config", "run"}}

// FuzzParts: whatever the texts, what counts of one can be put into another and
// counts there; and each text has an end.
func FuzzParts(f *testing.F) {
	for _, tt := range parts {
		for i := range partFiles {
			f.Add(uint8(i), []byte(tt.text), []byte(parts[0].text))
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, a, b []byte) {
		file, part := partFiles[int(n)%len(partFiles)][0], partFiles[int(n)%len(partFiles)][1]
		counts, err := tree.Extract(file, part, a)
		if err == nil {
			law(t, file, part, a, counts)
			law(t, file, part, b, counts)
		}
		if file == "package.json" && err == nil {
			sameAsMap(t, a, counts)
		}
	})
}

// law checks that a part put into a text is what counts of it then.
func law(t *testing.T, file, part string, text, counts []byte) {
	t.Helper()
	out, err := tree.Splice(file, part, text, counts)
	if err != nil {
		return // the text is malformed
	}
	got, err := tree.Extract(file, part, out)
	if err != nil || !bytes.Equal(got, counts) {
		t.Errorf("%s: %q put into %q gives %q, of which %q counts (%v)", file, counts, text, out, got, err)
	}
}

// sameAsMap checks against a reader that keeps the last of equal keys.
func sameAsMap(t *testing.T, text, counts []byte) {
	t.Helper()
	var whole, mine map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		return // deeper than it likes
	}
	if len(counts) > 0 {
		if err := json.Unmarshal(counts, &mine); err != nil {
			t.Fatalf("%q: %v", counts, err)
		}
	}
	if d := cmp.Diff(whole["scripts"], mine["scripts"]); d != "" {
		t.Errorf("what counts of %q (-map +here):\n%s", text, d)
	}
}

// Long texts of the nasty kinds cost no more than plain ones do. What is quadratic and
// takes no memory would never end in the gate.
func TestPartsAreLinear(t *testing.T) {
	for name, text := range map[string]func(n int) string{
		"brackets":    func(n int) string { return strings.Repeat("[", n) },
		"lines":       func(n int) string { return strings.Repeat("[tool.x]\n", n/9) },
		"quotes":      func(n int) string { return strings.Repeat(`"`, n) },
		"dots":        func(n int) string { return "[" + strings.Repeat("a.", n/2) + "x]" },
		"backslashes": func(n int) string { return "[a]\nb = " + strings.Repeat(`\\`, n/2) },
		"objects":     func(n int) string { return strings.Repeat(`{"a":`, n/5) },
		"members":     func(n int) string { return "{" + strings.Repeat(`"scripts":1,`, n/12) + `"x":1}` },
		"blanks":      func(n int) string { return strings.Repeat(" ", n) + "x" },
		"triples":     func(n int) string { return strings.Repeat(`"""`, n/3) },
	} {
		for _, p := range partFiles {
			read := func(n int) func() {
				text := []byte(text(n))
				return func() {
					if counts, err := tree.Extract(p[0], p[1], text); err == nil {
						_, _ = tree.Splice(p[0], p[1], text, counts)
					}
				}
			}
			n := tier.Draws(1<<17, 1<<21)
			t.Run(name+" as "+path.Base(p[0]), func(t *testing.T) { linear.Memory(t, read(n/4), read(n)) })
		}
	}
}
