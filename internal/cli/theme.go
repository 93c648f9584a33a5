package cli

import (
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

// theme is how one terminal, or file, is written to. Every text from outside
// goes through [theme.line] or [proc.Plain] before it is printed.
type theme struct {
	width int // columns
	color bool
	ascii bool // the locale is not UTF-8
	zone  *time.Location

	nested bool // steps of sub-plans are among those of a live view: their numbers are longer
}

// theme looks at what w is and at what the environment asks for.
func (a *app) theme(w io.Writer) theme {
	env := a.environ()
	return theme{
		width: width(w),
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
	word         string
	tone         tone
}

var looks = map[engine.Status]look{
	engine.Pending:    {"○", ".", "pending", idleTone},
	engine.Ready:      {"◎", "o", "ready", idleTone},
	engine.Blocked:    {"⊘", "/", "blocked", idleTone},
	engine.Running:    {"●", ">", "running", runTone},
	engine.Waiting:    {"◆", "?", "needs you", youTone},
	engine.Done:       {"✓", "+", "passed", okTone},
	engine.Failed:     {"✕", "x", "failed", badTone},
	engine.Skipped:    {"–", "-", "skipped", idleTone},
	engine.Waived:     {"◇", "w", "waived", warnTone},
	engine.Regressed:  {"↻", "r", "regressed", warnTone},
	engine.Paused:     {"‖", "=", "paused", warnTone},
	engine.Cancelled:  {"□", "#", "cancelled", idleTone},
	engine.Superseded: {"□", "#", "superseded", idleTone},
	interrupted:       {"□", "#", "interrupted", warnTone},
	unapproved:        {"◆", "?", "needs you", youTone},
	approved:          {"◎", "o", "approved", idleTone},
	rejected:          {"✕", "x", "rejected", badTone},
}

// interrupted is how people see what was under way when its owner ended. The
// journal has no such status: it does not say who carries a run on.
const interrupted engine.Status = "interrupted"

// lookOf is the look of a step: its status, in the words of its phase.
func lookOf(s engine.Status, p engine.Phase) look {
	switch {
	case s == engine.Running && (p == engine.Verifying || p == engine.Flaky):
		return look{"●", "~", "verifying", runTone}
	case s == engine.Running && p == engine.Baseline:
		return look{"●", ">", "preparing", runTone}
	case s == engine.Running && p == engine.Retrying:
		return look{"↻", "r", "retrying", warnTone}
	case s == engine.Done && p == engine.Ratchet:
		return look{"✓", "~", "proving again", okTone}
	}
	if l, ok := looks[s]; ok {
		return l
	}
	return look{"·", ".", string(s), plainTone}
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
	return t.whole(s)
}

// whole is line for what must not be cut.
func (t theme) whole(s string) string {
	return t.safe(strings.Join(strings.FieldsFunc(proc.Plain([]byte(s)), unicode.IsSpace), " "))
}

// safe makes one line of plain text safe to print, with its blanks.
func (t theme) safe(s string) string {
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

// pathWord is a path from the root, without what ends a clause behind it.
var pathWord = regexp.MustCompile(`(?:^| )(/[^\s;,]*[^\s;,.:)/])`)

// wrap breaks a text into lines of at most w columns. A path that would be broken
// has a line of its own, however long it is: people copy it.
func (t theme) wrap(s string, w int) []string {
	var lines []string
	whole := strings.Split(ansi.Wrap(s, max(w, narrowest), ""), "\n")
	for _, at := range pathWord.FindAllStringSubmatchIndex(s, -1) {
		path := s[at[2]:at[3]]
		if slices.ContainsFunc(whole, func(l string) bool { return strings.Contains(l, path) }) {
			continue
		}
		if before := strings.TrimRight(s[:at[2]], " "); before != "" {
			lines = t.wrap(before, w)
		}
		lines = append(lines, path)
		if rest := strings.TrimLeft(s[at[3]:], " ;,."); rest != "" {
			lines = append(lines, t.wrap(rest, w)...)
		}
		return lines
	}
	for _, l := range whole {
		lines = append(lines, t.fit(l, w))
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

// captured is a line of plain output or of a script, with the blanks in it.
func (t theme) captured(s string) string {
	return strings.TrimRight(t.safe(strings.ReplaceAll(s, "\t", "    ")), " ")
}

// span writes a duration for people: 0.4s, 30s, 1m48s, 2h05m.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute-time.Second/2:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// age writes how long ago something was.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours())/24)
}

// money writes millionths of a dollar.
func money(micros int64) string {
	if micros > 0 && micros < 5_000 {
		return "<$0.01"
	}
	return fmt.Sprintf("$%.2f", float64(micros)/1e6)
}

// count writes a number of tokens.
func count(n int64) string {
	switch {
	case n < 1_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.2fM", float64(n)/1e6)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
