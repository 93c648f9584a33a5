package cli

import (
	"cmp"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// keys is what a person can do to a run from its live view. What is nil is not
// offered.
type keys struct {
	pause  func() error
	resume func() error
	answer func(it engine.ItemRow, choice, text string) error
	// detach leaves the run alone when the terminal is as it was: it goes on.
	detach  func()
	stop    func() // ctrl-c stops the run, and the view goes on; nil ends only the view
	stopNow func() // ctrl-c was pressed again
}

// liveView draws a run at a terminal, inline: what is finished is printed once
// and stays in the scrollback, and only a few lines below are drawn anew.
type liveView struct {
	screen *screen
	left   chan struct{} // the program has ended, and the terminal is as it was
	mu     sync.Mutex
	ended  bool // no more is shown
}

// Messages of the model.
type (
	recordsMsg  []engine.Record
	tickMsg     struct{}
	printedMsg  struct{}
	finishMsg   struct{}
	bellMsg     struct{}
	progressMsg map[string]string
	planMsg     string // what the plan document proposes
	logsMsg     []string
	noteMsg     string
	failMsg     struct{ err error }
)

// frame is the time between two looks at the clock. The screen looks more often whether
// there is something to draw.
const frame = 100 * time.Millisecond

func newLiveView(in io.Reader, out io.Writer, m *liveModel) *liveView {
	if !isTerminal(in) {
		in = nil
	}
	v := &liveView{left: make(chan struct{})}
	if f, ok := out.(*os.File); ok {
		m.columns = func() int { return width(f) }
	}
	v.screen = newScreen(in, out, m)
	go v.run(m)
	return v
}

func (v *liveView) run(m *liveModel) {
	defer close(v.left)
	v.screen.run()
	v.end()
	switch {
	case m.detached:
		m.keys.detach()
	case m.interrupts > 0 && m.keys.stop == nil:
		interruptSelf()
	}
}

// end reports whether anything was shown so far.
func (v *liveView) end() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	shown := !v.ended
	v.ended = true
	return shown
}

// note prints a line above what is drawn. It reports false when nothing is drawn
// any more.
func (v *liveView) note(text string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.ended {
		v.screen.send(noteMsg(text))
	}
	return !v.ended
}

func (v *liveView) past(rs []engine.Record, _ time.Time, _ []engine.Record) { v.records(rs) }

func (v *liveView) records(rs []engine.Record) { v.screen.send(recordsMsg(rs)) }

func (v *liveView) ring() { v.screen.send(bellMsg{}) }

func (v *liveView) close() {
	if v.end() {
		v.screen.send(finishMsg{})
	}
	<-v.left
}

// interruptSelf is Ctrl-C at a terminal whose keys were read one by one.
func interruptSelf() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Signal(os.Interrupt)
	}
	if err != nil {
		os.Exit(exitInterrupt) // everything started hangs on this process's life
	}
}

// liveModel is the state of a live view: the fold, and what the terminal shows.
type liveModel struct {
	fold   view.Fold
	theme  theme
	clock  func() time.Time
	keys   keys
	fill   func(*engine.ItemRow) error // completes what an item is about
	change func(engine.HeadRow) string // what the plan document proposes now, "" for nothing
	output func(attempt) string        // the end of what an attempt printed
	says   func(attempt) string        // how far an attempt says it is, "" for nothing

	now        time.Time
	tick       int
	columns    func() int        // of the window now, which may be news; nil is not known
	settled    int               // ticks since the window has its size, up to settles
	last       map[string]string // progress by step
	lines      []string          // to print above
	printing   bool
	rings      bool
	finish     bool
	ruled      bool // the rule that ends the view was printed
	quits      bool
	frame      string // what was drawn last
	window     int    // lines of the terminal; 0 is not known
	interrupts int    // how often ctrl-c was pressed
	detached   bool
	proposed   string // what the plan document proposed when it was last looked at
	reply      *reply // the answer that is being given
}

// Init begins the ticks.
func (m *liveModel) Init() beside { return m.next() }

func (m *liveModel) next() beside {
	return func() any {
		<-time.After(frame)
		return tickMsg{}
	}
}

// Update takes one message in. Prints are handed out one after the other, for
// commands run side by side.
func (m *liveModel) Update(msg any) beside {
	var then beside
	switch msg := msg.(type) {
	case sizeMsg:
		m.theme.width, m.window, m.settled = drawable(msg.width), msg.height, 0
	case keyMsg:
		then = m.key(msg)
	case pasteMsg:
		m.typed(string(msg))
	case tickMsg:
		m.tick++
		m.settled = min(m.settled+1, settles)
		m.now = m.clock()
		then = m.next()
		if m.tick%5 == 1 {
			then = batch(then, m.look())
		}
		if m.tick%20 == 1 {
			then = batch(then, m.lookAtPlan())
		}
	case planMsg:
		if m.proposed != string(msg) {
			m.proposed = string(msg)
			m.print(m.theme.under(1, warnTone, m.proposed)...)
		}
	case progressMsg:
		m.last = msg
	case logsMsg:
		m.print(msg...)
	case noteMsg:
		m.print(m.theme.under(0, warnTone, m.theme.one(string(msg)))...)
	case failMsg:
		m.print(m.theme.under(1, badTone, m.theme.line(msg.err.Error()))...)
	case recordsMsg:
		m.take(msg)
	case printedMsg:
		m.printing = false
	case bellMsg:
		m.rings = true
	case finishMsg:
		m.finish = true
	}
	return batch(then, m.flush())
}

// take folds records. A record that does not follow ends the drawing.
func (m *liveModel) take(rs []engine.Record) {
	m.now = m.clock()
	for _, r := range rs {
		_, hs, err := m.fold.Follow(r)
		if err != nil {
			m.print(" cannot follow the run: " + m.theme.line(err.Error()))
			m.finish = true
			return
		}
		for _, h := range hs {
			if h.What == view.Opened && h.Of == &m.fold {
				m.begin()
			}
			m.print(m.theme.scroll(h)...)
		}
	}
	if m.reply != nil && !m.fold.Open(m.reply.item) {
		m.reply = nil // somebody else was quicker
	}
}

// bell is what a terminal takes for its bell.
const bell = "\a"

// settles is after how many ticks a frame for a new size of the window is on the screen.
const settles = 2

// resized reports whether the window has another width than what is drawn.
func (m *liveModel) resized() bool {
	return m.columns != nil && drawable(m.columns()) != m.theme.width
}

// drawable is how many columns of a terminal are drawn on: a full line confuses it.
func drawable(width int) int { return max(width-1, 1) }

// begin is where the run has been opened.
func (m *liveModel) begin() {
	if !m.printing {
		m.lines = nil // of an earlier run of the task
	}
	m.theme.nested = m.fold.Delegates()
}

func (m *liveModel) print(lines ...string) { m.lines = append(m.lines, lines...) }

// flush prints what waits, and quits when all is printed. Nothing is printed
// before a frame for this size of the window is on the screen: what stood there would
// scroll away.
func (m *liveModel) flush() beside {
	switch {
	case m.printing || m.settled < settles || m.resized():
		return nil
	case m.rings:
		m.rings, m.printing = false, true
		return func() any { return bellNow{} }
	case len(m.lines) > 0:
		n := min(len(m.lines), m.atOnce())
		text := strings.Join(m.lines[:n], "\n")
		m.lines, m.printing = m.lines[n:], true
		return func() any { return printMsg(text) }
	case m.finish && !m.ruled:
		m.ruled = true
		m.print(m.theme.paint(idleTone, m.theme.rule()))
		return m.flush()
	case m.finish && !m.quits:
		m.quits = true
		return func() any { return quitMsg{} }
	}
	return nil
}

// atOnce is how many lines can be printed at once: with the live region they
// must fit into the window, else the terminal loses count of its lines.
func (m *liveModel) atOnce() int { return max(1, cmp.Or(m.window, usualLines)-m.room()) }

// room is how many lines the live region may have: not all of the window.
func (m *liveModel) room() int { return max(1, min(liveLines, cmp.Or(m.window, usualLines)-1)) }

// attempt is one that is under way.
type attempt struct {
	run, step string
	name      string // of the step, for the run that is shown
	agent     string // who does it
	a, n      int
}

// working are attempts under way, a few at most.
func (m *liveModel) working() []attempt {
	var live []attempt
	for _, f := range m.fold.Family() {
		for _, s := range f.Shown() {
			if t := f.Tries[s.ID]; t != nil && s.Phase == engine.Working && f.Child(s) == nil && len(live) < liveRows {
				live = append(live, attempt{f.State.Run().Run, s.ID, f.Row(s.Index).ID, s.Agent, t.Attempt, t.N})
			}
		}
	}
	return live
}

// look reads the last line of what runs, a few steps at most.
func (m *liveModel) look() beside {
	if m.output == nil {
		return nil
	}
	live, read := m.working(), m.output
	return func() any {
		last := progressMsg{}
		for _, a := range live {
			text := strings.TrimSpace(read(a))
			last[a.name] = text[strings.LastIndexByte(text, '\n')+1:]
			if says := m.says(a); says != "" {
				last[a.name] = says
			}
		}
		return last
	}
}

// lookAtPlan asks whether the plan document was changed since.
func (m *liveModel) lookAtPlan() beside {
	if m.change == nil || m.fold.State.Program() == nil {
		return nil
	}
	head, ask := m.fold.State.Head(), m.change
	return func() any { return planMsg(ask(head)) }
}

func (m *liveModel) paused() bool { return m.fold.State.Head().Status == engine.Paused }
