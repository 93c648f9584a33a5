package cli

import (
	"cmp"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// keys is what a person can do to a run from its live view. What is nil is not
// offered.
type keys struct {
	pause  func() error
	resume func() error
	answer func(it engine.ItemRow, choice, text string) error
	// detach leaves the run alone: it goes on without this terminal, which is as
	// it was. It reports whether it goes on in this process.
	detach func() bool
	stops  func() bool // ctrl-c stops the run; else it only ends the view
	// stopNow ends the process: ctrl-c was pressed again. It does not return.
	stopNow func()
}

// liveView draws a run at a terminal, inline: what is finished is printed once
// and stays in the scrollback, and only a few lines below are drawn anew. When
// its program ends early, it goes on with plain lines.
type liveView struct {
	mu      sync.Mutex
	waiting []engine.Record // not known to be taken in; the first ones were sent
	sent    int
	notes   []string // for the person, not shown yet
	ended   bool     // close was called

	program *tea.Program
	done    chan struct{} // the program has ended
	left    chan struct{} // and what it left undone is being shown by plain
	poke    chan struct{} // capacity 1
	plain   *plainView
	out     io.Writer
	now     func() time.Time
}

// Messages of the model.
type (
	recordsMsg  []engine.Record
	tickMsg     struct{}
	printedMsg  struct{}
	finishMsg   struct{}
	hangupMsg   struct{}
	progressMsg map[string]string
	planMsg     string // what the plan document proposes
	logsMsg     []string
	notesMsg    []string
	failMsg     struct{ err error }
)

// frame is the time between two drawings. The program looks more often whether
// there is one to put on the screen.
const frame = 100 * time.Millisecond

func newLiveView(in io.Reader, out io.Writer, env []string, m *liveModel) *liveView {
	options := []tea.ProgramOption{
		tea.WithOutput(out), tea.WithEnvironment(env), tea.WithoutSignalHandler(), tea.WithFPS(60),
	}
	if isTerminal(in) {
		options = append(options, tea.WithInput(in))
	} else {
		options = append(options, tea.WithInput(nil))
	}
	v := &liveView{
		program: tea.NewProgram(m, options...), done: make(chan struct{}), left: make(chan struct{}),
		poke: make(chan struct{}, 1), out: out, now: m.clock,
	}
	go v.run(m)
	go v.feed()
	return v
}

// run shows the program, and what it did not come to.
func (v *liveView) run(m *liveModel) {
	defer close(v.left)
	v.program.Run() //nolint:errcheck // whatever it was, the plain lines go on
	close(v.done)
	v.mu.Lock()
	defer v.mu.Unlock()
	printLines(v.out, v.notes)
	switch {
	case m.interrupts > 1 && m.keys.stopNow != nil:
		go m.keys.stopNow() // it waits for this view
	case m.interrupts > 0:
		defer interruptSelf()
	}
	if v.ended || m.detached && !m.keys.detach() {
		return
	}
	m.theme.color = m.theme.color && !m.detached
	v.plain = newPlainView(v.out, m.theme, v.now, "")
	v.plain.fold = &m.fold
	v.plain.records(v.waiting)
	v.waiting = nil
}

// feed hands records over without making their sender wait.
func (v *liveView) feed() {
	for {
		select {
		case <-v.done:
			return
		case <-v.poke:
		}
		rs, notes, end := v.unsent()
		v.program.Send(recordsMsg(rs))
		if len(notes) > 0 {
			v.program.Send(notesMsg(notes))
		}
		if end {
			v.program.Send(finishMsg{})
		}
	}
}

// unsent returns what the model has not got. What it was sent before is taken
// in when it takes the next message, and is kept until then.
func (v *liveView) unsent() ([]engine.Record, []string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waiting = v.waiting[v.sent:]
	v.sent = len(v.waiting)
	notes := v.notes
	v.notes = nil
	return v.waiting[:v.sent:v.sent], notes, v.ended
}

// note prints a line above what is drawn. It reports false when nothing is drawn
// any more.
func (v *liveView) note(text string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-v.done:
		return false
	default:
	}
	if v.ended {
		return false
	}
	v.notes = append(v.notes, text)
	v.nudge()
	return true
}

func (v *liveView) past(rs []engine.Record, _ time.Time, _ []engine.Record) { v.records(rs) }

// records keeps all of them: the model leaves out what it has seen, and plain
// lines can go on where it ended.
func (v *liveView) records(rs []engine.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.plain != nil {
		v.plain.records(rs)
		return
	}
	v.waiting = append(v.waiting, rs...)
	v.nudge()
}

func (v *liveView) nudge() {
	select {
	case v.poke <- struct{}{}:
	default:
	}
}

// hangup leaves the run alone where the terminal is gone, and returns when that is done.
func (v *liveView) hangup() {
	v.program.Send(hangupMsg{})
	<-v.left
}

func (v *liveView) close() {
	v.mu.Lock()
	v.ended = true
	v.nudge()
	v.mu.Unlock()
	<-v.left
	if v.plain != nil {
		v.plain.close()
	}
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
	fill   func(*engine.ItemRow) error                   // completes what an item is about
	change func(engine.HeadRow) string                   // what the plan document proposes now, "" for nothing
	output func(run, step string, attempt, n int) string // the end of what an attempt printed
	says   func(run, step string, attempt, n int) string // how far an attempt says it is, "" for nothing

	now        time.Time
	tick       int
	last       map[string]string // progress by step
	lines      []string          // to print above
	printing   bool
	finish     bool
	ruled      bool // the rule that ends the view was printed
	quits      bool
	frame      string // what was drawn last
	height     int    // its lines
	window     int    // lines of the terminal; 0 is not known
	interrupts int    // how often ctrl-c was pressed
	detached   bool
	proposed   string // what the plan document proposed when it was last looked at
	reply      *reply // the answer that is being given
}

func (m *liveModel) Init() tea.Cmd { return m.next() }

func (m *liveModel) next() tea.Cmd {
	return tea.Tick(frame, func(time.Time) tea.Msg { return tickMsg{} })
}

// Update takes one message in. Prints are handed out one after the other, for
// commands run side by side.
func (m *liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var then tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.theme.width, m.window = drawable(msg.Width), msg.Height
	case tea.KeyPressMsg:
		then = m.key(msg)
	case tea.PasteMsg:
		m.typed(msg.Content)
	case tickMsg:
		m.tick++
		m.now = m.clock()
		then = m.next()
		if m.tick%5 == 1 {
			then = tea.Batch(then, m.look())
		}
		if m.tick%20 == 1 {
			then = tea.Batch(then, m.lookAtPlan())
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
	case notesMsg:
		for _, text := range msg {
			m.print(m.theme.under(0, warnTone, m.theme.one(text))...)
		}
	case failMsg:
		m.print(m.theme.paint(badTone, m.theme.fit(" "+m.theme.line(msg.err.Error()), m.theme.width)))
	case recordsMsg:
		m.take(msg)
	case printedMsg:
		m.printing, m.height = false, 0
	case finishMsg:
		m.finish = true
	case hangupMsg:
		m.leave()
	}
	return m, tea.Batch(then, m.flush())
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
// before a first frame is on the screen: it would be taken to fill the screen,
// and what stood there would scroll away.
func (m *liveModel) flush() tea.Cmd {
	switch {
	case m.printing || m.tick == 0:
		return nil
	case len(m.lines) > 0:
		n := min(len(m.lines), m.atOnce())
		text := strings.Join(m.lines[:n], "\n")
		m.lines, m.printing = m.lines[n:], true
		return tea.Sequence(tea.Println(cmp.Or(text, " ")), func() tea.Msg { return printedMsg{} })
	case m.finish && !m.ruled:
		m.ruled = true
		m.print(m.theme.paint(idleTone, m.theme.rule()))
		return m.flush()
	case m.finish && !m.quits:
		m.quits = true
		return tea.Quit
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
	a, n      int
}

// working are attempts under way, a few at most.
func (m *liveModel) working() []attempt {
	var live []attempt
	for _, f := range m.fold.Family() {
		for _, s := range f.Shown() {
			if t := f.Tries[s.ID]; t != nil && s.Phase == engine.Working && f.Child(s) == nil && len(live) < liveRows {
				live = append(live, attempt{f.State.Run().Run, s.ID, f.Row(s.Index).ID, t.Attempt, t.N})
			}
		}
	}
	return live
}

// look reads the last line of what runs, a few steps at most.
func (m *liveModel) look() tea.Cmd {
	if m.output == nil {
		return nil
	}
	live, read := m.working(), m.output
	return func() tea.Msg {
		last := progressMsg{}
		for _, a := range live {
			text := strings.TrimSpace(read(a.run, a.step, a.a, a.n))
			last[a.name] = text[strings.LastIndexByte(text, '\n')+1:]
			if says := m.says(a.run, a.step, a.a, a.n); says != "" {
				last[a.name] = says
			}
		}
		return last
	}
}

// lookAtPlan asks whether the plan document was changed since.
func (m *liveModel) lookAtPlan() tea.Cmd {
	if m.change == nil || m.fold.State.Program() == nil {
		return nil
	}
	head, ask := m.fold.State.Head(), m.change
	return func() tea.Msg { return planMsg(ask(head)) }
}

func (m *liveModel) paused() bool { return m.fold.State.Head().Status == engine.Paused }
