package cli

import (
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/view"
)

// theme is how one terminal, or file, is written to. Every text from outside
// goes through [theme.line] or [proc.Plain] before it is printed.
type theme struct {
	width int // columns
	color bool
	ascii bool // the locale is not UTF-8
	whole bool // no terminal: lines that tell of something are not folded
	zone  *time.Location

	nested bool // steps of sub-plans are among those of a live view: their numbers are longer
}

// theme looks at what w is and at what the environment asks for.
func (a *app) theme(w io.Writer) theme {
	env := a.environ()
	return theme{
		width: width(w),
		whole: !isTerminal(w),
		color: isTerminal(w) && env["NO_COLOR"] == "" && env["TERM"] != "dumb",
		ascii: !utf8Locale(env),
		zone:  time.Local,
	}
}

// utf8Locale reads the environment as setlocale does.
func utf8Locale(env map[string]string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(env[name]); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return runtime.GOOS == "windows" || runtime.GOOS == "darwin"
}

// tone is a colour. It means a status and nothing else.
type tone string

const (
	plainTone tone = ""
	runTone   tone = "34" // a machine works
	okTone    tone = "32" // proven
	badTone   tone = "31" // failed
	youTone   tone = "35" // waits for a person
	warnTone  tone = "33" // retry, warning
	idleTone  tone = "90" // not started, left out
	boldTone  tone = "1"
)

// paint colours text that is already safe.
func (t theme) paint(c tone, s string) string {
	if !t.color || c == plainTone || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// look is how a status is shown: one glyph, one word, one colour.
type look struct {
	glyph, ascii string
	tone         tone
	word         string
}

// looks are the signs and colours of all statuses; the words are those of [view.Word].
var looks = map[engine.Status]look{
	engine.Pending:    {glyph: "○", ascii: ".", tone: idleTone},
	engine.Ready:      {glyph: "◎", ascii: "o", tone: idleTone},
	engine.Blocked:    {glyph: "⊘", ascii: "/", tone: idleTone},
	engine.Running:    {glyph: "●", ascii: ">", tone: runTone},
	engine.Waiting:    {glyph: "◆", ascii: "?", tone: youTone},
	engine.Done:       {glyph: "✓", ascii: "+", tone: okTone},
	view.DoneUnproven: {glyph: "✓", ascii: "+", tone: warnTone},
	engine.Failed:     {glyph: "✕", ascii: "x", tone: badTone},
	engine.Skipped:    {glyph: "–", ascii: "-", tone: idleTone},
	engine.Waived:     {glyph: "◇", ascii: "w", tone: warnTone},
	engine.Regressed:  {glyph: "↻", ascii: "r", tone: warnTone},
	engine.Paused:     {glyph: "‖", ascii: "=", tone: warnTone},
	engine.Replanning: {glyph: "↻", ascii: "r", tone: runTone},
	engine.Cancelled:  {glyph: "□", ascii: "#", tone: idleTone},
	view.Interrupted:  {glyph: "□", ascii: "#", tone: warnTone},
	view.Verified:     {glyph: "◆", ascii: "?", tone: youTone},
	view.Approved:     {glyph: "◎", ascii: "o", tone: idleTone},
	view.Rejected:     {glyph: "✕", ascii: "x", tone: badTone},
}

// lookOf is the look of a status, and of a step in a phase.
func lookOf(s engine.Status, p engine.Phase) look {
	l, ok := looks[s]
	switch {
	case !ok:
		l = look{glyph: "·", ascii: ".", tone: plainTone}
	case s == engine.Running && p == engine.Retrying:
		l = look{glyph: "↻", ascii: "r", tone: warnTone}
	case s == engine.Running && p == engine.Verifying, (s == engine.Done || s == view.DoneUnproven) && p == engine.Ratchet:
		l.ascii = "~"
	}
	l.word = view.Word(s, p)
	return l
}

func (t theme) glyph(l look) string {
	if t.ascii {
		return l.ascii
	}
	return l.glyph
}

// rule, bar and dots are the few other signs.
func (t theme) rule() string {
	if t.ascii {
		return strings.Repeat("-", t.width)
	}
	return strings.Repeat("─", t.width)
}

func (t theme) bar() string {
	if t.ascii {
		return "| "
	}
	return "│ "
}

func (t theme) dots() string {
	if t.ascii {
		return "..."
	}
	return "…"
}

// maxText bounds what is looked at of a text that becomes part of one line.
const maxText = 8 << 10

// brief shows a script on one line, with a sign where its lines end.
func (t theme) brief(s string) string {
	sign := " ⏎ "
	if t.ascii {
		sign = " / "
	}
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	return t.line(strings.Join(lines, sign))
}

// line makes any text one line that is safe to print: no escape sequences,
// controls, line ends or marks that reorder text. Runs of blanks become one.
func (t theme) line(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return t.one(s)
}

// one is line for what must not be cut.
func (t theme) one(s string) string {
	return t.safe(strings.Join(strings.FieldsFunc(proc.Plain([]byte(s)), unicode.IsSpace), " "))
}

// asciiSigns stand for signs that are common in texts and in no ASCII.
var asciiSigns = strings.NewReplacer("→", "->", "−", "-", "–", "-", "—", "-", "…", "...", "·", "-", "’", "'", "‘", "'", "“", `"`, "”", `"`)

// safe makes one line of plain text safe to print, with its blanks.
func (t theme) safe(s string) string {
	if t.ascii {
		s = asciiSigns.Replace(s)
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u200d': // joins what is one sign
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r):
			return -1
		}
		if t.ascii && r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, s)
}

// fit cuts a text that is one line to at most w columns.
func (t theme) fit(s string, w int) string {
	if w <= 0 {
		return ""
	}
	return ansi.Truncate(s, w, cut(t.dots(), w))
}

// cut is the tail of a text that was cut to w columns.
func cut(dots string, w int) string {
	if w < 2*len(dots) && len(dots) == ansi.StringWidth(dots) || w < 2 {
		return ""
	}
	return dots
}

// deed cuts what was done to at most w columns: a command before its exit code.
func (t theme) deed(s string, w int) string {
	i := max(strings.LastIndex(s, " → "), strings.LastIndex(s, " -> "))
	if i < 0 || len(s)-i > w/2 || ansi.StringWidth(s) <= w {
		return t.fit(s, w)
	}
	return t.fit(s[:i], w-ansi.StringWidth(s[i:])) + s[i:]
}

// pad fits a text to exactly w columns.
func (t theme) pad(s string, w int) string {
	s = t.fit(s, w)
	return s + strings.Repeat(" ", max(0, w-ansi.StringWidth(s)))
}

// right is pad for numbers.
func (t theme) right(s string, w int) string {
	s = t.fit(s, w)
	return strings.Repeat(" ", max(0, w-ansi.StringWidth(s))) + s
}

// narrowest is the least width that a text is wrapped to.
const narrowest = 8

// copied is what people copy whole: a path from the root, without what ends a clause behind it,
// a place in a file, commands of git in back quotes, or what shows or answers an item.
var copied = lazy.Regexp("(?:^|[ (])(/[^\\s;,]*[^\\s;,.:)/]|[^\\s(]+:[0-9]+:[0-9]+|`git [^`]*`|piton (?:inbox [0-9a-f]+/[0-9]+|answer [0-9a-f]+/[0-9]+ [a-z-]+(?: --text| --args)?(?: [A-Z]+)?))")

// hyphen stands for one while a text is broken into lines: names, flags and paths have
// hyphens, and people copy them.
const hyphen = "\ue000"

// wrap breaks a text into lines of at most w columns. What people copy is on one line, however
// long that is.
func (t theme) wrap(s string, w int) []string {
	var lines []string
	wrapped := ansi.Wrap(strings.ReplaceAll(s, "-", hyphen), max(w, narrowest), "")
	whole := strings.Split(strings.ReplaceAll(wrapped, hyphen, "-"), "\n")
	for _, at := range copied().FindAllStringSubmatchIndex(s, -1) {
		text := s[at[2]:at[3]]
		if slices.ContainsFunc(whole, func(l string) bool { return strings.Contains(l, text) }) {
			continue
		}
		if before := strings.TrimRight(s[:at[2]], " "); before != "" {
			lines = t.wrap(before, w)
		}
		lines = append(lines, text)
		if rest := strings.TrimLeft(s[at[3]:], " ;,.:"); rest != "" {
			lines = append(lines, t.wrap(rest, w)...)
		}
		return lines
	}
	for _, l := range whole {
		for part := range strings.SplitSeq(ansi.Hardwrap(l, max(w, narrowest), false), "\n") { // it may be longer, broken in a word
			lines = append(lines, t.fit(part, w))
		}
	}
	return lines
}

// tail returns the last n lines of captured output, each safe and at most w
// columns wide.
func (t theme) tail(s string, n, w int) []string {
	if len(s) > 64<<10 {
		s = s[len(s)-64<<10:]
	}
	var lines []string
	for l := range strings.SplitSeq(proc.Plain([]byte(s)), "\n") {
		if l = t.captured(l); l != "" {
			lines = append(lines, t.fit(l, w))
		}
	}
	return lines[max(0, len(lines)-n):]
}

// ends returns the last lines of both outputs of a command, n at most: what it said on standard
// error, which mostly says what is wrong, and behind it what else it printed. None of the two
// leaves the other less than half.
func (t theme) ends(stdout, stderr string, n, w int) []string {
	said, printed := t.tail(stderr, n, w), t.tail(stdout, n, w)
	rest := min(len(printed), max(n-len(said), n/2))
	said = said[max(0, len(said)+rest-n):]
	return slices.Concat(said, printed[len(printed)-rest:])
}

// captured is a line of plain output or of a script, with the blanks in it.
func (t theme) captured(s string) string {
	return strings.TrimRight(t.safe(strings.ReplaceAll(s, "\t", "    ")), " ")
}
