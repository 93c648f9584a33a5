package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// reviewScreen is a plan at a whole terminal: its steps with what was found in them, and below
// them the one that is chosen. A key that is no choice of a step ends it, and is carried out.
type reviewScreen struct {
	*review
	theme  theme
	height int    // that may be drawn on
	key    string // what ended it
}

// reviewKeys are what can be done to the chosen step, and to the plan.
var reviewKeys = []string{"e edit", "s skip", "m move", "c comment", "y approve", "q leave", "a add", "r remove", "j k choose"}

func (m *reviewScreen) Init() beside { return m.Update(tickMsg{}) }

func (m *reviewScreen) Update(msg any) beside {
	switch msg := msg.(type) {
	case sizeMsg:
		m.theme.width, m.height = drawable(msg.width), max(1, msg.height-1)
	case keyMsg:
		return m.pressed(msg.name)
	case keysEnd:
		return m.pressed("q")
	case tickMsg: // the screen looks for another size of the window
		return func() any { time.Sleep(frame); return tickMsg{} }
	}
	return nil
}

func (m *reviewScreen) pressed(key string) beside {
	last := len(m.doc.Plan.Steps) - 1
	switch key {
	case "j", "down":
		m.at = min(m.at+1, last)
	case "k", "up":
		m.at = max(m.at-1, 0)
	case "esc", "ctrl+c":
		key = "q"
	}
	if !slices.ContainsFunc(reviewKeys, func(offer string) bool { return strings.HasPrefix(offer, key+" ") }) || key == "j" || key == "k" {
		return nil
	}
	m.key = key
	return func() any { return quitMsg{} }
}

// View fills the window: never more lines than it has, and none wider.
func (m *reviewScreen) View() string {
	t, p := m.theme, m.doc.Plan
	lines := []string{
		t.paint(boldTone, t.fit(t.line(p.Title.Value), t.width)),
		t.paint(idleTone, t.fit(t.line(m.path)+", "+view.Plural(len(p.Steps), "step", "steps")+", "+foundIn(m.doc.Findings), t.width)),
		t.rule(),
	}
	below := []string{t.rule()}
	for _, l := range m.said {
		below = append(below, t.under(0, warnTone, l)...)
	}
	below = append(below, t.paint(idleTone, t.fit(t.some(reviewKeys, t.width), t.width)))
	room := max(2, m.height-len(lines)-len(below))
	lines = append(lines, m.list(max(1, min(len(p.Steps), room/3)))...)
	lines = append(lines, t.rule())
	about := m.about()
	if room = max(0, m.height-len(lines)-len(below)); len(about) > room {
		about = append(about[:max(0, room-1)], t.paint(idleTone, t.fit(fmt.Sprintf("   %s more: piton show %s", t.dots(), t.line(engine.ShellWord(m.path))), t.width)))
	}
	lines = append(lines, about[:min(len(about), room)]...)
	for len(lines)+len(below) < m.height {
		lines = append(lines, "")
	}
	lines = append(lines, below...)
	return strings.Join(lines[max(0, len(lines)-max(1, m.height)):], "\n")
}

// foundIn counts findings.
func foundIn(fs []verify.Finding) string {
	n := map[verify.Severity]int{}
	for _, f := range fs {
		n[f.Severity]++
	}
	return view.Plural(n[verify.Error], "error", "errors") + ", " + view.Plural(n[verify.Warning], "warning", "warnings")
}

var reviewColumns = []column{
	{most: 1},                          // the chosen one
	{most: 6, right: true},             // number
	{flex: true},                       // title
	{most: 18, least: 60},              // who does it
	{most: 12, least: 40},              // left out
	{most: 12, right: true, least: 30}, // findings
}

// list is so many of the steps as have room, with the chosen one.
func (m *reviewScreen) list(room int) []string {
	t, steps := m.theme, m.doc.Plan.Steps
	from := max(0, min(m.at-room/2, len(steps)-room))
	var rows [][]cell
	for i := from; i < min(len(steps), from+room); i++ {
		s := steps[i]
		mark, color, out := "", plainTone, ""
		if i == m.at {
			mark, color = ">", boldTone
		}
		if plan.LeftOut(s) {
			out, color = "left out", idleTone
		}
		found, worst := "", idleTone
		if fs := m.found(i); len(fs) > 0 {
			found, worst = view.Plural(len(fs), "finding", "findings"), findingTone(fs[0].Severity)
		}
		rows = append(rows, []cell{
			{mark, runTone},
			{t.line(s.Number), idleTone},
			{t.line(s.Title.Value), color},
			{t.line(verify.Doer(s)), idleTone},
			{out, idleTone},
			{found, worst},
		})
	}
	return t.table(reviewColumns, rows)
}

// about is the chosen step: what was found in it, and then what it is.
func (m *reviewScreen) about() []string {
	r := *m.review
	r.theme = m.theme
	var lines []string
	for _, f := range r.found(m.at) {
		lines = append(lines, r.finding(f)...)
	}
	s := r.doc.Plan.Steps[m.at]
	return append(lines, m.theme.planStep(s, r.doc, view.NeedsOf(r.doc.Plan, r.doc.Plan.Refs(), m.at))...)
}

// pages shows the plan and carries out what a person says, until they approve it or leave.
func (r *review) pages(ctx context.Context) error {
	for {
		if err := r.read(ctx); err != nil {
			return err
		}
		r.at = min(r.at, len(r.doc.Plan.Steps)-1)
		key := r.browse(ctx)
		r.said = nil
		var err error
		switch key {
		case "y":
			return nil
		case "c":
			err = r.comment(ctx)
		default:
			err = r.do(key)
		}
		if err != nil {
			return err
		}
	}
}

// browse lets a person choose a step and what to do. A signal, or the end of what they type,
// leaves. What stood on the terminal is there again when it returns.
func (r *review) browse(ctx context.Context) string {
	heed := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as by nohup
		heed = append(heed, syscall.SIGHUP)
	}
	ctx, done := signal.NotifyContext(ctx, heed...)
	defer done()
	m := &reviewScreen{review: r, theme: r.theme, height: usualLines - 1}
	io.WriteString(r.app.err, ansi.SetModeAltScreenSaveCursor+ansi.CursorHomePosition) //nolint:errcheck // a terminal that is gone shows nothing
	s := newScreen(r.app.in, r.app.err, m)
	defer context.AfterFunc(ctx, func() { s.send(keysEnd{}) })()
	s.run()
	io.WriteString(r.app.err, ansi.ResetModeAltScreenSaveCursor) //nolint:errcheck // the same
	return m.key
}

// comment has the planner change the step as a person says.
func (r *review) comment(ctx context.Context) error {
	s := r.doc.Plan.Steps[r.at]
	why, err := r.ask(fmt.Sprintf("What shall the planner change in step %s?", s.Number))
	if err != nil || why == "" {
		return err
	}
	if err := r.redraft(ctx, api.Redrafting{Path: r.path, Step: s.ID.Value, Why: why}); err != nil {
		if text := err.Error(); text != "" {
			r.say("%s", text)
		}
	} else {
		r.changes++
	}
	_, err = r.ask("Return goes back to the plan.")
	return err
}
