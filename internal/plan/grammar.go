package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// grammar is how the value of a label is read into its place in the tree, and
// written from there. read reports whether it could.
type grammar interface {
	read(p *parser, v *value, to any) bool
	write(w *writer, name string, from any)
}

// scalar reads a value of one line: the label's own, or else the first below
// it. What follows is prose.
func (p *parser) scalar(v *value) (Text, bool) {
	t := unquoted(p.inline(v))
	rest := textBuilder{src: p.src}
	block := false
	for l := range p.lines(v) {
		switch {
		case !t.IsZero() || block || l.kind == blankLine:
			rest.add(l.start, l.end, Pos{l.num, 1})
		case l.kind == fenceOpen:
			block = true
			p.problem(p.at(l, l.text), Error, UnexpectedFence, fmt.Sprintf("%q is one line, not a block", v.spec.name), "write it after the label")
			rest.add(l.start, l.end, Pos{l.num, 1})
		default:
			t = unquoted(p.trimmed(l, l.text, l.end))
		}
	}
	left := rest.text()
	if v.closer != "" && !left.IsZero() {
		left = left.followed(v.closer)
	}
	p.leave(left)
	if t.IsZero() && !block {
		p.empty(v)
	}
	return t, !t.IsZero()
}

// single is a value of one line with a syntax of its own.
type single[T any] struct {
	code, hint string // of a value that cannot be read
	parse      func(string) (T, error)
	print      func(T) string
}

func (g single[T]) read(p *parser, v *value, to any) bool {
	t, ok := p.scalar(v)
	if !ok {
		return false
	}
	value, err := g.parse(t.Value)
	if err != nil {
		p.problem(t.Pos, Error, g.code, fmt.Sprintf("%s: %v", v.spec.name, err), g.hint)
		return false
	}
	*to.(*Field[T]) = Field[T]{value, true, t.Pos}
	return true
}

func (g single[T]) write(w *writer, name string, from any) {
	f := from.(*Field[T])
	if text := g.print(f.Value); f.Set && text != "" {
		w.label(name, text)
	}
}

func itself(s string) string { return s }

// free is a line as it is.
var free = single[string]{
	parse: func(s string) (string, error) { return s, nil },
	print: func(s string) string { return bare(oneLine(s)) },
}

func word(words ...string) grammar {
	all := strings.Join(words, ", ")
	return single[string]{BadWord, "write one of " + all, func(s string) (string, error) {
		for _, w := range words {
			if strings.EqualFold(s, w) {
				return w, nil
			}
		}
		return "", fmt.Errorf("%q is not one of %s", s, all)
	}, itself}
}

var (
	isolation   = word("sealed", "fenced")
	workspace   = word("shared", "worktree")
	network     = single[string]{BadWord, "write yes, no, contract, or hosts such as api.example.org, *.example.org", ParseNetwork, itself}
	permissions = single[string]{BadWord, "write allow, ask or deny, or rules such as allow run go test, ask", NormalPermissions, itself}
	duration    = single[time.Duration]{BadDuration, "write 10m, 90s or 1h30m", ParseDuration, FormatDuration}
	budget      = single[Budget]{BadBudget, "write max 200k tokens, $1.50, 20 minutes: any of these", ParseBudget, Budget.String}
	onFail      = single[OnFail]{BadOnFail, "write retry(2), then escalate (or abort, skip, replan)", ParseOnFail, OnFail.String}
)

var yesNo = single[bool]{BadWord, "write yes or no", func(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "yes", "true":
		return true, nil
	case "no", "false":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither yes nor no", s)
}, func(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}}

func number(least, most int) single[int] {
	return single[int]{BadNumber, fmt.Sprintf("write a number from %d to %d", least, most), func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("%q is not a number from %d to %d", s, least, most)
		}
		return n, nil
	}, strconv.Itoa}
}

var backoff = single[time.Duration]{BadDuration, "write none, 1s or 5m", func(s string) (time.Duration, error) {
	if strings.EqualFold(s, "none") {
		return 0, nil
	}
	return ParseDuration(s)
}, func(d time.Duration) string {
	if d <= 0 {
		return "none"
	}
	return FormatDuration(d)
}}

var id = single[string]{BadID, "write lower-case letters, digits and hyphens", func(s string) (string, error) {
	if !ValidID(s) {
		return "", fmt.Errorf("%q cannot be an id; %q could", s, Slug(s))
	}
	return s, nil
}, itself}

var contextLimit = single[int]{BadBudget, "write 200k tokens", func(s string) (int, error) {
	b, err := ParseBudget(strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(s), "s"), " token") + " tokens")
	if err != nil || b != (Budget{Tokens: b.Tokens}) || b.Tokens > maxContext {
		return 0, fmt.Errorf("%q is no number of tokens from 1 to %d", s, maxContext)
	}
	return int(b.Tokens), nil
}, func(n int) string { return tokens(int64(n)) + " tokens" }}

// maxContext bounds what a loop may use.
const maxContext = 1_000_000_000

// iterations is a number, and 10 if there is only the label.
type iterations struct{ single[int] }

func (g iterations) read(p *parser, v *value, to any) bool {
	if p.inline(v).IsZero() && v.body == v.end {
		*to.(*Field[int]) = Field[int]{DefaultLoops, true, p.at(&v.line, v.line.text)}
		return true
	}
	return g.single.read(p, v, to)
}

// status is a line that the harness did not write: one that it did begins no label.
type status struct{}

func (status) read(p *parser, v *value, _ any) bool {
	p.problem(p.at(&v.line, v.line.text), Warning, BadStatus, "Piton writes no such status", "leave it to Piton")
	return false
}

func (status) write(w *writer, name string, from any) {
	if text := from.(*Text).Value; isStatus("**status:** " + text) {
		w.label(name, text)
	}
}

// running is text of any length.
type running struct {
	below bool // it is never written on the label's line
}

func (running) read(p *parser, v *value, to any) bool {
	t := p.text(v)
	if strings.Trim(t.Value, white+"\n") == "" {
		p.empty(v)
		return false
	}
	*to.(*Text) = t
	return true
}

func (g running) write(w *writer, name string, from any) { w.text(name, *from.(*Text), g.below) }

// short is text that is often one line of code.
type short struct{}

func (short) read(p *parser, v *value, to any) bool {
	if !(running{}).read(p, v, to) {
		return false
	}
	*to.(*Text) = to.(*Text).Code()
	return true
}

func (short) write(w *writer, name string, from any) {
	t := from.(*Text)
	value := t.Value
	if t.Fenced || strings.Contains(value, "\n") || value == "" || !w.fits(value, true, false) {
		w.text(name, *t, false)
		return
	}
	if name == "when" || bare(value) != value {
		value = quote(value)
	}
	w.label(name, value)
}

// needs are numbers and ids; `none` is an empty list.
type needs struct{ atoms }

func (needs) read(p *parser, v *value, to any) bool {
	l := p.list(v)
	items := p.atomsOf(v, l, atomsOfLine)
	for i, t := range items {
		items[i] = reference(t)
	}
	return p.setList(v, to.(*Field[[]Text]), slices.DeleteFunc(items, Text.IsZero), l)
}

// reference takes off what people write around a number: [1, 2], #1, step 1.
func reference(t Text) Text {
	from, to := 0, len(t.Value)
	for more := true; more && from < to; {
		var rest string
		rest, more = cutFold(strings.TrimLeft(t.Value[from:], white+"[#"), "step ")
		from = len(t.Value) - len(rest)
	}
	for from < to && strings.IndexByte(white+"]", t.Value[to-1]) >= 0 {
		to--
	}
	return t.slice(from, max(from, to))
}

type forEach struct{}

func (forEach) read(p *parser, v *value, to any) bool {
	var items Field[[]Text]
	if !(atoms{}).read(p, v, &items) || len(items.Value) == 0 {
		return false
	}
	*to.(*Field[ForEach]) = Field[ForEach]{ForEach{items.Value}, true, items.Pos}
	return true
}

func (forEach) write(w *writer, name string, from any) {
	f := from.(*Field[ForEach])
	atoms{}.write(w, name, &Field[[]Text]{Value: f.Value.Items, Set: f.Set})
}

// env are names of variables.
type env struct{ atoms }

func (env) read(p *parser, v *value, to any) bool {
	var all Field[[]Text]
	if !(atoms{}).read(p, v, &all) {
		return false
	}
	var names []Text
	for _, t := range all.Value {
		if !ValidVariable(t.Value) {
			p.problem(t.Pos, Error, BadEnv, fmt.Sprintf("%q is not the name of a variable", t.Value), "write names only; values come from the environment")
			continue
		}
		names = append(names, t)
	}
	if len(names) == 0 && len(all.Value) > 0 {
		return false
	}
	*to.(*Field[[]Text]) = Field[[]Text]{names, true, all.Pos}
	return true
}

// ValidVariable reports whether s can name a variable of the environment.
func ValidVariable(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|32 < 'a' || c|32 > 'z') && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// ask is a question and the bullets below it, which are its choices.
type ask struct{}

func (ask) read(p *parser, v *value, to any) bool {
	question, choices := *v, *v
	choices.value, choices.written.end = 0, 0
	choices.body = v.end
	for l := range p.lines(v) {
		if l.kind == bulletLine && l.indent <= 3 || l.kind == fenceOpen && l.item && l.indent <= 3 {
			question.end, choices.body, choices.line = l.start, l.start, *l
			choices.line.num = l.num - 1
			question.closer = ""
			break
		}
	}
	s := to.(*Step)
	if !(running{}).read(p, &question, &s.Ask) {
		return false
	}
	if choices.body < v.end {
		s.Choices = slices.Clone(p.list(&choices).bullet)
	}
	return true
}

func (ask) write(w *writer, name string, from any) {
	s := from.(*Step)
	if s.Ask.IsZero() {
		return
	}
	value := normalEnds(s.Ask.Value)
	switch {
	case !s.Ask.Fenced && w.fits(value, true, true):
		w.label(name, value)
	case !s.Ask.Fenced && w.fits(value, false, true):
		w.paragraph(w.name(name) + "\n" + value)
	default:
		w.paragraph(w.name(name) + "\n" + FencedBlock(s.Ask.Lang, value))
	}
	w.tight = false
	for _, c := range s.Choices {
		w.item(c.Value)
	}
}
