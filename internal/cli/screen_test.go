package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// paper is a terminal as far as a screen needs one: what scrolls away at the top is kept.
type paper struct {
	mu            sync.Mutex
	width, height int
	past          []string
	rows          [][]rune
	x, y          int
	nowrap        bool
	hidden        bool
	pasting       bool
	rings         int
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := string(b); s != ""; {
		switch {
		case strings.HasPrefix(s, "\x1b["):
			end := strings.IndexFunc(s[2:], func(c rune) bool { return c >= 0x40 && c <= 0x7e }) + 2
			p.does(s[2:end], s[end])
			s = s[end+1:]
		case s[0] == '\r':
			p.x, s = 0, s[1:]
		case s[0] == '\n':
			p.down()
			s = s[1:]
		case s[0] == '\b':
			p.x, s = max(p.x-1, 0), s[1:]
		case s[0] == '\a':
			p.rings++
			s = s[1:]
		default:
			r, n := utf8.DecodeRuneInString(s)
			p.put(r)
			s = s[n:]
		}
	}
	return len(b), nil
}

func (p *paper) row() *[]rune {
	for len(p.rows) <= p.y {
		p.rows = append(p.rows, nil)
	}
	for len(p.rows[p.y]) < p.width {
		p.rows[p.y] = append(p.rows[p.y], ' ')
	}
	return &p.rows[p.y]
}

func (p *paper) put(r rune) {
	if p.x >= p.width {
		if p.nowrap {
			p.x = p.width - 1
		} else {
			p.x = 0
			p.down()
		}
	}
	(*p.row())[p.x] = r
	p.x++
}

func (p *paper) down() {
	if p.y++; p.y < p.height {
		return
	}
	p.y--
	p.row()
	p.past = append(p.past, strings.TrimRight(string(p.rows[0]), " "))
	p.rows = p.rows[1:]
}

func (p *paper) does(args string, final byte) {
	n, _ := strconv.Atoi(args)
	switch what := args + string(final); {
	case final == 'A':
		p.y = max(p.y-max(n, 1), 0)
	case what == "K":
		copy((*p.row())[min(p.x, p.width):], []rune(strings.Repeat(" ", p.width)))
	case what == "J":
		copy((*p.row())[min(p.x, p.width):], []rune(strings.Repeat(" ", p.width)))
		p.rows = p.rows[:p.y+1]
	case final == 'M':
		p.row()
		p.rows = slices.Delete(p.rows, p.y, min(p.y+max(n, 1), len(p.rows)))
	case what == "?7l", what == "?7h":
		p.nowrap = final == 'l'
	case what == "?25l", what == "?25h":
		p.hidden = final == 'l'
	case what == "?2004l", what == "?2004h":
		p.pasting = final == 'h'
	case final == 'm':
	default:
		panic(what)
	}
}

// text is all that ever stood there, and how many lines of it are at and below the cursor.
func (p *paper) text() (all string, below int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := slices.Clone(p.past)
	for _, r := range p.rows {
		lines = append(lines, strings.TrimRight(string(r), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n"), len(p.rows) - p.y
}

// sheetOf is a picture of what it was told last. It answers a note by printing it.
type sheetOf struct {
	frame string
	heard []any
}

func (f *sheetOf) Init() beside { return nil }
func (f *sheetOf) View() string { return f.frame }
func (f *sheetOf) Update(msg any) beside {
	f.heard = append(f.heard, msg)
	switch msg := msg.(type) {
	case noteMsg:
		return func() any { return printMsg(msg) }
	case finishMsg:
		return func() any { return quitMsg{} }
	}
	return nil
}

// What is drawn stays below what is printed, however much that is, and nothing of it is left
// behind: also where it becomes shorter, and where the window is full.
func TestScreenDraws(t *testing.T) {
	for _, height := range []int{6, 30} {
		p := &paper{width: 20, height: height}
		f := &sheetOf{}
		s := newScreen(nil, p, f)
		var want []string
		show := func(frame string) {
			f.frame = frame
			s.draw()
			all, below := p.text()
			if got := strings.Join(append(slices.Clone(want), strings.Split(frame, "\n")...), "\n"); all != strings.TrimRight(got, "\n") || frame != "" && below != strings.Count(frame, "\n")+1 || p.x != 0 {
				t.Fatalf("height %d, %d lines below the cursor at %d:\n%s\nwant:\n%s", height, below, p.x, all, got)
			}
		}
		for n := range 12 {
			show(strings.TrimSuffix(strings.Repeat(fmt.Sprintf("frame %d\n", n), 1+(n*3)%5), "\n"))
			line := fmt.Sprintf("line %d", n)
			if n%4 == 1 {
				line = strings.Repeat("long", 8) // a command that may not be broken
			}
			s.print(line + "\nand one")
			for part := range slices.Chunk([]rune(line), 20) {
				want = append(want, string(part))
			}
			want = append(want, "and one")
			show(f.frame)
		}
		show("")
		s.clear()
		if all, _ := p.text(); all != strings.Join(want, "\n") {
			t.Errorf("it leaves:\n%s", all)
		}
	}
}

// A line that is wider than a window that became narrower is cut, and the lines around it stay
// where they are; one that is printed is whole.
func TestScreenCuts(t *testing.T) {
	p := &paper{width: 10, height: 5}
	f := &sheetOf{frame: "first\n" + strings.Repeat("x", 25) + "\nlast"}
	s := newScreen(nil, p, f)
	s.draw()
	if all, below := p.text(); all != "first\nxxxxxxxxxx\nlast" || below != 3 || p.nowrap {
		t.Errorf("%q, %d", all, below)
	}
	s.print(strings.Repeat("y", 15))
	if all, _ := p.text(); all != "yyyyyyyyyy\nyyyyy\nfirst\nxxxxxxxxxx\nlast" {
		t.Errorf("%q", all)
	}
}

// tmux keeps in its history what is cleared from the first column of the first line on.
func TestScreenClearsBesideTheEdge(t *testing.T) {
	var b strings.Builder
	f := &sheetOf{}
	s := newScreen(nil, &b, f)
	for _, frame := range []string{"", "a", "a\nb", ""} {
		f.frame = frame
		s.draw()
		s.print("above")
	}
	s.clear()
	modes := strings.NewReplacer(ansi.ResetModeAutoWrap, "", ansi.SetModeAutoWrap, "")
	before := strings.Split(modes.Replace(b.String()), ansi.EraseScreenBelow)
	if len(before) < 8 {
		t.Fatalf("it clears %d times", len(before)-1)
	}
	for _, text := range before[:len(before)-1] {
		if strings.HasSuffix(text, "\r") || strings.HasSuffix(text, "\n") {
			t.Errorf("%q", text)
		}
	}
}

// Where the window has another size, the lines that were drawn go as they are: one that the
// terminal broke in two would be joined with the next when the window becomes wider.
func TestScreenOfAnotherSize(t *testing.T) {
	var b strings.Builder
	s := newScreen(nil, &b, &sheetOf{frame: "a\nb"})
	size := sizeMsg{40, 10}
	s.size = func() (int, int, bool) { return size.width, size.height, true }
	for n, want := range []string{ansi.DeleteLine(10), "", ansi.DeleteLine(8)} {
		if n == 2 {
			size = sizeMsg{30, 8}
		}
		b.Reset()
		s.measure()
		s.draw()
		if got := b.String(); want == "" && got != "" || !strings.HasPrefix(got, "\r"+want) && want != "" {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// A screen runs until its picture quits, hides the cursor meanwhile, and tells of a window's
// size when it begins and when it changes.
func TestScreenRuns(t *testing.T) {
	p := &paper{width: 40, height: 10}
	f := &sheetOf{frame: "below"}
	s := newScreen(nil, p, f)
	size := sizeMsg{40, 10}
	s.size = func() (int, int, bool) { return size.width, size.height, true }
	over := make(chan struct{})
	go func() { s.run(); close(over) }()
	s.send(noteMsg("a note"))
	s.send(bellNow{})
	s.send(tickMsg{})
	s.send(batchMsg{func() any { return nil }, func() any { return finishMsg{} }})
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	s.send(tickMsg{}) // is nothing, and does not block
	if all, _ := p.text(); p.hidden || p.pasting || p.rings != 1 || strings.Contains(all, "below") {
		t.Errorf("it leaves %+v", p)
	}
	if len(f.heard) == 0 || f.heard[0] != size || slices.Index(f.heard, any(printedMsg{})) < 0 {
		t.Errorf("it heard %v", f.heard)
	}
}

func TestKeysOf(t *testing.T) {
	typed := func(all string) (msgs []any) {
		for _, r := range all {
			msgs = append(msgs, keyMsg{name: string(r), text: string(r)})
		}
		return msgs
	}
	key := func(name string) any { return keyMsg{name: name} }
	for in, want := range map[string][]any{
		"aé世 ":                             typed("aé世 "),
		"\x03q":                            append([]any{key("ctrl+c")}, typed("q")...),
		"\r\x7f\b\n":                       {key("enter"), key("backspace"), key("backspace"), key("enter")},
		"\x1b":                             {key("esc")},
		"\x1b\x1b":                         {key("esc"), key("esc")},
		"\x1b[A\x1b[1;5C\x1bOPx":           append([]any{key("up")}, typed("x")...),
		"\x1baé":                           typed("é"),
		"\x1b[200~q\r\x03\x1b[A\x1b[201~a": append([]any{pasteMsg("q\r\x03\x1b[A")}, typed("a")...),
		"\x01\x00\xff\xc3\xa9":             typed("é"),
		"\x1b[":                            nil,
	} {
		whole, rest := keysOf([]byte(in), true)
		if diff := cmp.Diff(want, whole, cmp.AllowUnexported(keyMsg{})); diff != "" || len(rest) > 0 {
			t.Errorf("%q (-want +got), %q left:\n%s", in, rest, diff)
		}
		var bits []any // as a slow line brings them
		s := screen{model: &sheetOf{}}
		for _, b := range []byte(in) {
			var msgs []any
			msgs, s.keys = keysOf(append(s.keys, b), false)
			bits = append(bits, msgs...)
		}
		last, _ := keysOf(s.keys, true)
		if diff := cmp.Diff(want, append(bits, last...), cmp.AllowUnexported(keyMsg{})); diff != "" && len(want) > 0 {
			t.Errorf("%q byte by byte (-want +got):\n%s", in, diff)
		}
	}
	f := &sheetOf{}
	s := screen{model: f}
	s.read([]byte(pasteBegins+strings.Repeat("x", maxPaste+5)), false)
	s.read([]byte("\ry"+pasteEnds[:2]), false)
	s.read([]byte(pasteEnds[2:]), false)
	if len(f.heard) != 1 || len(f.heard[0].(pasteMsg)) != maxPaste {
		t.Errorf("a long paste: %d messages", len(f.heard))
	}
}
