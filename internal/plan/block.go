package plan

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// below returns a scanner over the lines below a label.
func (p *parser) below(v *value) scanner {
	return scanner{src: p.src[:v.end], off: v.body, num: v.line.num, inStep: p.section == inStep}
}

// lines yields the lines below a label, projections left out.
func (p *parser) lines(v *value) iter.Seq[*line] {
	return func(yield func(*line) bool) {
		sc := p.below(v)
		var l line
		for sc.next(&l) {
			if l.kind != statusLine && !yield(&l) {
				return
			}
		}
	}
}

// inline is the value on the label's own line.
func (p *parser) inline(v *value) Text {
	return p.trimmed(&v.line, v.value, v.written.end)
}

// trimmed is a part of a line, without white space around it.
func (p *parser) trimmed(l *line, from, to int) Text {
	from, to = trim(p.src, from, to)
	if from >= to {
		return Text{}
	}
	return Text{Value: p.src[from:to], Pos: p.at(l, from)}
}

// unquoted is a one-line text without the back-ticks around it.
func unquoted(t Text) Text {
	from, to := unquote(t.Value)
	return t.slice(from, to)
}

// fenced reads the content of the fenced block that opened begins, in any
// scanner, and reports whether the line after the block has ended it.
func fenced(sc *scanner, opened *line, place func(num, start, at int) Pos) (t Text, broken bool) {
	b := textBuilder{src: sc.src}
	for l := (line{}); ; {
		switch saved := *sc; {
		case !sc.next(&l), l.kind == fenceClose:
		case l.kind == statusLine:
			continue
		case l.kind != fenceBody:
			*sc = saved
			broken = true
		default:
			from := l.cut(sc.src, opened.offset)
			if b.lines == 0 {
				b.open(from, l.end, place(l.num, l.start, from))
			} else {
				b.add(from, l.end, place(l.num, l.start, from))
			}
			continue
		}
		break
	}
	t = b.verbatim()
	t.Fenced = true
	t.Lang = language(sc.src[opened.text:opened.end])
	return t, broken
}

// language is the first word after an opening fence.
func language(fence string) string {
	words := strings.Fields(fence[run(fence):])
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// text reads running text. If it is one fenced block and nothing else, it is
// the content of that block.
func (p *parser) text(v *value) Text {
	if t, ok := p.sole(v); ok {
		return t
	}
	b := textBuilder{src: p.src}
	if from, to := trim(p.src, v.value, v.written.end); from < to {
		b.add(from, to, p.at(&v.line, from))
	}
	for l := range p.lines(v) {
		b.add(l.start, l.end, Pos{l.num, 1})
	}
	t := trimEnd(b.text())
	if v.closer != "" && !t.IsZero() {
		t = t.followed(v.closer)
	}
	return t
}

// trimEnd takes white space off the end of a text.
func trimEnd(t Text) Text {
	t.Value = strings.TrimRight(t.Value, white)
	return t
}

// sole reads the fenced block that a value consists of.
func (p *parser) sole(v *value) (Text, bool) {
	if !p.inline(v).IsZero() {
		return Text{}, false
	}
	sc := p.below(v)
	var l line
	for sc.next(&l) && (l.kind == blankLine || l.kind == statusLine) {
	}
	if l.kind != fenceOpen || l.item {
		return Text{}, false
	}
	t, broken := fenced(&sc, &l, p.place)
	if broken {
		return t, false
	}
	for sc.next(&l) {
		if l.kind != blankLine && l.kind != statusLine {
			return Text{}, false
		}
	}
	return t, true
}

// blocks is what stands below a label that takes a fenced block.
type blocks struct {
	code   Text   // the first block, or the inline code in its place
	second Pos    // of the second one
	bare   []Text // everything else
}

func (b *blocks) add(t Text) {
	switch {
	case !b.code.Pos.IsValid():
		b.code = t
	case !b.second.IsValid():
		b.second = t.Pos
	}
}

// blocks reads a value that is a fenced block or inline code. Texts for which
// take returns true are left out.
func (p *parser) blocks(v *value, take func(Text) bool) blocks {
	var out blocks
	if t := p.inline(v); !t.IsZero() && !out.inline(t, take) {
		out.bare = append(out.bare, t)
	}
	bare := textBuilder{src: p.src}
	flush := func() {
		if t := bare.text(); !t.IsZero() {
			out.bare = append(out.bare, t)
		}
		bare = textBuilder{src: p.src}
	}
	sc := p.below(v)
	for l := (line{}); sc.next(&l); {
		switch {
		case l.kind == statusLine:
		case l.kind == fenceOpen:
			flush()
			at := p.at(&l, l.text)
			t, _ := fenced(&sc, &l, p.place)
			if !t.Pos.IsValid() {
				t.Pos = at
			}
			out.add(t)
		case l.kind != blankLine && out.inline(p.trimmed(&l, l.text, l.end), take):
			flush()
		default:
			bare.add(l.start, l.end, Pos{l.num, 1})
		}
	}
	flush()
	return out
}

// inline takes a line that is inline code, or that take takes, or the one
// behind the other.
func (b *blocks) inline(t Text, take func(Text) bool) bool {
	spans := codeSpans(t.Value)
	if len(spans) == 0 || spans[0].start > 0 || b.code.Pos.IsValid() {
		return take(t)
	}
	rest := t.slice(spans[0].end, len(t.Value))
	rest = rest.slice(len(rest.Value)-len(strings.TrimLeft(rest.Value, ",;")), len(rest.Value))
	switch {
	case take(t):
	case rest.Value == "" || take(rest):
		b.add(unquoted(t.slice(0, spans[0].end)))
	default:
		return false
	}
	return true
}

// codeBlock is a value that must be one fenced block (or inline code), in one of the
// languages.
type codeBlock []string

var (
	shellBlock = codeBlock{"shell", "sh", "bash"}
	dataBlock  = codeBlock{"json", "yaml", "yml"}
)

func (g codeBlock) read(p *parser, v *value, to any) bool {
	b := p.blocks(v, func(Text) bool { return false })
	code := p.chosen(v, b)
	if code.Value == "" {
		return false
	}
	p.language(v, code, g)
	*to.(*Text) = code
	return true
}

func (codeBlock) write(w *writer, name string, from any) { w.code(name, *from.(*Text)) }

// chosen is the block that counts, after every problem with it was reported.
func (p *parser) chosen(v *value, b blocks) Text {
	if b.second.IsValid() {
		code, message := TwoBlocks, fmt.Sprintf("%q has two blocks", v.spec.name)
		if v.spec.name == "contract" {
			code, message = TwoContracts, "the contract has two blocks"
		}
		p.problem(b.second, Error, code, message, "join them into one")
	}
	bare := join(b.bare)
	switch {
	case !b.code.Pos.IsValid() && !bare.IsZero():
		p.problem(bare.Pos, Error, NeedsFence, fmt.Sprintf("%q is not in a fenced block", v.spec.name),
			fenceHint(bare.Value))
		if strings.Contains(bare.Value, "\n") {
			bare.Fenced = true // the only form that could hold it
			return bare
		}
		return bare.slice(0, len(bare.Value))
	case strings.Trim(b.code.Value, white+"\n") == "":
		p.empty(v)
		return Text{}
	case !bare.IsZero():
		p.problem(bare.Pos, Warning, TextBesideBlock, fmt.Sprintf("this text is not part of %q", v.spec.name), "")
		p.leave(b.bare...)
	}
	if len(b.code.Value) > MaxContract {
		p.problem(b.code.Pos, Error, ScriptTooLong,
			fmt.Sprintf("%q has %d bytes; at most %d are allowed", v.spec.name, len(b.code.Value), MaxContract), "put it into a script file")
	}
	return b.code
}

// language reports a block that is not in one of the languages.
func (p *parser) language(v *value, code Text, languages codeBlock) {
	if !code.Fenced || code.Lang == "" || slices.ContainsFunc(languages, func(l string) bool { return strings.EqualFold(code.Lang, l) }) {
		return
	}
	if languages[0] == "shell" {
		p.problem(code.Pos, Error, NotShell, fmt.Sprintf("%q is run by bash, but its block says %q", v.spec.name, code.Lang), "write ```shell")
		return
	}
	p.problem(code.Pos, Error, BadLanguage, fmt.Sprintf("%q cannot be written in %q", v.spec.name, code.Lang), "write ```"+languages[0])
}

// leave makes prose of texts that belong to no label. One that would be read as
// something else without the lines around it goes into a fenced block.
func (p *parser) leave(texts ...Text) {
	w := writer{section: p.section, untitled: p.plan.Title.IsZero()}
	for _, t := range texts {
		switch {
		case t.IsZero():
			continue
		case !w.proseFits(t.Value):
			starts := slices.Concat([]Pos{{}}, t.lineStarts(), []Pos{{}})
			t = Text{Value: FencedBlock("text", t.Value), Pos: t.Pos, starts: &starts}
		}
		p.pieces = append(p.pieces, t)
	}
}

// contract is a script, and the exit code that it must have.
type contract struct{}

func (contract) read(p *parser, v *value, to any) bool {
	c := &Contract{}
	b := p.blocks(v, func(t Text) bool { return p.exitCode(t, c) })
	c.Command = p.chosen(v, b)
	if c.Command.Value == "" {
		return false
	}
	p.language(v, c.Command, shellBlock)
	*to.(**Contract) = c
	return true
}

func (contract) write(w *writer, name string, from any) {
	c := *from.(**Contract)
	if c == nil {
		return
	}
	w.code(name, c.Command)
	if c.ExitCode.Set {
		w.out.WriteString("exit_code == " + strconv.Itoa(c.ExitCode.Value) + "\n")
	}
	w.tight = true
}

// exitLine cuts "exit_code" off a line, with what Markdown may put before it.
func exitLine(s string) (rest string, ok bool) {
	rest, exit := cutFold(strings.Trim(s, white+"`*-+."), "exit")
	rest, code := cutFold(strings.TrimLeft(rest, "_ "), "code")
	return strings.TrimLeft(rest, white), exit && code
}

// exitCode reads `exit_code == N` and reports whether the text is about that.
func (p *parser) exitCode(t Text, c *Contract) bool {
	rest, ok := exitLine(t.Value)
	if !ok {
		return false
	}
	sign := strings.TrimLeft(rest, "=:")
	n, after := 0, strings.TrimLeft(sign, white)
	number := after[:digits(after)]
	after = strings.TrimLeft(after[len(number):], "`* \t.")
	for i := range len(number) {
		n = min(n*10+int(number[i]-'0'), 1000)
	}
	switch {
	case len(sign) == len(rest) || number == "" || n > 255 || after != "" && after[0] != '#' && after[0] != '(':
		p.problem(t.Pos, Error, BadExitCode, fmt.Sprintf("%q is not an exit code", t.Value), "write exit_code == 0, with a number up to 255")
	case c.ExitCode.Set && c.ExitCode.Value != n:
		p.problem(t.Pos, Error, BadExitCode, "the contract has two exit codes", "keep one of them")
	default:
		c.ExitCode = Field[int]{n, true, t.Pos}
	}
	return true
}

// fenceHint says how a text is written that stands bare.
func fenceHint(bare string) string {
	if strings.Contains(bare, "\n") {
		return "put it between lines of ```, so that every sign of it is shown"
	}
	return "put it in backticks: `" + strings.Trim(bare, "` ") + "`; or between lines of ```"
}
