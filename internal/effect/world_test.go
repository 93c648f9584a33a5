//go:build unix

package effect_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tree"
)

// stage is a workspace with real processes and real files, and the contents
// that a journal would hold.
type stage struct {
	*effect.World
	t       *testing.T
	objects map[string][]byte
	base    string
	guards  []string
	beside  func(e engine.Effect) []engine.Neighbour // whom the owner names

	reported []engine.Usage // while work went on
}

// reporter is the owner of one effect.
type reporter struct {
	s *stage
	e engine.Effect
}

func (r reporter) Said() {}

func (r reporter) Report(u engine.Usage, c engine.Claims) {
	r.s.reported = append(r.s.reported, u)
	os.WriteFile(filepath.Join(r.s.Dir, "heard"), nil, 0o600)
}

func (r reporter) Heard(context.Context, int, []byte, engine.Usage) error { return nil }
func (r reporter) Voted(context.Context, engine.JudgeVoted) error         { return nil }
func (r reporter) Ask(context.Context, engine.Wanted, string) (engine.ItemAnswered, error) {
	return engine.ItemAnswered{Choice: engine.ChooseDeny, By: "ann"}, nil
}
func (r reporter) Tried(context.Context, engine.PartTried) error { return nil }

func (r reporter) Beside() []engine.Neighbour {
	if r.s.beside == nil {
		return nil
	}
	return r.s.beside(r.e)
}

// Do carries an effect out as the owner has it done.
func (s *stage) Do(ctx context.Context, e engine.Effect) effect.Result {
	return s.World.Do(ctx, e, reporter{s, e})
}

// at is a step that is at work now.
func at(writes ...string) engine.Neighbour { return engine.Neighbour{Writes: writes, Live: true} }

func newStage(t *testing.T, files map[string]string, guards ...string) *stage {
	t.Helper()
	root := t.TempDir()
	s := &stage{t: t, objects: map[string][]byte{}, guards: guards}
	dir, state := filepath.Join(root, "work"), filepath.Join(root, "state")
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.MkdirAll(state, 0o700))
	pool, err := proc.NewPool(proc.Config{})
	must(t, err)
	t.Cleanup(pool.Close)
	git, _ := exec.LookPath("git")
	tr, err := tree.Open(dir, tree.Config{Keep: filepath.Join(state, "kept"), Git: git, Pool: pool})
	must(t, err)
	t.Cleanup(func() { tr.Close() })
	b, err := tr.Protect(t.Context(), guards)
	must(t, err)
	s.base = s.keep(b.Encode())
	s.World = &effect.World{Dir: dir, Tree: tr, Common: &effect.Common{
		State: state, Environ: func(string) []string { return os.Environ() }, Pool: pool,
		Agents: agent.New(map[string]agent.Config{"script": {Kind: agent.Shell}}, pool),
		Object: func(hash string) ([]byte, error) {
			if body, ok := s.objects[hash]; ok {
				return body, nil
			}
			return nil, fmt.Errorf("no object %.12s", hash)
		},
	}}
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func (s *stage) keep(body []byte) string {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	s.objects[hash] = body
	return hash
}

// step is a script step with a contract.
func (s *stage) step(task, contract string, writes ...string) *engine.Step {
	return &engine.Step{
		ID: "build", Kind: engine.Script, Role: "script", Task: task, Writes: writes, Guards: s.guards,
		Checks:  []engine.Check{{Name: "contract", Command: contract, Required: true}},
		Timeout: time.Minute, CheckTimeout: time.Minute, Rerunnable: true, Mode: "edit",
	}
}

func (s *stage) effect(kind engine.EffectKind, step *engine.Step) engine.Effect {
	return engine.Effect{
		Key:  engine.Key{Run: "r-1", Step: step.ID, Attempt: 1, Kind: kind, N: 1},
		Step: step, Role: step.Role, Base: s.base, Guards: s.guards,
	}
}

// prepared prepares the step and returns the effect of its work.
func (s *stage) prepared(step *engine.Step) (engine.Prepared, engine.Effect) {
	s.t.Helper()
	e := s.effect(engine.Prepare, step)
	e.Baseline = true
	r := s.Do(s.t.Context(), e)
	for _, body := range r.Bodies {
		s.keep(body)
	}
	in, ok := r.Input.(engine.Prepared)
	if !ok || in.Err != "" {
		s.t.Fatalf("prepare: %+v", r.Input)
	}
	work := s.effect(engine.Work, step)
	work.Prompt, work.Tree = in.Dispatch.Prompt, in.Dispatch.Tree
	return in, work
}

func (s *stage) ended(e engine.Effect) engine.Ended {
	s.t.Helper()
	r := s.Do(s.t.Context(), e)
	in, ok := r.Input.(engine.Ended)
	if !ok {
		s.t.Fatalf("work gave %+v", r.Input)
	}
	for _, body := range r.Bodies {
		s.keep(body)
	}
	return in
}

func (s *stage) proved(e engine.Effect) engine.CheckEnded {
	s.t.Helper()
	in, ok := s.Do(s.t.Context(), e).Input.(engine.Checked)
	if !ok || len(in.Checks) != 1 {
		s.t.Fatalf("checks gave %+v", in)
	}
	return in.Checks[0]
}

func TestAttemptFromBaselineToProof(t *testing.T) {
	t.Parallel()
	s := newStage(t, map[string]string{"check.sh": "test -e out/x\n"}, "check.sh")
	step := s.step("mkdir -p out; echo words; echo x >out/x", "bash check.sh", "out/**")
	in, work := s.prepared(step)
	if len(in.Checks) != 1 || in.Checks[0].Verdict != engine.Fail || in.Checks[0].Phase != engine.Baseline {
		t.Errorf("baseline: %+v", in.Checks)
	}
	if string(s.objects[in.Dispatch.Prompt]) != step.Task {
		t.Errorf("a script is given %q", s.objects[in.Dispatch.Prompt])
	}
	end := s.ended(work)
	if end.How != engine.Exited || end.Exit != 0 || string(s.objects[end.Output]) != "words\n" {
		t.Errorf("work: %+v", end)
	}
	if diff := cmp.Diff([]string{"out/x"}, end.Changed); diff != "" || len(end.OutOfScope)+len(end.Tampered) > 0 {
		t.Errorf("changed: %s, %+v", diff, end)
	}
	if log, err := os.ReadFile(filepath.Join(s.State, end.Log)); err != nil || string(log) != "words\n" {
		t.Errorf("log %q: %v", log, err)
	}
	if got := s.proved(s.effect(engine.Verify, step)); got.Verdict != engine.Pass || got.Tree != "" {
		t.Errorf("contract: %+v", got)
	}
}

// Work begins with the text that the journal has, and not without it.
func TestWorkHasItsText(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	_, work := s.prepared(s.step("echo words", "test -e x"))
	if end := s.ended(work); end.How != engine.Exited || string(s.objects[end.Output]) != "words\n" {
		t.Errorf("with its text: %+v", end)
	}
	delete(s.objects, work.Prompt)
	if end := s.ended(work); end.How != engine.NoStart {
		t.Errorf("without: %+v", end)
	}
}

// An agent is told what holds for the whole plan, and what its contract said.
func TestPrompt(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	step := s.step("Write the file.", "test -e x")
	step.Kind = engine.Agent
	e := s.effect(engine.Prepare, step)
	e.Context, e.Constraints = "The clock jumps.", []string{"No new dependencies."}
	e.Feedback = []engine.Feedback{{Check: "contract", Verdict: engine.Fail, Exit: 1, Stderr: "no file x\n"}}
	r := s.Do(t.Context(), e)
	if len(r.Bodies) != 2 { // the files as they were, and the prompt
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{"Write the file.", "The clock jumps.", "No new dependencies.", "no file x"} {
		if !strings.Contains(string(r.Bodies[1]), want) {
			t.Errorf("the prompt does not say %q:\n%s", want, r.Bodies[1])
		}
	}
}

func TestSilentAttemptHasNoLog(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	_, work := s.prepared(s.step("true", "test -e x"))
	if end := s.ended(work); end.Log != "" {
		t.Errorf("log %q", end.Log)
	}
	if entries, _ := os.ReadDir(s.State + "/attempts"); len(entries) > 0 {
		t.Errorf("%d files of output", len(entries))
	}
}

// What an attempt wrote where it must not is found, kept, and put back before
// the next one.
func TestTamperedAndOutOfScope(t *testing.T) {
	t.Parallel()
	s := newStage(t, map[string]string{"check.sh": "exit 1\n", "other": "theirs\n"}, "check.sh")
	step := s.step("echo 'exit 0' >check.sh; echo mine >other; mkdir -p out; echo x >out/x", "bash check.sh", "out/**")
	in, work := s.prepared(step)
	end := s.ended(work)
	if diff := cmp.Diff([]string{"check.sh"}, paths(end.Tampered)); diff != "" {
		t.Errorf("tampered: %s", diff)
	}
	if diff := cmp.Diff([]string{"check.sh", "other"}, paths(end.OutOfScope)); diff != "" {
		t.Errorf("out of scope: %s", diff)
	}
	if got := read(t, filepath.Join(s.Dir, "check.sh")); got != "exit 1\n" {
		t.Errorf("after the work the contract's script says %q", got)
	}
	if got := s.proved(s.effect(engine.Verify, step)); got.Verdict != engine.Fail {
		t.Errorf("the contract with its own script again: %s", got.Verdict)
	}
	again := s.effect(engine.Prepare, step)
	again.Key.Attempt, again.Tree = 2, in.Dispatch.Tree
	again.Restore = append(end.Tampered, end.OutOfScope...)
	r := s.Do(t.Context(), again).Input.(engine.Prepared)
	if r.Err != "" {
		t.Fatal(r.Err)
	}
	for name, want := range map[string]string{"check.sh": "exit 1\n", "other": "theirs\n", "out/x": "x\n"} {
		if got := read(t, filepath.Join(s.Dir, name)); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	kept := 0
	must(t, filepath.WalkDir(filepath.Join(s.State, "quarantine"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(read(t, path), "mine") {
			kept++
		}
		return err
	}))
	if kept != 1 {
		t.Errorf("%d copies of what was taken away", kept)
	}
}

// untilBegun is a context that ends when a script has written to a pipe.
func untilBegun(t *testing.T) (ctx context.Context, pipe string) {
	t.Helper()
	pipe = filepath.Join(t.TempDir(), "begun")
	must(t, syscall.Mkfifo(pipe, 0o600))
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer stop()
		if _, err := os.ReadFile(pipe); err != nil {
			t.Error(err)
		}
	}()
	return ctx, pipe
}

// Nobody looks at what stopped work did; its contract's script is put back all
// the same.
func TestStoppedWorkThatTampers(t *testing.T) {
	t.Parallel()
	s := newStage(t, map[string]string{"check.sh": "exit 1\n"}, "check.sh")
	ctx, begun := untilBegun(t)
	_, work := s.prepared(s.step("echo 'exit 0' >check.sh; echo >"+begun+"; sleep 100000", "bash check.sh"))
	if end, ok := s.Do(ctx, work).Input.(engine.Ended); !ok || end.How != engine.Stopped {
		t.Errorf("the work was not stopped: %+v", end)
	}
	if got := read(t, filepath.Join(s.Dir, "check.sh")); got != "exit 1\n" {
		t.Errorf("after stopped work the contract's script says %q", got)
	}
}

func paths(changes []engine.Change) (names []string) {
	for _, c := range changes {
		names = append(names, c.Path)
	}
	return names
}

// The work ran, but nobody can say what it did: that is a fault of the machine,
// and says so.
func TestWorkThatCannotBeCompared(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	_, work := s.prepared(s.step("mkdir -p out; echo x >out/x", "test -e out/x", "out/**"))
	work.Tree = strings.Repeat("0", 64)
	end := s.ended(work)
	if end.How != engine.NoStart || !strings.Contains(end.Reason, "cannot be compared") {
		t.Errorf("%+v", end)
	}
	if read(t, filepath.Join(s.Dir, "out/x")) != "x\n" {
		t.Error("the work did not run")
	}
}

func TestContractThatTampers(t *testing.T) {
	t.Parallel()
	s := newStage(t, map[string]string{"check.sh": "echo >>check.sh\n"}, "check.sh")
	got := s.proved(s.effect(engine.Verify, s.step("true", "bash check.sh")))
	if diff := cmp.Diff([]string{"check.sh"}, paths(got.Tampered)); diff != "" || got.Verdict != engine.Tampered {
		t.Errorf("%s: %s", got.Verdict, diff)
	}
	if now := read(t, filepath.Join(s.Dir, "check.sh")); now != "echo >>check.sh\n" {
		t.Errorf("after the contract its script says %q", now)
	}
}

func TestStopped(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	script, test := "echo >%s; sleep 100000", "echo >%s; while ! test -e never; do sleep 0.05; done"
	for _, tt := range []struct {
		name, task, contract string
		kind                 engine.EffectKind
		want                 engine.Input
	}{
		{"work", script, "test -e x", engine.Work, engine.Ended{}},
		{"inquiry", "true", test, engine.Verify, nil},
		{"preparation", "true", test, engine.Prepare, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, begun := untilBegun(t)
			fill := strings.NewReplacer("%s", begun)
			step := s.step(fill.Replace(tt.task), fill.Replace(tt.contract))
			e := s.effect(tt.kind, step)
			if tt.kind == engine.Work {
				_, e = s.prepared(step)
			}
			e.Baseline = true
			r := s.Do(ctx, e)
			if end, ok := r.Input.(engine.Ended); ok && end.How != engine.Stopped {
				t.Errorf("%+v", end)
			} else if got, want := fmt.Sprintf("%T", r.Input), fmt.Sprintf("%T", tt.want); got != want {
				t.Errorf("an answer of %s, want %s", got, want)
			}
		})
	}
}

// Two attempts at once: what lies in the other's scope is the other's.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	wait := "until test -e %s/x; do sleep 0.02; done"
	one := s.step("mkdir -p a; echo >a/x; "+fmt.Sprintf(wait, "b"), "test -e a/x", "a/**")
	two := s.step("mkdir -p b; echo >b/x; "+fmt.Sprintf(wait, "a")+"; echo >stray", "test -e b/x", "b/**")
	two.ID = "other"
	s.beside = func(e engine.Effect) []engine.Neighbour {
		if e.Step == one {
			return []engine.Neighbour{at("b/**")}
		}
		return []engine.Neighbour{at("a/**")}
	}
	_, workOne := s.prepared(one)
	_, workTwo := s.prepared(two)
	ends := make(chan engine.Ended, 2)
	for _, e := range []engine.Effect{workOne, workTwo} {
		go func() { end, _ := s.Do(context.Background(), e).Input.(engine.Ended); ends <- end }()
	}
	strays := 0
	for range 2 {
		end := <-ends
		for _, c := range end.OutOfScope {
			if c.Path != "stray" {
				t.Errorf("%s: %s is called out of scope", end.Key.Step, c.Path)
			}
			strays++
		}
	}
	if strays == 0 {
		t.Error("a change in nobody's scope was not found")
	}
}

// What stands in the scope of a neighbour is its own, also when the work was cut
// off and is prepared again.
func TestNeighboursOfWorkThatWasCutOff(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	step := s.step("true", "test -e a/x", "a/**")
	_, work := s.prepared(step)
	for _, name := range []string{"a/x", "b/x", "stray"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(s.Dir, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(s.Dir, name), nil, 0o600))
	}
	for _, tt := range []struct {
		beside []engine.Neighbour
		want   []string
	}{
		{nil, []string{"b/x", "stray"}},
		{[]engine.Neighbour{{Writes: []string{"b/**"}}}, []string{"stray"}},
		{[]engine.Neighbour{{Writes: []string{"b/**"}}, {}}, nil},
	} {
		e := s.effect(engine.Prepare, step)
		e.Cut, e.Tree = true, work.Tree
		s.beside = func(engine.Effect) []engine.Neighbour { return tt.beside }
		in, _ := s.Do(t.Context(), e).Input.(engine.Prepared)
		var got []string
		for _, c := range in.Strays {
			got = append(got, c.Path)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("beside %v: %s", tt.beside, diff)
		}
	}
}

// What a neighbour was found to have changed outside of all scopes may be
// anybody's: who ends first must not take the blame alone, and with it the
// evidence. What lies in the step's own scope is not to blame.
func TestNeighboursShareTheBlame(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	_, work := s.prepared(s.step("mkdir -p a; echo >a/x", "test -e a/x", "a/**"))
	s.beside = func(engine.Effect) []engine.Neighbour {
		return []engine.Neighbour{{Writes: []string{"b/**"}, Strays: []engine.Change{{Path: "stray"}, {Path: "a/y"}}}}
	}
	end := s.ended(work)
	if diff := cmp.Diff([]string{"stray"}, paths(end.OutOfScope)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a/x"}, end.Changed); diff != "" {
		t.Errorf("changed: %s", diff)
	}
}

// A step that begins while the changes of another are compared is a neighbour:
// the owner is asked after the look, never before.
func TestNeighbourOfTheLook(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	_, work := s.prepared(s.step("mkdir -p a; echo >a/x", "test -e a/x", "a/**"))
	s.beside = func(engine.Effect) []engine.Neighbour {
		write(t, filepath.Join(s.Dir, "b/late"), "")
		return []engine.Neighbour{at("c/**")}
	}
	if end := s.ended(work); len(end.OutOfScope) > 0 {
		t.Errorf("%s was seen, which was made after the owner was asked", paths(end.OutOfScope))
	}
}

// What the last attempt changed against the rules is put back, unless it lies in
// the scope of somebody who was at work since: then it may be that one's.
func TestRestoreSparesNeighbours(t *testing.T) {
	t.Parallel()
	s := newStage(t, map[string]string{"check.sh": "true\n", "own.sh": "true\n"}, "check.sh", "own.sh")
	step := s.step("true", "true", "a/**")
	_, work := s.prepared(step)
	for _, name := range []string{"check.sh", "own.sh", "b/gone", "c/live", "stray"} {
		write(t, filepath.Join(s.Dir, name), "changed\n")
	}
	s.beside = func(engine.Effect) []engine.Neighbour {
		return []engine.Neighbour{{Writes: []string{"b/**", "own.sh"}}, at("c/**", "check.sh")}
	}
	e := s.effect(engine.Prepare, step)
	e.Tree = work.Tree
	for _, name := range []string{"b/gone", "c/live", "stray"} {
		e.Restore = append(e.Restore, engine.Change{Path: name, What: "added"})
	}
	in, _ := s.Do(t.Context(), e).Input.(engine.Prepared)
	if in.Err != "" {
		t.Fatal(in.Err)
	}
	if diff := cmp.Diff([]string{"own.sh", "stray"}, in.Dispatch.Undone.Restored); diff != "" {
		t.Error(diff)
	}
	if read(t, filepath.Join(s.Dir, "check.sh")) != "changed\n" || !exists(filepath.Join(s.Dir, "b/gone")) {
		t.Error("what lies in a neighbour's scope was put back")
	}
}

// A kind of effect that nobody carries out is refused, and nothing is run for it.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	r := s.Do(t.Context(), s.effect("dance", s.step("true", "touch danced")))
	if r.Err == nil || r.Input != nil || exists(filepath.Join(s.Dir, "danced")) {
		t.Errorf("%+v", r)
	}
}

// What an attempt used is told while it works.
func TestUsageWhileItWorks(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	_, work := s.prepared(s.step(`echo '{"type":"usage","tokens_in":70}' >>"$PITON_REPORT"; until test -e heard; do sleep 0.02; done`, "true"))
	s.ended(work)
	if diff := cmp.Diff([]engine.Usage{{In: new(int64(70))}}, s.reported); diff != "" {
		t.Error(diff)
	}
}

// The owner's marks in a plan document are nobody's change. Another text is one, also
// in the document of the step's own plan.
func TestMarksAreInNobodysScope(t *testing.T) {
	t.Parallel()
	s := newStage(t, map[string]string{"plans/p.md": "a plan\n", "plans/q.md": "a plan\n"})
	s.Marked = func(_ context.Context, path string, was, is []byte) bool { return string(is) == "marked "+string(was) }
	_, work := s.prepared(s.step("echo marked a plan >plans/p.md; echo more >>plans/q.md; mkdir -p out; echo >out/x", "test -e out/x", "out/**"))
	work.Document = "plans/q.md"
	end := s.ended(work)
	if diff := cmp.Diff([]string{"plans/q.md"}, paths(end.OutOfScope)); diff != "" {
		t.Errorf("out of scope: %s", diff)
	}
	if diff := cmp.Diff([]string{"out/x", "plans/q.md"}, end.Changed); diff != "" {
		t.Errorf("changed: %s", diff)
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// An attempt finds its directory empty, whatever the one before left there.
func TestScratchIsEmpty(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	seen := map[string]bool{}
	for i, task := range []string{"true", `echo >"$PITON_OUTPUT"`, "true", `chmod 0 "$(dirname "$PITON_OUTPUT")"`, "true"} {
		_, work := s.prepared(s.step(task+`; dirname "$PITON_OUTPUT"; ls -A "$(dirname "$PITON_OUTPUT")" | wc -l`, "test -e x"))
		end := s.ended(work)
		if end.How != engine.Exited {
			t.Fatalf("attempt %d: %+v", i, end)
		}
		dir, _, _ := strings.Cut(string(s.objects[end.Output]), "\n")
		seen[dir] = true
	}
	if len(seen) > 4 {
		t.Errorf("%d directories: an empty one is not used again", len(seen))
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func read(t *testing.T, path string) string {
	t.Helper()
	body, err := os.ReadFile(path)
	must(t, err)
	return string(body)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A scope of wildcards alone names no protected file, and one that an item was put
// into is nobody's word: what was there when the run opened stays protected, and
// no later step takes it as it was left. A scope that names its place opens it.
func TestScopesThatOpenNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		writes []string
		item   bool
		opens  bool
	}{
		{"everything", []string{"**"}, false, false},
		{"the workspace", []string{"."}, false, false},
		{"an item", []string{"tools"}, true, false},
		{"a directory", []string{"tools/**"}, false, true},
		{"the file", []string{"tools/check.sh"}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, map[string]string{"tools/check.sh": "exit 1\n", "tools/other.sh": "exit 1\n"}, "**/*.sh")
			step := s.step("echo 'exit 0' >tools/check.sh; echo >tools/new.sh", "bash tools/check.sh", append(tt.writes, "tools/new.sh")...)
			if tt.item {
				step.Item, step.Named = []byte(`"tools"`), []string{"{item}", "tools/new.sh"}
			}
			_, work := s.prepared(step)
			end := s.ended(work)
			if opened := len(end.Tampered) == 0; opened != tt.opens {
				t.Errorf("tampered: %v", paths(end.Tampered))
			}
			_, moved := s.proved(s.effect(engine.Verify, step)).Moved["tools/check.sh"]
			if moved != tt.opens {
				t.Errorf("the next steps take it as it was left: %v", moved)
			}
		})
	}
}

// The bash that was there first runs what is in worktrees, too: that of a step,
// and that of a run.
func TestOneBash(t *testing.T) {
	for name, place := range map[string]func(*engine.Effect){
		"step": func(e *engine.Effect) { e.Worktree = true },
		"run":  func(e *engine.Effect) { e.Within = []string{"whole"} },
	} {
		t.Run(name, func(t *testing.T) {
			s, early := newStage(t, map[string]string{"a": ""}), t.TempDir()
			git, err := exec.LookPath("git")
			must(t, err)
			must(t, exec.Command(git, "init", "-q", s.Dir).Run())
			environ := append(os.Environ(), "PATH="+early+":"+os.Getenv("PATH"))
			s.Environ = func(string) []string { return environ }
			s.Worktrees = t.TempDir()
			_, work := s.prepared(s.step("touch first", "test -f first"))
			s.ended(work)

			write(t, filepath.Join(early, "bash"), "#!/bin/sh\ntouch "+early+"/fooled\nexec /bin/bash \"$@\"\n")
			must(t, os.Chmod(filepath.Join(early, "bash"), 0o755))
			e := s.effect(engine.Prepare, s.step("touch b", "test -f b"))
			place(&e)
			in, ok := s.Do(t.Context(), e).Input.(engine.Prepared)
			if !ok || in.Err != "" {
				t.Fatalf("prepare: %+v", in)
			}
			e.Key.Kind, e.Prompt, e.Tree = engine.Work, in.Dispatch.Prompt, in.Dispatch.Tree
			if end := s.ended(e); end.Exit != 0 {
				t.Errorf("it ended %+v", end)
			}
			e.Key.Kind = engine.Prove
			s.proved(e)
			if _, err := os.Stat(filepath.Join(early, "fooled")); err == nil {
				t.Error("another bash was taken")
			}
		})
	}
}

// What an agent noted as directories of attempts is not removed.
func TestSweepRemovesScratchOnly(t *testing.T) {
	t.Parallel()
	state, dirs := t.TempDir(), t.TempDir()
	note := filepath.Join(state, "scratch")
	for name, left := range map[string]bool{"piton-1/attempt-1/x": false, "piton-2/letters/x": true, "home/attempt-1/x": true} {
		write(t, filepath.Join(dirs, name), "1")
		root := filepath.Join(dirs, strings.Split(name, "/")[0])
		write(t, note, root)
		must(t, (&effect.World{Common: &effect.Common{State: state}}).Sweep())
		if got := exists(filepath.Join(dirs, name)); got != left {
			t.Errorf("%s is left: %v", name, got)
		}
		if _, err := os.Lstat(note); err == nil {
			t.Error("the note is left")
		}
	}
}
