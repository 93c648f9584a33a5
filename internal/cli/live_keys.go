package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/piton-dev/piton/internal/engine"
)

// reply is an answer that a person is giving: first the choice, then a text
// that may go with it. Nothing is sent before the return key.
type reply struct {
	item   engine.ItemRow
	choice string
	text   string
}

// maxReply bounds the text of an answer, in bytes.
const maxReply = 4 << 10

func (m *liveModel) key(msg keyMsg) beside {
	k := msg.name
	switch {
	case k == "ctrl+c":
		return m.interrupt()
	case msg.burst && (m.reply == nil || m.reply.choice == ""):
		return nil // a word that is pasted, or typed ahead, commands nothing
	case m.reply != nil:
		return m.replyKey(k, msg.text)
	}
	switch k {
	case "q":
		m.leave()
	case "p":
		return m.togglePause()
	case "a":
		m.beginReply()
	case "l":
		return m.showOutput()
	}
	return nil
}

// interrupt stops the run, and at once when it is the second time; or ends a view of it.
func (m *liveModel) interrupt() beside {
	do := m.keys.stop
	switch m.interrupts++; {
	case do == nil:
		m.finish = true
		return nil
	case m.interrupts > 1:
		do = m.keys.stopNow
	}
	return func() any { do(); return nil }
}

// leave ends the view and leaves the run alone, where that can be.
func (m *liveModel) leave() {
	if m.keys.detach != nil {
		m.finish, m.detached = true, true
	}
}

func (m *liveModel) togglePause() beside {
	do := m.keys.pause
	if m.paused() {
		do = m.keys.resume
	}
	if do == nil {
		return nil
	}
	return func() any {
		if err := do(); err != nil {
			return failMsg{err}
		}
		return nil
	}
}

// beginReply shows the oldest item and asks for its answer.
func (m *liveModel) beginReply() {
	items := m.fold.Waiting()
	if len(items) == 0 {
		m.print(m.theme.fit(" Nothing waits for you.", m.theme.width))
		return
	}
	if m.fill != nil {
		_ = m.fill(&items[0]) // else it says what is missing
	}
	m.print(m.theme.items(items[:1], m.now)...)
	if m.keys.answer != nil {
		m.reply = &reply{item: items[0]}
	}
}

// replyKey takes a key while an answer is given.
func (m *liveModel) replyKey(k, text string) beside {
	r := m.reply
	switch {
	case k == "esc" && r.choice != "":
		r.choice, r.text = "", ""
	case k == "esc":
		m.reply = nil
	case r.choice == "":
		if n := int(k[0] - '1'); len(k) == 1 && n >= 0 && n < len(r.item.Choices) {
			r.choice = r.item.Choices[n]
		}
	case k == "backspace":
		_, size := utf8.DecodeLastRuneInString(r.text)
		r.text = r.text[:len(r.text)-size]
	case k == "enter":
		return m.sendReply()
	default:
		m.typed(text)
	}
	return nil
}

// typed adds to the text of an answer.
func (m *liveModel) typed(text string) {
	if r := m.reply; r != nil && r.choice != "" && len(r.text)+len(text) <= maxReply {
		r.text += m.theme.safe(text)
	}
}

// sendReply sends the answer; a reason that is missing is asked for first.
func (m *liveModel) sendReply() beside {
	r, send := *m.reply, m.keys.answer
	if needsReason(r.choice) && strings.TrimSpace(r.text) == "" {
		return nil
	}
	m.reply = nil
	return func() any {
		if err := send(r.item, r.choice, strings.TrimSpace(r.text)); err != nil {
			return failMsg{err}
		}
		return nil
	}
}

func needsReason(choice string) bool {
	return choice == engine.ChooseSkip || choice == engine.ChooseWaive || choice == engine.ChooseReplan || choice == engine.ChooseAnswer
}

// prompt is the line in which an answer is given.
func (m *liveModel) prompt() string {
	t, r := m.theme, m.reply
	if r.choice == "" {
		words := []string{r.item.Item + ":"}
		for n, c := range r.item.Choices[:min(len(r.item.Choices), 9)] {
			words = append(words, fmt.Sprintf("%d %s", n+1, c))
		}
		return t.paint(youTone, " "+t.some(append(words, "esc back"), t.width-1))
	}
	what := "a text, if you like: "
	if needsReason(r.choice) {
		what = "your reason: "
	}
	head := " " + r.choice + ", " + what
	foot := t.some([]string{"_", "enter sends", "esc back"}, t.width-len(head)-8)
	text := []rune(r.text)
	room := max(8, t.width-len(head)-len(foot))
	return t.paint(youTone, t.fit(head+string(text[max(0, len(text)-room):])+foot, t.width))
}

// outputLines is how much of an attempt's output is shown at a time.
const outputLines = 15

// showOutput shows the end of what the steps at work have printed.
func (m *liveModel) showOutput() beside {
	live, read, t := m.working(), m.output, m.theme
	if len(live) == 0 || read == nil {
		m.print(t.fit(" No step is at work; what happened so far: piton log "+m.fold.State.Run().Run, t.width))
		return nil
	}
	return func() any {
		var lines logsMsg
		for _, a := range live {
			lines = append(lines, t.paint(boldTone, t.fit(fmt.Sprintf(" %s, attempt %d", a.name, a.a), t.width)))
			text := t.quoteTail(2, read(a), outputLines)
			if len(text) == 0 {
				text = []string{t.paint(idleTone, t.fit("   it has printed nothing yet", t.width))}
			}
			lines = append(lines, text...)
		}
		return lines
	}
}
