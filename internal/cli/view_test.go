package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/store/sqlite"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// TestSilence holds that a plain view says who is at work after each minute
// in which nothing happened, and nothing once the run is over.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, "Slow", step("one", "The first"))
		s.now = time.Now()
		for i := range s.journal {
			s.journal[i].At = s.now
		}
		s.lasts = 0
		var out bytes.Buffer
		v := newPlainView(&out, theme{width: 80, zone: time.UTC}, time.Now, "")
		v.past(s.journal, s.now, nil)
		before := len(s.journal)
		time.Sleep(time.Minute + time.Second)
		s.now = time.Now()
		s.run(1)
		v.records(s.journal[before:])
		time.Sleep(time.Minute + time.Second)
		v.did(v.fold.State.Run().Run, "one", "error: Reconnecting... 2/5")
		time.Sleep(time.Minute + time.Second)
		v.did(v.fold.State.Run().Run, "one", "$ make")
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		s.now = time.Now()
		before = len(s.journal)
		s.run(100)
		v.records(s.journal[before:])
		time.Sleep(10 * time.Minute)
		v.close()
		var still []string
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, " still ") {
				still = append(still, strings.TrimSpace(line[9:]))
			}
		}
		if diff := cmp.Diff([]string{"still 1 one 1m00s", "still 1 one 1m00s", "still 1 one 2m01s: Reconnecting... 2/5", "still 1 one 3m02s"}, still); diff != "" {
			t.Errorf("(-want +got):\n%s\nall:\n%s", diff, out.String())
		}
	})
}

// TestTrials holds that a plain view says what is tried, once, where checks take long.
func TestTrials(t *testing.T) {
	s := begin(t, "Slow", step("one", "The first"))
	var out bytes.Buffer
	now := s.now
	v := newPlainView(&out, theme{width: 80, zone: time.UTC}, func() time.Time { return now }, "")
	defer v.close()
	v.records(s.journal)
	for range 3 {
		v.tries()
		now = now.Add(patience)
	}
	if got := strings.Count(out.String(), `check 1 one "go test ./one/..." before the work, which takes a while`); got != 1 {
		t.Errorf("told %d times:\n%s", got, out.String())
	}
	s.run(100)
	v.records(s.journal)
	if v.tries(); len(v.trials) != 0 {
		t.Errorf("after the end of the run there is %v", v.trials)
	}
}

// Nothing waits while a plain view looks at the plan document, which may be far away.
func TestLookAtPlan(t *testing.T) {
	s := begin(t, "Changed", step("one", "The first"))
	var out bytes.Buffer
	v := newPlainView(&out, theme{width: 80, zone: time.UTC}, func() time.Time { return s.now }, "")
	v.poll = time.AfterFunc(time.Hour, func() {})
	v.records(s.journal)
	asked, answer, over := make(chan bool), make(chan string), make(chan bool)
	v.change = func(engine.HeadRow) string { asked <- true; return <-answer }
	go func() { v.lookAtPlan(); close(over) }()
	<-asked
	s.run(100)
	v.records(s.journal[len(s.journal)-1:])
	answer <- "plan.md was changed"
	<-over
	v.close()
	if text := out.String(); !strings.Contains(text, "plan  plan.md was changed") {
		t.Errorf("it says\n%s", text)
	}
}

// TestWordsBegin holds that scripts can look for a word in the tenth column.
func TestWordsBegin(t *testing.T) {
	s := mixed(t)
	var out bytes.Buffer
	v := newPlainView(&out, theme{width: 80, zone: time.UTC}, func() time.Time { return s.now }, "")
	v.records(s.journal)
	v.close()
	counts := map[string]int{}
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, strings.Repeat(" ", 9)) { // else the line before is folded
			counts[strings.Fields(line[9:])[0]]++
		}
	}
	want := map[string]int{"run": 1, "start": 7, "pass": 2, "fail": 5, "retry": 2, "ask": 2, "waive": 1, "skip": 1, "|": 24}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, out.String())
	}
}

// TestOutOfOrder holds that a view whose records do not follow says so and goes
// no further.
func TestOutOfOrder(t *testing.T) {
	s := again(t)
	var out bytes.Buffer
	v := newPlainView(&out, theme{width: 80, zone: time.UTC}, func() time.Time { return s.now }, "")
	v.past(s.journal[:4], s.now, nil)
	v.records(s.journal[6:])
	v.close()
	if !strings.Contains(out.String(), " lost  cannot follow the run") {
		t.Errorf("it said nothing of the gap:\n%s", out.String())
	}
}

// TestPastHasItsTime: the run goes on while a view reads what was before, and
// lines stand in the order of their times.
func TestPastHasItsTime(t *testing.T) {
	s := again(t)
	var out bytes.Buffer
	began := s.journal[3].At
	v := newPlainView(&out, theme{width: 80, zone: time.UTC}, func() time.Time { return s.now.Add(time.Hour) }, "")
	v.past(s.journal[:4], began, nil)
	v.records(s.journal[4:])
	v.close()
	last := ""
	for line := range strings.Lines(out.String()) {
		if at, ok := clockOf(line); ok && at < last {
			t.Errorf("%s stands behind a line of %s:\n%s", at, last, out.String())
		} else if ok {
			last = at
		}
	}
	if !strings.HasPrefix(out.String(), began.Format("15:04:05")+" run ") {
		t.Errorf("the view does not begin at %v:\n%s", began, out.String())
	}
}

// TestPathsStayWhole holds that a path can be copied, however narrow the terminal is.
func TestPathsStayWhole(t *testing.T) {
	const path = "/home/anna/.local/state/piton/3f2a9c81d2e4-ledger.worktrees/7f3a21/port-the-handlers"
	text := "its worktree conflicts with the workspace: a.go; resolve both sides in " + path + ", then answer retry"
	for w := 1; w < 200; w++ {
		lines := theme{width: w}.under(2, plainTone, text)
		if !strings.Contains(strings.Join(lines, "\n"), path) {
			t.Errorf("at %d columns the path is broken:\n%s", w, strings.Join(lines, "\n"))
		}
		for _, l := range lines {
			if !strings.Contains(l, path) && ansi.StringWidth(l) > w {
				t.Errorf("at %d columns a line is wider: %q", w, l)
			}
		}
	}
	want := []string{"  its worktree conflicts with the workspace: a.go; resolve both sides in", "  " + path, "  then answer retry"}
	if diff := cmp.Diff(want, theme{width: 80}.under(2, plainTone, text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFoldingKeepsNames holds that a name with hyphens is broken only where it is wider than
// the line.
func TestFoldingKeepsNames(t *testing.T) {
	const text = "next: piton run plans/fix-the-login-timeout.md --no-wait, step about-slow-connections"
	for w := 40; w < 120; w++ {
		lines := strings.Join(theme{width: w}.wrap(text, w), "\n")
		for _, name := range []string{"plans/fix-the-login-timeout.md", "--no-wait", "about-slow-connections"} {
			if !strings.Contains(lines, name) {
				t.Errorf("at %d columns %s is broken:\n%s", w, name, lines)
			}
		}
	}
}

// TestFoldingLosesNothing holds that a text that is broken into lines keeps every
// character, also where a line is broken in a word.
func TestFoldingLosesNothing(t *testing.T) {
	const text = `pass  1 greet attempt=1 0.0s contract="grep -q done some-file-with-a-long-name || ls --all --long" exit=0`
	bare := strings.ReplaceAll(text, " ", "")
	for w := narrowest; w < 120; w++ {
		lines := theme{width: w}.wrap(text, w)
		if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != bare {
			t.Errorf("at %d columns %q became %q", w, bare, got)
		}
		for _, l := range lines {
			if ansi.StringWidth(l) > w {
				t.Errorf("at %d columns a line is wider: %q", w, l)
			}
		}
	}
}

// clockOf is the time that a line begins with.
func clockOf(line string) (string, bool) {
	if len(line) < 8 || line[2] != ':' || line[5] != ':' {
		return "", false
	}
	return line[:8], true
}

// model is a live view in the middle of a story, with nothing left to print.
func model(t *testing.T, s *story, k keys) *liveModel {
	t.Helper()
	m := &liveModel{theme: theme{width: 80, zone: time.UTC}, clock: func() time.Time { return s.now }, keys: k}
	if m.Update(recordsMsg(s.journal)); m.printing {
		t.Error("it prints before it has drawn")
	}
	m.Update(tickMsg{})
	m.Update(tickMsg{})
	printed(m)
	return m
}

// printed says that all lines are on the screen.
func printed(m *liveModel) {
	for m.printing {
		m.Update(printedMsg{})
	}
}

func press(m *liveModel, k rune) beside {
	if k == 3 {
		return m.Update(keyMsg{name: "ctrl+c"})
	}
	return m.Update(keyMsg{name: string(k), text: string(k)})
}

// said runs a command and those it leads to, and gathers the messages.
func said(cmd beside) []any {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case batchMsg:
		var all []any
		for _, c := range msg {
			all = append(all, said(c)...)
		}
		return all
	case nil:
		return nil
	default:
		return []any{msg}
	}
}

func TestKeys(t *testing.T) {
	var did []string
	k := keys{
		pause:  func() error { did = append(did, "pause"); return nil },
		resume: func() error { did = append(did, "resume"); return errors.New("refused " + hostile) },
		detach: func() {},
	}
	m := model(t, mixed(t), k)
	said(press(m, 'p'))
	if press(m, 'a'); !m.printing {
		t.Error("a prints nothing")
	}
	m.Update(printedMsg{})
	press(m, 'x')
	press(m, 'q')
	if diff := cmp.Diff([]string{"pause"}, did); diff != "" || !m.detached || m.interrupts > 0 {
		t.Errorf("detached %v, interrupts %v, (-want +got):\n%s", m.detached, m.interrupts, diff)
	}

	paused := begin(t, "Paused", step("one", "The first"))
	paused.tell(engine.Order{Command: engine.Command{Verb: engine.DoPause, By: "anna"}})
	m = model(t, paused, k)
	if !strings.Contains(m.View(), "p resume") {
		t.Errorf("a paused run does not offer to go on:\n%s", m.View())
	}
	for _, msg := range said(press(m, 'p')) {
		m.Update(msg)
	}
	if did[len(did)-1] != "resume" || !m.printing {
		t.Errorf("the refusal is not shown: %q", did)
	}
}

// A word that is pasted, or typed before the view was there, commands nothing: it may hold an
// a, a number and a return key.
func TestTypedAhead(t *testing.T) {
	var sent []string
	story := begin(t, "Asks", step("one", "The first", onFail(0, engine.Escalate)))
	story.answers["one"] = []engine.Verdict{engine.Fail}
	story.run(1000)
	m := model(t, story, keys{
		pause: func() error { sent = append(sent, "pause"); return nil }, detach: func() {},
		answer: func(_ engine.ItemRow, choice, text string) error {
			sent = append(sent, choice+" "+text)
			return nil
		},
	})
	s := screen{model: m}
	s.read([]byte("a1 pq\r"), false)
	if m.reply != nil || m.detached {
		t.Fatalf("it opens an answer or leaves: %+v", m.reply)
	}
	press(m, 'a')
	s.read([]byte("1x\r"), false)
	if m.reply == nil || m.reply.choice != "" {
		t.Fatalf("it makes a choice: %+v", m.reply)
	}
	s.read([]byte("1"), false)
	s.read([]byte("because"), false)
	if m.reply.text != "because" || len(sent) > 0 {
		t.Errorf("the text of the answer is %q, and it did %q", m.reply.text, sent)
	}
}

// TestReply answers an item within the view: nothing is sent before the return
// key, and not without a reason where one is needed.
func TestReply(t *testing.T) {
	var sent []string
	story := begin(t, "Asks", step("one", "The first", onFail(0, engine.Escalate)))
	story.answers["one"] = []engine.Verdict{engine.Fail}
	story.run(1000)
	m := model(t, story, keys{answer: func(it engine.ItemRow, choice, text string) error {
		sent = append(sent, choice+" "+text)
		return nil
	}})
	item := m.fold.Waiting()[0]
	skip := rune('1' + slices.Index(item.Choices, engine.ChooseSkip))
	typeIn := func(text string) {
		for _, k := range text {
			press(m, k)
		}
	}
	special := func(name string) []any { return said(m.Update(keyMsg{name: name})) }
	press(m, 'a')
	printed(m)
	if view := m.View(); !strings.Contains(view, item.Item+":") || !strings.Contains(view, string(skip)+" skip") {
		t.Fatalf("it does not ask:\n%s", view)
	}
	typeIn("9x")
	press(m, skip)
	special("enter") // no reason yet
	typeIn("qpéx")
	special("backspace")
	m.Update(pasteMsg("\x1b[2J pasted"))
	if view := m.View(); !strings.Contains(view, "your reason: qpé") || len(sent) > 0 {
		t.Fatalf("sent %q, and it shows:\n%s", sent, view)
	}
	tidy(t, m.theme, strings.Split(m.View(), "\n"))
	special("enter")
	if want := []string{"skip qpé[2J pasted"}; !slices.Equal(sent, want) || m.reply != nil {
		t.Errorf("sent %q, want %q", sent, want)
	}
	press(m, 'a')
	printed(m)
	press(m, '1')
	special("esc")
	special("esc")
	if m.reply != nil || len(sent) != 1 {
		t.Errorf("esc does not go back: %q", sent)
	}
}

// TestOutput shows what the steps at work print.
func TestOutput(t *testing.T) {
	s := begin(t, "Output", step("one", "The first"))
	s.run(1)
	m := model(t, s, keys{})
	m.output = func(attempt) string { return "first\nsecond " + hostile + "\n" }
	m.says = func(attempt) string { return "" }
	var lines []string
	for _, msg := range said(press(m, 'l')) {
		if l, ok := msg.(logsMsg); ok {
			lines = l
		}
	}
	tidy(t, m.theme, lines)
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "one, attempt 1") || !strings.Contains(text, "second") {
		t.Errorf("it shows %q", lines)
	}
}

// TestOutputOfAForm: what an agent does is shown, and not the form that it prints it in for
// programs.
func TestOutputOfAForm(t *testing.T) {
	conf := config.Config{Agents: map[string]config.Agent{"coder": {Parse: "codex"}}}
	s := &session{Product: &api.Product{Place: api.Place{State: t.TempDir()}, Config: conf}, local: &sqlite.Store{}}
	log := filepath.Join(s.Place.State, effect.LogFile("r1", "one", 2, 1))
	object := `{"type":"item.completed","item":{"type":"agent_message","text":"I build it."}}` + "\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(log), 0o700), os.WriteFile(log, []byte(strings.Repeat(object, 2000)+`{"type":"turn.comp`), 0o600)); err != nil {
		t.Fatal(err)
	}
	at := attempt{run: "r1", step: "one", agent: "coder", a: 2, n: 1}
	if got := s.outputEnd(at); !strings.HasPrefix(got, "says: I build it.\n") || !strings.HasSuffix(got, "\nsays: I build it.") {
		t.Errorf("it shows %q", got)
	}
	if at.agent = "script"; !strings.HasPrefix(s.outputEnd(at), `{"type"`) {
		t.Errorf("what a script prints is shown as %q", s.outputEnd(at))
	}
}

// TestQuits holds that a view ends when it is told to and all is printed, and
// that Ctrl-C ends it too.
func TestQuits(t *testing.T) {
	for name, end := range map[string]func(*liveModel){
		"finish": func(m *liveModel) { m.Update(finishMsg{}) },
		"ctrl-c": func(m *liveModel) { press(m, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			m := model(t, again(t), keys{})
			end(m)
			if m.quits {
				t.Fatal("it quit before its last line was printed")
			}
			frame := m.View()
			m.Update(tickMsg{})
			if m.View() != frame {
				t.Error("the frame changes while lines are printed")
			}
			cmd := m.Update(printedMsg{})
			quit := false
			for _, msg := range said(cmd) {
				_, q := msg.(quitMsg)
				quit = quit || q
			}
			if !quit || (m.interrupts > 0) != (name == "ctrl-c") {
				t.Errorf("quit %v, interrupts %v", quit, m.interrupts)
			}
		})
	}
}

// TestIdle compares the steps that a view knows to wait for their turn with a
// look at all of them, after every record.
func TestIdle(t *testing.T) {
	for name, tell := range stories {
		var f view.Fold
		some := 0
		for _, r := range tell(t).journal {
			if _, err := f.Apply(r); err != nil {
				t.Fatal(err)
			}
			var want []int
			for i := 0; f.State.Program() != nil && i < f.State.Program().Len(); i++ {
				switch f.State.StepRow(i).Status {
				case engine.Pending, engine.Ready, engine.Blocked:
					want = append(want, i)
				}
			}
			if some += len(want); !slices.Equal(f.Idle, want) {
				t.Fatalf("%s, record %d (%s): %v, want %v", name, r.Seq, r.Event.Type(), f.Idle, want)
			}
		}
		if some == 0 {
			t.Errorf("%s: no step ever waited", name)
		}
	}
}

// TestLiveRegion holds its bounds at every size, at every moment of a story.
func TestLiveRegion(t *testing.T) {
	for name, tell := range stories {
		s := tell(t)
		for w := 1; w < 140; w += 9 {
			m := &liveModel{clock: func() time.Time { return s.now }, keys: keys{detach: func() {}}}
			m.theme.zone = time.UTC
			m.Update(sizeMsg{w, 24})
			for _, r := range s.journal {
				m.Update(recordsMsg{r})
				m.Update(tickMsg{})
				m.last = map[string]string{"one": hostile, "tests": hostile}
				lines := strings.Split(m.View(), "\n")
				if len(lines) > 12 {
					t.Fatalf("%s: %d lines", name, len(lines))
				}
				tidy(t, m.theme, lines)
				m.Update(printedMsg{})
			}
		}
	}
}

// TestResized holds that what is drawn fits into every window, and that nothing is
// printed above it before the new size is drawn.
func TestResized(t *testing.T) {
	m := model(t, mixed(t), keys{detach: func() {}})
	for _, size := range []struct{ width, height int }{{120, 40}, {200, 50}, {80, 24}, {40, 10}, {80, 24}} {
		m.Update(sizeMsg{size.width, size.height})
		if m.Update(noteMsg("a note")); m.printing {
			t.Errorf("it prints before it has drawn at %d columns", size.width)
		}
		view := m.View()
		lines := strings.Split(view, "\n")
		if len(lines) >= size.height {
			t.Errorf("%d lines in a window of %d", len(lines), size.height)
		}
		tidy(t, m.theme, lines)
		m.Update(tickMsg{})
		if m.Update(tickMsg{}); !m.printing {
			t.Error("it prints nothing when it has drawn")
		}
		printed(m)
	}
}

// TestFooterIsWhole holds that a narrow terminal shows fewer of the last words, and none that
// is cut.
func TestFooterIsWhole(t *testing.T) {
	m := model(t, mixed(t), keys{pause: func() error { return nil }, detach: func() {}, stop: func() {}})
	m.theme.width = 1000
	known := strings.Fields(m.counters() + " " + m.keyLine() + " " + m.waitingLine() + " " + m.theme.dots())
	for w := 20; w < 200; w++ {
		m.theme.width = w
		for _, line := range []string{m.counters(), m.keyLine(), m.waitingLine()} {
			if line == "" || ansi.StringWidth(line) > w {
				t.Errorf("at %d columns the line is %q", w, line)
			}
			for word := range strings.FieldsSeq(line) {
				if !slices.Contains(known, word) && !slices.Contains(known, strings.TrimSuffix(word, ",")) && !slices.Contains(known, word+":") {
					t.Errorf("at %d columns %q is cut in %q", w, word, line)
				}
			}
		}
	}
}

// TestFindingFolds holds that a finding is broken between words at a terminal, its place is
// whole, and that it is one line where a program reads.
func TestFindingFolds(t *testing.T) {
	f := verify.Finding{
		Code: "PT034", Severity: verify.Warning, File: "plans/make-the-capture-of-payments-idempotent.md", Line: 119, Column: 13,
		Message: "step has a budget, and its agent may not report its usage", Hint: "set parse: of the agent, or limit the time",
	}
	want := []string{
		"plans/make-the-capture-of-payments-idempotent.md:119:13", "  warning: PT034 step has a budget,", "  and its agent may not report its", "  usage",
		"    set parse: of the agent, or limit", "    the time",
	}
	if diff := cmp.Diff(want, theme{width: 38}.finding(f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (theme{width: 38, whole: true}).finding(f); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// TestLowTerminal holds that the live region leaves a line of the window free and
// keeps its last lines, and that no more is printed above it at once than fits
// there: the terminal would lose count of its lines.
func TestLowTerminal(t *testing.T) {
	for name, tell := range stories {
		s := tell(t)
		for h := 1; h < 30; h++ {
			m := &liveModel{clock: func() time.Time { return s.now }, keys: keys{detach: func() {}}}
			m.Update(sizeMsg{81, h})
			for _, r := range s.journal {
				m.Update(recordsMsg{r})
				m.View()
				m.last = map[string]string{"one": "first", "tests": "second"}
				for m.Update(tickMsg{}); m.fold.State.Program() != nil; {
					lines := strings.Split(m.View(), "\n")
					if len(lines) > max(1, h-1) {
						t.Fatalf("%s: %d lines in a window of %d", name, len(lines), h)
					}
					if !m.printing && (lines[len(lines)-1] != m.keyLine() || len(lines) > 1 && lines[len(lines)-2] != m.counters()) {
						t.Fatalf("%s: a window of %d ends with %q", name, h, lines)
					}
					left := len(m.lines)
					if m.Update(printedMsg{}); left == 0 {
						break
					}
					if n := left - len(m.lines); n < 1 || n > 1 && n+len(lines) > h {
						t.Fatalf("%s: %d lines at once above %d, in a window of %d", name, n, len(lines), h)
					}
				}
			}
		}
	}
}

// parted is a story of a run, and that of the run which carries out its step "sub".
func parted(t *testing.T) (above *story, all []engine.Record) {
	above = begin(t, "Several parts", step("first", "The first"), step("sub", "All the parts", needs(0)), step("last", "The last", needs(1)))
	above.run(4)
	below := begin(t, "Parts", step("one", "Part one"), step("two", "Part two", onFail(0, engine.Escalate)), step("three", "Part three"))
	below.answers["two"] = []engine.Verdict{engine.Fail}
	below.run(7)
	above.now = below.now
	all = slices.Clone(above.journal)
	for _, r := range below.journal {
		r.Stream = engine.ChildTask(r.Stream, "sub")
		all = append(all, r)
	}
	return above, all
}

// TestPartsAnew: the task of a step's run has had a run before, of which the view
// has seen nothing.
func TestPartsAnew(t *testing.T) {
	_, all := parted(t)
	var f view.Fold
	below := 0
	for _, r := range all {
		if strings.Contains(r.Stream, "/") {
			r.Seq += 16
		}
		of, _, err := f.Follow(r)
		if err != nil {
			t.Fatal(err)
		}
		if of != nil && of.Up == &f && of.State.Live() {
			below++
		}
	}
	if below == 0 || f.Below["sub"].State.Run().Run == "" {
		t.Errorf("%d records were followed below", below)
	}
}

// TestPartsDrawn shows the steps of a run that carries out a step of another one:
// below that step, and in its line where a window is low.
func TestPartsDrawn(t *testing.T) {
	above, all := parted(t)
	var files []txtar.File
	for _, size := range []struct{ width, height int }{{80, 24}, {80, 7}, {120, 40}, {40, 7}} {
		m := &liveModel{theme: theme{width: size.width, zone: time.UTC, nested: true}, window: size.height, clock: func() time.Time { return above.now }}
		m.take(all)
		m.lines = nil
		m.last = map[string]string{"sub/one": "compiling a.go", "sub/three": "linking"}
		lines := strings.Split(m.View(), "\n")
		tidy(t, m.theme, lines)
		files = append(files, txtar.File{Name: fmt.Sprintf("%dx%d", size.width, size.height), Data: []byte(strings.Join(lines, "\n") + "\n")})
	}
	var out bytes.Buffer
	v := newPlainView(&out, theme{width: 80, zone: time.UTC}, func() time.Time { return above.now }, "")
	v.records(all)
	v.close()
	golden(t, "parts", append(files, txtar.File{Name: "plain", Data: out.Bytes()}))
}

// TestLowDrawn shows what is left out first where a window is low.
func TestLowDrawn(t *testing.T) {
	var files []txtar.File
	for h := 2; h < 9; h++ {
		s := mixed(t)
		m := model(t, s, keys{detach: func() {}})
		m.Update(sizeMsg{81, h})
		m.Update(progressMsg{"tests": "working on it"})
		printed(m)
		files = append(files, txtar.File{Name: fmt.Sprintf("%d rows", h), Data: []byte(m.View() + "\n")})
	}
	golden(t, "low", files)
}

func TestSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		th := theme{width: rapid.IntRange(1, 200).Draw(t, "width"), ascii: rapid.Bool().Draw(t, "ascii")}
		all := append([]string{th.fit(th.line(text), th.width)}, th.tail(text, 5, th.width)...)
		all = append(all, th.under(4, plainTone, th.line(text))...)
		all = append(all, th.script(3, text)...)
		for _, l := range all {
			path, _ := strings.CutPrefix(strings.TrimLeft(l, " "), "/") // alone in its line, it is never broken
			if alone := strings.HasSuffix(l, "/"+path) && !strings.Contains(path, " "); ansi.StringWidth(l) > th.width && !alone {
				t.Errorf("%q is wider than %d", l, th.width)
			}
			for _, r := range l {
				if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || th.ascii && r > unicode.MaxASCII {
					t.Errorf("%q holds %q", l, r)
				}
			}
		}
	})
}

func TestWordsForNumbers(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0s", 340 * time.Millisecond: "0.3s", 9949 * time.Millisecond: "9.9s", 9960 * time.Millisecond: "10s",
		59400 * time.Millisecond: "59s", 59600 * time.Millisecond: "1m00s", 108 * time.Second: "1m48s",
		59*time.Minute + 59*time.Second: "59m59s", 125 * time.Minute: "2h05m", 120 * time.Hour: "5d", -time.Second: "0.0s",
	} {
		if got := view.Span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
	for micros, want := range map[int64]string{0: "$0.00", 10: "<$0.01", 190_000: "$0.19", 12_345_678: "$12.35"} {
		if got := view.Money(micros); got != want {
			t.Errorf("money(%d) = %q, want %q", micros, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 2_060_000: "2.06M", 61_204: "61.2k"} {
		if got := view.Count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestLocale(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"LANG": "en_US.UTF-8"}, true},
		{map[string]string{"LANG": "C.utf8"}, true},
		{map[string]string{"LC_ALL": "C", "LANG": "en_US.UTF-8"}, false},
		{map[string]string{"LC_CTYPE": "de_DE@euro", "LANG": "en_US.UTF-8"}, false},
		{map[string]string{"LC_ALL": "", "LANG": "de_DE.UTF-8"}, true},
	} {
		if got := utf8Locale(c.env); got != c.want {
			t.Errorf("utf8Locale(%v) = %v", c.env, got)
		}
	}
}

const planText = `---
type: plan
status: draft
owner: you
---

# Fix it (#423)

**Context:** Slow lines end too early.
**Constraints:**
- No new dependencies.
- Python 3.11
**Budget:** max 200k tokens, $1.50, 20 minutes wall clock
**Parallel:** 2
**Protect:**
- tests/**

## Steps

### 1. Look
**target:** coder
**subscriptions:**
- file:a.go
**task:** look
**contract:** ` + "`test  -s \"a  b\"`" + `

### 2. Fix
**target:** script
**needs:** 1
**writes:** none
**approval:** it costs
**task:** fix
**checks:**
- lint (optional): golint ./...
- build: go build ./...
**on_fail:** retry(1), then abort
**contract:**
` + "```shell\nset -e\nfalse\n```\nexit_code == 1\n" + `
### 3. Send
**when:** $fix == "yes"
**for each:** a, b
**env:** TOKEN, HOME
**tool:** run_command
**args:**
` + "```json\n{\"argv\": [\"rm\", \"a\"]}\n```\n" + `
### 4. Which
**ask:** Which of them, now that all is clear and a long question does not fit on one line?
- SQS
- NATS

### 5. Touch
**target:** script
**task:** ` + "`touch kafka`" + `
**contract:** ` + "`test -f kafka`" + `

### 6. Change
**target:** coder
**acceptance:**
- it is quick
**task:**
First this, and a sentence that is longer than one line of the terminal is wide.

    then that
**contract:** ` + "`true`\n"

// TestPlan holds what people and programs see of a plan before it is approved.
func TestPlan(t *testing.T) {
	p, problems := plan.Parse("plan.md", []byte(planText))
	if p == nil {
		t.Fatal(problems)
	}
	doc := &api.Document{Path: "plan.md", Plan: p, Facts: verify.Facts{Agents: map[string]verify.Agent{"script": {Shell: true}, "coder": {}}}}
	files := []fileOf{{"80", themes()["80"].plan(doc)}, {"40ascii", themes()["40ascii"].plan(doc)}}
	archive := []txtar.File{document(t, "plan", view.PlanOf(doc))}
	for _, f := range files {
		tidy(t, themes()[f.size], f.lines)
		archive = append(archive, txtar.File{Name: f.size, Data: []byte(strings.Join(f.lines, "\n") + "\n")})
	}
	golden(t, "plan", archive)
	if !strings.Contains(strings.Join(files[0].lines, "\n"), `test  -s "a  b"`) {
		t.Error("the blanks of a command are not what is approved")
	}
}

type fileOf struct {
	size  string
	lines []string
}

func TestStamp(t *testing.T) {
	body, err := json.Marshal([]view.Stamp{{}, view.Stamp(dawn.In(time.FixedZone("x", 3600)))})
	if err != nil || string(body) != `[null,"2026-11-21T14:02:00.000Z"]` {
		t.Errorf("%s, %v", body, err)
	}
}

// A fault of this machine is no try: the words must not count it as one.
func TestFaultsUseUpNoRetry(t *testing.T) {
	s := begin(t, "Faults", step("one", "The first"))
	s.answers["one"] = []engine.Verdict{engine.Fail}
	s.run(1)
	s.tell(engine.Ended{Key: s.state.Pending()[0], WorkEnded: engine.WorkEnded{How: engine.NoStart, Reason: "no memory"}})
	s.run(1000)
	var f view.Fold
	var retries []string
	for _, r := range s.journal {
		hs, err := f.Apply(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hs {
			if h.What == view.Retried {
				retries = append(retries, theme{width: 80, zone: time.UTC}.lines(h)...)
			}
		}
	}
	want := []string{
		"retry 1 one attempt=2 in 1.0s (an environment error uses no retry)",
		"retry 1 one attempt=3 of 4",
		"retry 1 one attempt=4 of 4",
	}
	if !slices.Equal(retries, want) {
		t.Errorf("got %q, want %q", retries, want)
	}
}
