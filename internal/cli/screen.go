package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/cancelreader"
	"golang.org/x/term"
)

// beside is work that a model wants to have done beside its screen. What it returns is the
// model's next message, nil for none.
type beside func() any

// Messages of a screen.
type (
	batchMsg []beside // each is done, beside the others
	printMsg string   // lines to print above what is drawn, whole; then comes a printedMsg
	bellNow  struct{} // rings, and then comes a printedMsg
	keysEnd  struct{} // nothing more is typed, or can be
	quitMsg  struct{} // what is drawn is cleared, and the screen ends
	sizeMsg  struct{ width, height int }
	pasteMsg string
	inputMsg []byte
	keyMsg   struct {
		name, text string // a name such as enter and ctrl+c; text is what it types
		burst      bool   // it came together with others that type something: pasted, or typed ahead
	}
)

// batch is several at once.
func batch(all ...beside) beside {
	var some batchMsg
	for _, c := range all {
		if c != nil {
			some = append(some, c)
		}
	}
	switch len(some) {
	case 0:
		return nil
	case 1:
		return some[0]
	}
	return func() any { return some }
}

// picture is what a screen shows. Its methods are called one after the other.
type picture interface {
	Init() beside
	Update(msg any) beside
	View() string // lines that are drawn anew, none wider than the terminal; fewer than it has
}

// screen draws a model at a terminal, inline: what it prints goes up into the scrollback, and
// what it draws stays below. Nothing else may write to the terminal until run has returned.
//
// The cursor, which is hidden, waits at the top left of what is drawn. Where a window becomes
// narrower, a terminal breaks the lines below it anew and keeps the cursor where it is: all
// below it can be cleared, whatever became of it.
type screen struct {
	in    io.Reader // keys; nil takes none
	out   io.Writer
	size  func() (width, height int, ok bool)
	msgs  chan any
	ended chan struct{}

	model picture
	drawn string
	anew  bool // what is drawn may have been moved
	was   sizeMsg
	keys  []byte // the beginning of a key
}

// drawing is the least time between two drawings.
const drawing = time.Second / 60

// escTime is how long the rest of a key may take that begins as the escape key does.
const escTime = 50 * time.Millisecond

func newScreen(in io.Reader, out io.Writer, m picture) *screen {
	s := &screen{in: in, out: out, model: m, msgs: make(chan any), ended: make(chan struct{})}
	s.size = func() (int, int, bool) {
		f, ok := out.(*os.File)
		if !ok {
			return 0, 0, false
		}
		w, h, err := term.GetSize(int(f.Fd()))
		return w, h, err == nil && w > 0
	}
	return s
}

// send hands a message to the model; nothing happens to it once the screen has ended. It may be
// called by several goroutines at once.
func (s *screen) send(msg any) {
	select {
	case s.msgs <- msg:
	case <-s.ended:
	}
}

// run shows the model until it quits. The terminal is then as it was.
func (s *screen) run() {
	back := s.takeTerminal()
	defer back()
	defer close(s.ended)
	s.do(s.model.Init())
	s.measure()
	var late, draw <-chan time.Time
	for {
		select {
		case msg := <-s.msgs:
			if _, quits := msg.(quitMsg); quits {
				return
			}
			if in, ok := msg.(inputMsg); ok {
				late = nil
				if s.read(in, false); len(s.keys) > 0 {
					late = time.After(escTime)
				}
				break
			}
			s.take(msg)
		case <-late:
			late = nil
			s.read(nil, true)
		case <-draw:
			draw = nil
			s.draw()
			continue
		}
		if draw == nil {
			draw = time.After(drawing)
		}
	}
}

// take handles a message, or lets the model do so.
func (s *screen) take(msg any) {
	switch msg := msg.(type) {
	case nil:
	case batchMsg:
		for _, c := range msg {
			s.do(c)
		}
	case printMsg:
		s.print(string(msg))
		s.update(printedMsg{})
	case bellNow:
		s.write(bell)
		s.update(printedMsg{})
	case tickMsg:
		s.measure()
		s.update(msg)
	default:
		s.update(msg)
	}
}

func (s *screen) update(msg any) { s.do(s.model.Update(msg)) }

// do has something done beside the screen.
func (s *screen) do(c beside) {
	if c != nil {
		go func() { s.send(c()) }()
	}
}

// measure tells the model what size the window has, where that is news.
func (s *screen) measure() {
	if w, h, ok := s.size(); ok && s.was != (sizeMsg{w, h}) {
		s.was, s.anew = sizeMsg{w, h}, true
		s.update(s.was)
	}
}

// read takes in what was typed. A key that is not whole waits for the rest of it, unless all
// there will be is there.
func (s *screen) read(b []byte, all bool) {
	var msgs []any
	msgs, s.keys = keysOf(append(s.keys, b...), all)
	// Of a paste that is too long the middle goes; its end may come in two parts.
	if most := len(pasteBegins) + maxPaste; bytes.HasPrefix(s.keys, []byte(pasteBegins)) && len(s.keys) > most+len(pasteEnds) {
		s.keys = slices.Delete(s.keys, most, len(s.keys)-len(pasteEnds))
	}
	types := func(msg any) bool { k, ok := msg.(keyMsg); return ok && k.text != "" }
	first := slices.IndexFunc(msgs, types)
	burst := first >= 0 && slices.ContainsFunc(msgs[first+1:], types)
	for _, msg := range msgs {
		if k, ok := msg.(keyMsg); ok {
			k.burst = burst
			msg = k
		}
		s.update(msg)
	}
}

// takeTerminal takes the terminal over, and returns what gives it back. Keys are read one by
// one, and none is taken that is typed after the end. Nothing is written before the terminal
// lets this process have its keys: a shell may have started it in the background.
func (s *screen) takeTerminal() (back func()) {
	stop := s.takeKeys()
	unescape := func() {}
	if f, ok := s.out.(*os.File); ok {
		unescape = escapes(f)
	}
	s.write(ansi.HideCursor + ansi.SetModeBracketedPaste)
	return func() {
		s.clear()
		s.write(ansi.ResetModeBracketedPaste + ansi.ShowCursor)
		unescape()
		stop()
	}
}

// takeKeys begins to read keys, and returns what ends that.
func (s *screen) takeKeys() (stop func()) {
	f, ok := s.in.(*os.File)
	if !ok {
		return func() {}
	}
	was, raw := term.MakeRaw(int(f.Fd()))
	keys, err := cancelreader.NewReader(f)
	var reads sync.WaitGroup
	if err == nil {
		reads.Go(func() { s.listen(keys) })
	} else {
		s.do(func() any { return keysEnd{} })
	}
	return func() {
		if err == nil {
			if keys.Cancel() {
				reads.Wait()
			}
			keys.Close() //nolint:errcheck // it was only read
		}
		if raw == nil {
			term.Restore(int(f.Fd()), was) //nolint:errcheck // it is gone
		}
	}
}

// write writes to the terminal. One that is gone shows nothing, and the run goes on.
func (s *screen) write(text string) { io.WriteString(s.out, text) } //nolint:errcheck // so it is

// listen reads keys until it is stopped.
func (s *screen) listen(keys io.Reader) {
	for {
		buf := make([]byte, 1024)
		n, err := keys.Read(buf)
		if n > 0 {
			select {
			case s.msgs <- inputMsg(buf[:n]):
			case <-s.ended:
			}
		}
		if err != nil {
			if !errors.Is(err, cancelreader.ErrCanceled) {
				s.send(keysEnd{})
			}
			return
		}
	}
}

// tmux keeps in its history what is cleared from the first column of the first line on, so it
// is cleared from the second one on.
const clearBelow = "\r " + ansi.EraseScreenBelow + "\b"

// print writes lines above what is drawn, and draws that again below them.
func (s *screen) print(text string) {
	lines := strings.ReplaceAll(text, "\n", "\r\n")
	s.write(clearBelow + lines + "\r\n" + framed(s.drawn))
}

// draw draws the model anew, where it looks otherwise than it did.
func (s *screen) draw() {
	frame := s.model.View()
	switch {
	case frame == "" && s.drawn != "":
		s.clear()
	case s.anew:
		// The lines themselves go: a terminal that broke one in two would join what stands there
		// when it becomes wider.
		s.drawn, s.anew = frame, false
		s.write("\r" + ansi.DeleteLine(max(1, s.was.height)) + framed(frame))
	case frame != s.drawn:
		s.drawn = frame
		s.write("\r" + framed(frame))
	}
}

func (s *screen) clear() {
	s.drawn = ""
	s.write(clearBelow)
}

// framed draws lines from the beginning of the line on, and leads back to it. They are cut at
// the edge of the window: where it has become narrower and nobody knows yet, a line that goes on
// below would move all others.
func framed(frame string) string {
	if frame == "" {
		return ""
	}
	lines := strings.ReplaceAll(frame, "\n", ansi.EraseLineRight+"\r\n")
	text := ansi.ResetModeAutoWrap + lines + ansi.EraseScreenBelow + ansi.SetModeAutoWrap + "\r"
	if n := strings.Count(frame, "\n"); n > 0 {
		text += ansi.CursorUp(n)
	}
	return text
}

// Bytes around what is pasted.
const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

// maxPaste is how much of what is pasted is taken.
const maxPaste = 64 << 10

// keysOf reads keys from what a terminal sent, and returns what is the beginning of one. With
// all, nothing follows it. Keys that mean nothing here are left out.
func keysOf(b []byte, all bool) (msgs []any, rest []byte) {
	for len(b) > 0 {
		n, msg := keyOf(b, all)
		if n == 0 {
			return msgs, b
		}
		if msg != nil {
			msgs = append(msgs, msg)
		}
		b = b[n:]
	}
	return msgs, nil
}

// keyOf reads the first key and says how many bytes it has: 0 where it may go on.
func keyOf(b []byte, all bool) (n int, msg any) {
	named := func(name string) (int, any) { return 1, keyMsg{name: name} }
	switch c := b[0]; {
	case c == 0x1b:
		return escaped(b, all)
	case c == 3:
		return named("ctrl+c")
	case c == '\r' || c == '\n':
		return named("enter")
	case c == 0x7f || c == '\b':
		return named("backspace")
	case c < ' ':
		return 1, nil
	case !utf8.FullRune(b) && !all:
		return 0, nil
	}
	r, size := utf8.DecodeRune(b)
	if r == utf8.RuneError {
		return size, nil
	}
	return size, keyMsg{name: string(r), text: string(r)}
}

// escaped reads what begins with an escape: that key alone, one with Alt, an arrow and its
// kin, or a paste.
func escaped(b []byte, all bool) (n int, msg any) {
	text := string(b)
	if pasted, ok := strings.CutPrefix(text, pasteBegins); ok {
		if body, _, ended := strings.Cut(pasted, pasteEnds); ended {
			return len(pasteBegins) + len(body) + len(pasteEnds), pasteMsg(body[:min(len(body), maxPaste)])
		}
		return 0, nil // the rest of it comes, however long that takes
	}
	switch {
	case len(b) == 1 && !all:
		return 0, nil
	case len(b) == 1 || b[1] == 0x1b:
		return 1, keyMsg{name: "esc"}
	case len(b) > 2 && (b[1] == 'O' || b[1] == '[') && b[2] == 'A':
		return 3, keyMsg{name: "up"}
	case len(b) > 2 && (b[1] == 'O' || b[1] == '[') && b[2] == 'B':
		return 3, keyMsg{name: "down"}
	case b[1] == 'O' && len(b) > 2:
		return 3, nil
	case b[1] != '[' && b[1] != 'O':
		_, size := utf8.DecodeRune(b[1:])
		return 1 + size, nil
	}
	for i := 2; i < len(b); i++ {
		if b[i] >= 0x40 && b[i] <= 0x7e {
			return i + 1, nil
		}
	}
	if all {
		return len(b), nil
	}
	return 0, nil
}
