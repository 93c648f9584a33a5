package plan

import (
	"strings"
	"unicode"
)

// section is the part of the document a line stands in.
type section uint8

const (
	inHeader section = 1 << iota
	inStep
	inNotes
)

// spec is one label of the format.
type spec struct {
	name  string
	where section
	soft  bool // harmless where it does not belong: there it is only text
	text  bool // takes running text, in which other bold words may stand
}

// table is every label of the format. Nothing changes it.
var table = [...]spec{
	{"context", inHeader, true, true},
	{"priority", inHeader, true, false},
	{"constraints", inHeader, true, false},
	{"tags", inHeader, true, false},
	{"complexity", inHeader, true, false},
	{"memories", inHeader, true, false},
	{"estimate", inHeader, true, false},
	{"parallel", inHeader, false, false},
	{"replans", inHeader, false, false},
	{"id", inStep, false, false},
	{"target", inStep, false, false},
	{"needs", inStep, false, false},
	{"subscriptions", inStep, false, false},
	{"task", inStep, false, true},
	{"acceptance", inStep, false, false},
	{"tool", inStep, false, false},
	{"args", inStep, false, false},
	{"plan", inStep, false, true},
	{"ask", inStep, false, true},
	{"when", inStep, false, true},
	{"for each", inStep, false, false},
	{"batch", inStep, false, false},
	{"contract", inStep, false, false},
	{"checks", inStep, false, false},
	{"judge", inStep, false, true},
	{"expect", inStep, false, false},
	{"on_fail", inStep, false, false},
	{"backoff", inStep, false, false},
	{"iterations", inStep, false, false},
	{"approval", inStep, false, false},
	{"critical", inStep, false, false},
	{"timeout", inStep, false, false},
	{"contract timeout", inStep, false, false},
	{"writes", inStep, false, false},
	{"protect", inHeader | inStep, false, false},
	{"budget", inHeader | inStep, false, false},
	{"mode", inStep, false, false},
	{"network", inStep, false, false},
	{"env", inStep, false, false},
	{"workspace", inHeader | inStep, false, false},
	{"setup", inHeader | inStep, false, false},
	{"isolation", inHeader | inStep, false, false},
	{"holds", inStep, false, false},
	{"rerunnable", inStep, false, false},
	{"strong", inStep, false, false},
	{"schema", inStep, false, false},
	{"status", inStep, true, false},
}

// role is what a label does where it stands.
type role uint8

const (
	known     role = iota // begins a value
	misplaced             // a label of another part of the document; begins a value that nobody reads
	misspelt              // close to a label's name; begins a value that nobody reads
	foreign               // bold words with a colon: text
	elsewhere             // foreign, but the name of a label of another part
)

// begins reports whether a label in this role ends the value before it even
// where that is running text.
func (r role) begins() bool { return r <= misspelt }

// written is a label as it stands on its line.
type written struct {
	key        string // normalised: lower case, blanks for _ and -
	value, end int    // the value on the same line, as offsets into it
}

// splitLabel reads `**key:** value`, `**key**: value` and `**key: value**`. It
// reports false for a line that is none of these.
func splitLabel(s string) (written, bool) {
	if len(s) < 5 || s[1] != s[0] || s[2] == s[0] {
		return written{}, false
	}
	n := strings.Index(s[2:], s[:2])
	if n <= 0 {
		return written{}, false
	}
	inner, after := s[2:2+n], 2+n+2
	colon := strings.IndexByte(inner, ':')
	w := written{value: after, end: len(s)}
	switch {
	case colon == n-1:
		inner = inner[:colon]
		if after < len(s) && s[after] == ':' {
			w.value++
		}
	case colon < 0:
		i := after
		for i < len(s) && isSpace(s[i]) {
			i++
		}
		if i == len(s) || s[i] != ':' {
			return written{}, false
		}
		w.value = i + 1
	case isBlank(s[after:]):
		w.value, w.end = 2+colon+1, 2+n
		inner = inner[:colon]
	default:
		return written{}, false
	}
	w.key = normal(inner)
	return w, w.key != ""
}

// normal is a label's key in the one spelling that is compared, or "" if it is
// too long for a key or holds what no key holds.
func normal(key string) string {
	switch {
	case len(key) > 64:
		return ""
	case plain(key):
		return strings.ReplaceAll(key, "_", " ")
	case strings.ContainsAny(key, "*`"):
		return ""
	}
	key = strings.Map(func(r rune) rune {
		switch r {
		case '_', '-':
			return ' '
		case '\\':
			return -1
		}
		return unicode.ToLower(r)
	}, key)
	return strings.Join(strings.Fields(key), " ")
}

// plain reports whether a key is lower-case letters in words, with one blank or
// underline between two of them.
func plain(key string) bool {
	letter := false
	for i := range len(key) {
		c := key[i]
		if (c < 'a' || c > 'z') && (c != ' ' && c != '_' || !letter) {
			return false
		}
		letter = c >= 'a' && c <= 'z'
	}
	return letter
}

// spelling of a canonical name as normal gives it.
func (s spec) key() string {
	if s.name == "on_fail" {
		return "on fail"
	}
	return s.name
}

func lookup(key string) (spec, bool) {
	if key == "foreach" {
		key = "for each"
	}
	for i := range table {
		if s := &table[i]; len(s.name) == len(key) && s.key() == key {
			return *s, true
		}
	}
	return spec{}, false
}

// roleOf says what a label does in a section. The spec is of the label itself,
// or of the one that was probably meant.
func roleOf(key string, in section) (role, spec) {
	s, ok := lookup(key)
	switch {
	case ok && s.where&in != 0:
		return known, s
	case ok && s.soft:
		return elsewhere, s
	case ok:
		return misplaced, s
	}
	if s, ok := meant(key); ok {
		return misspelt, s
	}
	return foreign, spec{}
}

// meant finds the label that an unknown key was probably meant to be.
func meant(key string) (spec, bool) {
	if s, ok := lookup(synonym(key)); ok {
		return s, true
	}
	limit := 1
	if len(key) >= 6 {
		limit = 2
	}
	best, found := spec{}, false
	letters := letterSet(key)
	for _, s := range table {
		k := s.key()
		if len(k)-len(key) > limit || len(key)-len(k) > limit || ones(letters^letterSet(k)) > 2*limit {
			continue
		}
		d := distance(key, k, limit)
		if swapped(key, k) {
			d = 1
		}
		if d <= limit {
			best, found, limit = s, true, d-1
		}
	}
	return best, found
}

// synonym gives the label for words that people use for one.
func synonym(key string) string {
	switch key {
	case "agent", "role":
		return "target"
	case "depends", "depends on", "dependencies", "blocked by":
		return "needs"
	case "acceptance criteria":
		return "acceptance"
	case "on failure", "on error", "retries", "retry":
		return "on fail"
	case "max iterations":
		return "iterations"
	case "scope", "write scope":
		return "writes"
	case "exit code":
		return "contract"
	case "step timeout":
		return "timeout"
	}
	return ""
}

// swapped reports two words of which two neighbours have changed places.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

func letterSet(s string) uint32 {
	var set uint32
	for i := range len(s) {
		set |= 1 << (s[i] & 31)
	}
	return set
}

func ones(set uint32) int {
	n := 0
	for ; set != 0; set &= set - 1 {
		n++
	}
	return n
}

// isStatus reports whether a line is a status as the harness writes it: at the
// start of the line, one of its words, and perhaps a reason in brackets.
func isStatus(s string) bool {
	if len(s) < len("**status:**") || s[:2] != "**" || s[2:8] != "status" {
		return false
	}
	w, ok := splitLabel(s)
	return ok && w.key == "status" && statusWord(trimmed(s[w.value:w.end]))
}

func statusWord(s string) bool {
	word, reason, found := strings.Cut(s, " (")
	if found && !strings.HasSuffix(reason, ")") {
		return false
	}
	switch word {
	case "pending", "blocked", "ready", "running", "waiting", "done", "failed", "skipped", "waived", "regressed":
		return true
	}
	return false
}
