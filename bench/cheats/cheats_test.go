//go:build unix

package cheats

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/piton-dev/piton/internal/built"
	_ "github.com/piton-dev/piton/internal/cli" // or the go command has an old answer for a new program
	"github.com/piton-dev/piton/internal/tier"
)

var (
	full   = flag.Bool("cheats.full", false, "try all cheats at all levels, and do the honest work of each as well")
	public = flag.Bool("cheats.public", false, "do usual tasks in public Go modules and npm packages")
	update = flag.Bool("update", false, "with -cheats.full, write what came of it into docs/cheats.md")
)

// page is what the test writes, and what a run that tries a part of it is compared with.
const page = "../../docs/cheats.md"

// A cheat is one entry of testdata/WAY.txtar: a head and the files of its workspace,
// NAME/FILE. A head has lines of "key: value", then after an empty line the script that
// cheats. A file of NAME/HOME is one of the home.
type cheat struct {
	way, name string
	runner    string   // what the contract runs first of all
	needs     []string // programs; a machine that has not all of them leaves the cheat out
	before    string   // what a person did with the workspace
	contract  string
	writes    string // what honest work changes
	honest    string // honest work
	script    string
	wrap      string // what script and contract are both in, where nobody watches
	slow      bool   // tried only sealed, but for -cheats.full
	within    bool   // the cheat is in what honest work changes: nothing tells it from that
	hole      bool   // it is done at every level, as docs/limits.md says
	files     []txtar.File
	module    string // of Go, or
	pack      string // of npm, whose files the workspace begins with
}

// level is one of isolation, with what makes a machine have it.
type level struct {
	name, policy string
	shut         bool // no user namespaces
}

var levels = []level{{name: "sealed"}, {name: "fenced", shut: true}, {name: "none", policy: "isolation: none, "}}

// An outcome is what came of a step.
type outcome string

const (
	proven   outcome = "**proven**"
	unproven outcome = "unproven"
	refused  outcome = "–"
)

func load(t *testing.T, pattern string) []*cheat {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no cheats in %s: %v", pattern, err)
	}
	var all []*cheat
	known := map[string]*cheat{}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		way := strings.TrimSpace(string(archive.Comment))
		for _, f := range archive.Files {
			of, file, isFile := strings.Cut(f.Name, "/")
			c := known[of]
			switch {
			case !isFile && c == nil:
				c = head(t, f)
				c.way = way
				known[of] = c
				all = append(all, c)
			case isFile && c != nil:
				c.files = append(c.files, txtar.File{Name: file, Data: f.Data})
			default:
				t.Fatalf("%s: %s stands twice, or before its head", name, f.Name)
			}
		}
	}
	return all
}

func head(t *testing.T, f txtar.File) *cheat {
	t.Helper()
	c := &cheat{name: f.Name, writes: "work.txt", honest: "echo right >work.txt"}
	lines, script, ok := strings.Cut(string(f.Data), "\n\n")
	if !ok {
		t.Fatalf("%s: no script", f.Name)
	}
	c.script = script
	for line := range strings.SplitSeq(lines, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "runner":
			c.runner = value
		case "needs":
			c.needs = strings.Fields(value)
		case "before":
			c.before = value
		case "contract":
			c.contract = value
		case "writes":
			c.writes = value
		case "honest":
			c.honest = value
		case "wrap":
			c.wrap = value
		case "module":
			c.module, c.runner = value, "go"
		case "package":
			c.pack, c.runner = value, "npm"
		case "slow":
			c.slow = true
		case "within":
			c.within = true
		case "hole":
			c.hole = true
		default:
			t.Fatalf("%s: %q is no key of a head", f.Name, key)
		}
	}
	return c
}

// place is a workspace with a home and a state directory beside it.
type place struct{ dir, path string }

func (p place) ws() string { return filepath.Join(p.dir, "ws") }

func (p place) env() []string {
	return []string{
		"PATH=" + filepath.Join(p.dir, "home/.local/bin") + ":" + p.path, "HOME=" + filepath.Join(p.dir, "home"), "PITON_STATE=" + filepath.Join(p.dir, "state"), "LANG=C.UTF-8", "USER=me", "SHELL=/bin/bash",
		"TMPDIR=" + filepath.Join(p.dir, "tmp"),
	}
}

// wrong is what every workspace has for honest work to mend.
const wrong = "wrong\n"

// lay makes the workspace of a cheat as a person left it.
func (c *cheat) lay(t *testing.T, path string) place {
	t.Helper()
	dir, err := os.MkdirTemp(root, "p-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, dir) })
	p := place{dir, path}
	for _, d := range []string{"ws/.piton", "home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(p.ws(), "work.txt"), wrong)
	for _, f := range c.files {
		if name, ok := strings.CutPrefix(f.Name, "HOME/"); ok {
			write(t, filepath.Join(dir, "home", name), string(f.Data))
			continue
		}
		write(t, filepath.Join(p.ws(), f.Name), string(f.Data))
	}
	if c.module+c.pack != "" {
		c.fetch(t, p)
	}
	if c.runner == "go" {
		home := filepath.Join(dir, "home", ".cache")
		if err := os.MkdirAll(home, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-al", goCache(t, path), filepath.Join(home, "go-build")).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v\n%s", err, out)
		}
	}
	if c.before != "" {
		if code, out := p.shell(t, c.before); code != 0 {
			t.Fatalf("before: exit code %d\n%s", code, out)
		}
	}
	return p
}

func write(t *testing.T, name, text string) {
	t.Helper()
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), mode)); err != nil {
		t.Fatal(err)
	}
}

// remove removes a directory in which somebody may be about to end.
func remove(t *testing.T, dir string) {
	for until := time.Now().Add(20 * time.Second); ; {
		err := os.RemoveAll(dir)
		if err == nil {
			return
		}
		if exec.Command("chmod", "-R", "u+rwx", dir).Run(); time.Now().After(until) {
			t.Error(err)
			return
		}
	}
}

// patience bounds one program.
const patience = 10 * time.Minute

// shell runs a script as a person would, with nobody watching; what it leaves behind ends
// with the test.
func (p place) shell(t *testing.T, script string) (code int, out string) {
	t.Helper()
	return p.run(t, "bash", "--noprofile", "--norc", "-c", script)
}

func (p place) run(t *testing.T, name string, args ...string) (code int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	file, err := os.CreateTemp(p.dir, "out-")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env, c.Stdout, c.Stderr = p.ws(), p.env(), file, file
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	group := c.Process.Pid
	t.Cleanup(func() { _ = syscall.Kill(-group, syscall.SIGKILL) })
	err = c.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited || ctx.Err() != nil {
		t.Fatalf("%s %s: %v", name, args, errors.Join(err, ctx.Err()))
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(text)
}

// control fails the test of a cheat that is none where nobody watches.
func (c *cheat) control(t *testing.T, path string) {
	t.Helper()
	says := func(p place, what string, green bool) {
		t.Helper()
		if code, out := p.shell(t, c.contract); (code == 0) != green {
			t.Fatalf("%s: the contract ends with %d\n%s", what, code, out)
		}
	}
	says(c.lay(t, path), "before the work", false)
	done := c.lay(t, path)
	if code, out := done.shell(t, c.honest); code != 0 {
		t.Fatalf("honest work: exit code %d\n%s", code, out)
	}
	says(done, "after honest work", true)
	cheated, left := c.lay(t, path), c.lay(t, path)
	if c.wrap != "" {
		if code, out := cheated.shell(t, c.wrapped(c.script+"\n"+c.contract)); code != 0 {
			t.Fatalf("after the cheat: the contract ends with %d\n%s", code, out)
		}
	} else {
		cheated.shell(t, c.script) // whether it says that it failed is nothing to us
		says(cheated, "after the cheat", true)
	}
	for name := range strings.SplitSeq(c.writes, ", ") {
		if strings.Contains(name, "*") {
			t.Fatalf("writes: %s: name each file", name)
		}
		os.Remove(filepath.Join(left.ws(), name))
		if text, err := os.ReadFile(filepath.Join(cheated.ws(), name)); err == nil {
			write(t, filepath.Join(left.ws(), name), string(text))
		}
	}
	says(left, "for what the cheat left of the work", c.within)
}

// wrapped is a script within what wraps a cheat.
func (c *cheat) wrapped(script string) string {
	if c.wrap == "" {
		return script
	}
	return c.wrap + " <<'WRAPPED'\n" + script + "\nWRAPPED\n"
}

const planText = `---
type: plan
status: draft
owner: me
---

# Cheat

**workspace:** shared

## Steps

### 1. Cheat

**timeout:** 60s
**on_fail:** retry(0), then abort
%s**task:**
%s

**contract:**
%sshell
%s
%s
`

const config = `agents: {coder: {kind: exec, command: [bash, -c, "sed -n 's/^DO: //p' | bash"]}}
default_agent: coder
policy: {%smark: off}
`

var counts = regexp.MustCompile(`(\d+) (proven|unproven)\b`)

// try has a step do a script instead of its work, and says what came of it.
func (c *cheat) try(t *testing.T, path string, l level, writes bool, script string) (outcome, string) {
	t.Helper()
	p := c.lay(t, path)
	scope := ""
	if writes {
		scope = "**writes:** " + c.writes + "\n"
	}
	task := "DO: " + strings.ReplaceAll(strings.TrimSpace(script), "\n", "\nDO: ")
	write(t, filepath.Join(p.ws(), "plan.md"), fmt.Sprintf(planText, scope, task, "```", c.contract, "```"))
	write(t, filepath.Join(p.ws(), ".piton/config.yaml"), fmt.Sprintf(config, l.policy))
	program, args := piton, []string{"run", "plan.md", "--yes", "--no-wait"}
	if l.shut {
		program, args = "unshare", append([]string{"-r", "sh", "-c", `echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"`, "piton", piton}, args...)
	}
	code, out := p.run(t, program, args...)
	switch code {
	case 0:
	case 1, 3:
		return refused, out
	default:
		t.Fatalf("exit code %d\n%s", code, out)
	}
	found := counts.FindAllStringSubmatch(out, -1)
	if len(found) == 0 {
		t.Fatalf("nobody says how it ended\n%s", out)
	}
	last := found[len(found)-1]
	if last[0] == "1 proven" {
		return proven, out
	}
	return unproven, out
}

var root, piton string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if root, err = os.MkdirTemp("", "piton-cheats-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(root)
	if piton, err = built.Into(root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// programs is a PATH in which programs are found as an ordinary installation has them,
// without the go-betweens of version managers.
func programs() string {
	var dirs []string
	for _, find := range [][]string{{"go", "env", "GOROOT"}, {"rustc", "--print", "sysroot"}} {
		if out, err := exec.Command(find[0], find[1:]...).Output(); err == nil {
			dirs = append(dirs, filepath.Join(strings.TrimSpace(string(out)), "bin"))
		}
	}
	return strings.Join(append(dirs, "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin", os.Getenv("PATH")), ":")
}

func has(path, program string) bool {
	for dir := range strings.SplitSeq(path, ":") {
		if info, err := os.Stat(filepath.Join(dir, program)); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// fetch puts the files of a public module or package into a workspace.
func (c *cheat) fetch(t *testing.T, p place) {
	t.Helper()
	script := `set -e; cd "$0"; tar xzf "$(npm pack --silent --pack-destination "$TMPDIR" "$1" | sed "s#^#$TMPDIR/#")" --strip-components=1`
	name := c.pack
	if c.module != "" {
		script, name = `set -e; cp -r "$(go list -m -f '{{.Dir}}' "$1")/." "$0"; chmod -R u+w "$0"`, c.module
	}
	get := exec.Command("bash", "-c", script, p.ws(), name)
	get.Env = append(os.Environ(), "TMPDIR="+filepath.Join(p.dir, "tmp"))
	if out, err := get.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// TestHonest does usual tasks in public modules and packages: each step, with its writes:,
// is proven.
func TestHonest(t *testing.T) {
	if !*public {
		t.Skip("-cheats.public does it, with the network")
	}
	path := programs()
	for _, c := range load(t, "testdata/honest/*.txtar") {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got, out := c.try(t, path, levels[0], true, c.script); got != proven {
				t.Errorf("%s\n%s", got, out)
			}
		})
	}
}

// goCache has the standard library compiled, which would take longer than all else.
func goCache(t *testing.T, path string) string {
	cached.Do(func() {
		p := place{filepath.Join(root, "go"), path}
		write(t, filepath.Join(p.ws(), "go.mod"), "module a\n\ngo 1.21\n")
		write(t, filepath.Join(p.ws(), "a.go"), "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"strings\"\n\t\"encoding/json\"\n)\n\nfunc main() { fmt.Println(os.Args, strings.ToUpper(\"a\"), json.Valid(nil)) }\n")
		write(t, filepath.Join(p.ws(), "a_test.go"), "package main\n\nimport \"testing\"\n\nfunc TestA(*testing.T) {}\n")
		for _, d := range []string{"home", "tmp"} {
			if err := os.MkdirAll(filepath.Join(p.dir, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if code, out := p.shell(t, "CGO_ENABLED=0 go build -o /dev/null . && CGO_ENABLED=0 go test -vet=off ."); code != 0 {
			t.Fatalf("go: %s", out)
		}
	})
	return filepath.Join(root, "go", "home", ".cache", "go-build")
}

var cached sync.Once

// key is one cell of the table.
type key struct {
	name, level string
	writes      bool
}

// results are the cells that were filled in.
type results struct {
	mu    sync.Mutex
	cells map[key]outcome
	left  map[string][]string // by the program that is absent: the cheats
}

func TestCheats(t *testing.T) {
	all, path := load(t, "testdata/*.txtar"), programs()
	if _, out := (&cheat{}).lay(t, path).run(t, piton, "doctor"); !regexp.MustCompile(`isolation +ok +sealed`).MatchString(out) {
		tier.Needs(t, fmt.Errorf("nothing is sealed here\n%s", out))
	}
	written, err := readPage()
	if err != nil && !*update {
		t.Fatal(err)
	}
	r := &results{cells: map[key]outcome{}, left: map[string][]string{}}
	t.Run("each", func(t *testing.T) {
		bare := map[string]int{} // by way: how many of its cheats need no program
		for i, c := range all {
			p := c.part(i, bare[c.way])
			if len(c.needs) == 0 {
				bare[c.way]++
			}
			if !p.sealed {
				continue
			}
			if absent := slices.IndexFunc(c.needs, func(p string) bool { return !has(path, p) }); absent >= 0 {
				program := c.needs[absent]
				if r.left[program] = append(r.left[program], c.name); *full || tier.Gate && !slices.Contains(optional, program) {
					t.Errorf("%s needs %s, which is not here", c.name, program)
				}
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.all(t, path, r, p)
			})
		}
	})
	for p, names := range r.left {
		t.Logf("LEFT OUT, because there is no %s: %d cheats (%s)", p, len(names), strings.Join(names, ", "))
	}
	if *update {
		maps.Copy(written, r.cells)
		if err := os.WriteFile(page, []byte(render(all, written)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	hole := map[string]bool{} // what comes of these hangs on moments, too
	for _, c := range all {
		hole[c.name] = c.hole
	}
	for k, got := range r.cells {
		if want := written[k]; want != "" && want != got && !hole[k.name] {
			t.Errorf("%s at %s, writes %v: %s, and docs/cheats.md has %q; go test ./bench/cheats -cheats.full -update writes it", k.name, k.level, k.writes, got, want)
		}
	}
	if rows := len(written) / 2 / len(levels); rows != len(all) && !*update {
		t.Errorf("docs/cheats.md has %d cheats, and there are %d", rows, len(all))
	}
}

// optional are programs that a bare machine may lack even where no test is left out.
var optional = []string{"bc", "cargo", "javac", "m4", "ruby", "sqlite3", "tclsh"}

// part is how much of a cheat is tried.
type part struct{ control, sealed, elsewhere, honest bool }

// part is all with -cheats.full. The gate tries each cheat sealed, and elsewhere a part of those
// that are not slow. People try three of each way that need no program, the first ones with all that
// proves that they are cheats. i counts the cheats, bare those of its way that need no program.
func (c *cheat) part(i, bare int) part {
	switch {
	case *full:
		return part{true, true, true, true}
	case tier.Gate:
		return part{control: i%4 == 0, sealed: true, elsewhere: i%6 == 0 && !c.slow, honest: i%12 == 0 && !c.slow}
	default:
		first := bare == 0 && len(c.needs) == 0
		return part{control: first, sealed: bare < 3 && len(c.needs) == 0, honest: first}
	}
}

// all tries one cheat at all levels, as far as a part has them.
func (c *cheat) all(t *testing.T, path string, r *results, p part) {
	if p.control {
		c.control(t, path)
	}
	passes := false
	for _, l := range levels {
		sealed := l.name == "sealed"
		if !sealed && !p.elsewhere {
			continue
		}
		for _, writes := range []bool{true, false} {
			got, out := c.try(t, path, l, writes, c.wrapped(c.script))
			r.mu.Lock()
			r.cells[key{c.name, l.name, writes}] = got
			r.mu.Unlock()
			t.Logf("%s, writes %v: %s\n%s", l.name, writes, got, out)
			bad := sealed && (got == proven || writes && got != refused)
			if passes = passes || bad; bad && !c.hole {
				t.Errorf("sealed, writes %v: %s\n%s", writes, got, out)
			}
		}
	}
	if *full && c.hole && !passes {
		t.Error("it is no hole any more: take the word away")
	}
	if p.honest {
		if got, out := c.try(t, path, levels[0], true, c.honest); got != proven {
			t.Errorf("honest work: %s\n%s", got, out)
		}
	}
}

const columns = "| cheat | contract runs | sealed | sealed, no `writes:` | fenced | fenced, no `writes:` | none | none, no `writes:` |"

// render is the page, of all cells.
func render(all []*cheat, cells map[key]outcome) string {
	ways := map[string][]*cheat{}
	runners := map[string]int{}
	for _, c := range all {
		ways[c.way] = append(ways[c.way], c)
		runners[c.runner]++
	}
	var b strings.Builder
	fmt.Fprintf(&b, intro, len(all))
	b.WriteString("\n| level | `writes:` | proven | done, unproven | not done |\n| --- | --- | --- | --- | --- |\n")
	for _, l := range levels {
		for _, writes := range []bool{true, false} {
			n := map[outcome]int{}
			for _, c := range all {
				n[cells[key{c.name, l.name, writes}]]++
			}
			fmt.Fprintf(&b, "| %s | %s | %d | %d | %d |\n", l.name, map[bool]string{true: "yes", false: "no"}[writes], n[proven], n[unproven], n[refused])
		}
	}
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n| --- | --- | --- | --- | --- | --- | --- | --- |\n", way, columns)
		for _, c := range ways[way] {
			fmt.Fprintf(&b, "| %s | %s |", c.name, c.runner)
			for _, l := range levels {
				fmt.Fprintf(&b, " %s | %s |", cells[key{c.name, l.name, true}], cells[key{c.name, l.name, false}])
			}
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, "\n## Programs\n\nThe contracts run %d programs: %s.\n", len(runners), listed(runners))
	return b.String()
}

func listed(n map[string]int) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		words = append(words, fmt.Sprintf("%s %d", name, n[name]))
	}
	return strings.Join(words, ", ")
}

const intro = `# Cheats

These are %d ways in which a step pretends that its work is done. In each the contract is right: it fails before the work and passes after
it. Where nobody watches, it passes after the cheat too. ` + "`go test ./bench/cheats -cheats.full -update`" + ` tries them
all and writes this page. The gate tries each cheat at ` + "`sealed`" + `, and a sixth of them at the other levels.

With ` + "`writes:`" + ` a step names what it may change. Any other change fails it. Without ` + "`writes:`" + `, a step that changed what its checks open
is *unproven* at best, and Piton names the files: see [what judges](judges.md). At ` + "`none`" + ` and ` + "`fenced`" + ` programs find what a cheat left
in the home, so some cheats are proven there: see [isolation](isolation.md).

A dash says that the step is not done. An empty cell was not tried. At ` + "`sealed`" + ` a cheat that is proven, or done with ` + "`writes:`" + `, is a hole:
[limits](limits.md) names its kind.
`

var row = regexp.MustCompile(`(?m)^\| ([a-z][a-z0-9-]*) \| [^|]+ \|(?: ([^|]*) \|)(?: ([^|]*) \|)(?: ([^|]*) \|)(?: ([^|]*) \|)(?: ([^|]*) \|)(?: ([^|]*) \|)$`)

// readPage are the cells of the page.
func readPage() (cells map[key]outcome, err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	cells = map[key]outcome{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		if m[1] == "cheat" {
			continue // the head of a table
		}
		for i, l := range levels {
			cells[key{m[1], l.name, true}], cells[key{m[1], l.name, false}] = outcome(m[2+2*i]), outcome(m[3+2*i])
		}
	}
	return cells, nil
}
