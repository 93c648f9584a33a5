package plan

import (
	"slices"
	"strings"
	"unicode"
)

// section is the part of the document a line stands in.
type section uint8

const (
	inHeader section = iota
	inStep
	inNotes
)

// spec is one label of the format in one part of the document.
type spec struct {
	name  string
	where section
	soft  bool // harmless where it does not belong: there it is only text
	text  bool // takes running text, in which other bold words may stand
	grammar
	at func(*Plan, *Step) any // its place in the tree
}

// table is every label of the format, in the order in which [Format] writes
// them. Nothing changes it.
var table = [...]spec{
	{"context", inHeader, true, true, running{}, func(p *Plan, _ *Step) any { return &p.Context }},
	{"budget", inHeader, false, false, budget, func(p *Plan, _ *Step) any { return &p.Budget }},
	{"priority", inHeader, true, false, word("critical", "high", "normal", "low", "idle"), func(p *Plan, _ *Step) any { return &p.Priority }},
	{"tags", inHeader, true, false, atoms{}, func(p *Plan, _ *Step) any { return &p.Tags }},
	{"complexity", inHeader, true, false, number(1, 10), func(p *Plan, _ *Step) any { return &p.Complexity }},
	{"estimate", inHeader, true, false, duration, func(p *Plan, _ *Step) any { return &p.Estimate }},
	{"parallel", inHeader, false, false, number(1, MaxSteps), func(p *Plan, _ *Step) any { return &p.Parallel }},
	{"replans", inHeader, false, false, number(0, 1000), func(p *Plan, _ *Step) any { return &p.Replans }},
	{"protect", inHeader, false, false, atoms{}, func(p *Plan, _ *Step) any { return &p.Protect }},
	{"isolation", inHeader, false, false, isolation, func(p *Plan, _ *Step) any { return &p.Isolation }},
	{"permissions", inHeader, false, false, permissions, func(p *Plan, _ *Step) any { return &p.Permissions }},
	{"workspace", inHeader, false, false, workspace, func(p *Plan, _ *Step) any { return &p.Workspace }},
	{"commit", inHeader, false, false, word("step", "run", "none"), func(p *Plan, _ *Step) any { return &p.Commit }},
	{"land", inHeader, false, false, yesNo, func(p *Plan, _ *Step) any { return &p.Land }},
	{"constraints", inHeader, true, false, sentences{}, func(p *Plan, _ *Step) any { return &p.Constraints }},
	{"memories", inHeader, true, false, sentences{}, func(p *Plan, _ *Step) any { return &p.Memories }},
	{"setup", inHeader, false, false, shellBlock, func(p *Plan, _ *Step) any { return &p.Setup }},

	{"status", inStep, true, false, status{}, func(_ *Plan, s *Step) any { return &s.Status }},
	{"id", inStep, false, false, id, func(_ *Plan, s *Step) any { return &s.ID }},
	{"target", inStep, false, false, free, func(_ *Plan, s *Step) any { return &s.Target }},
	{"fallback", inStep, false, false, free, func(_ *Plan, s *Step) any { return &s.Fallback }},
	{"tool", inStep, false, false, free, func(_ *Plan, s *Step) any { return &s.Tool }},
	{"needs", inStep, false, false, needs{}, func(_ *Plan, s *Step) any { return &s.Needs }},
	{"when", inStep, false, true, short{}, func(_ *Plan, s *Step) any { return &s.When }},
	{"for each", inStep, false, false, forEach{}, func(_ *Plan, s *Step) any { return &s.ForEach }},
	{"batch", inStep, false, false, number(1, 100_000), func(_ *Plan, s *Step) any { return &s.Batch }},
	{"allow_empty", inStep, false, false, yesNo, func(_ *Plan, s *Step) any { return &s.AllowEmpty }},
	{"mode", inStep, false, false, word("read", "edit", "full"), func(_ *Plan, s *Step) any { return &s.Mode }},
	{"network", inStep, false, false, network, func(_ *Plan, s *Step) any { return &s.Network }},
	{"env", inStep, false, false, env{}, func(_ *Plan, s *Step) any { return &s.Env }},
	{"workspace", inStep, false, false, workspace, func(_ *Plan, s *Step) any { return &s.Workspace }},
	{"isolation", inStep, false, false, isolation, func(_ *Plan, s *Step) any { return &s.Isolation }},
	{"approval", inStep, false, false, free, func(_ *Plan, s *Step) any { return &s.Approval }},
	{"critical", inStep, false, false, yesNo, func(_ *Plan, s *Step) any { return &s.Critical }},
	{"timeout", inStep, false, false, duration, func(_ *Plan, s *Step) any { return &s.Timeout }},
	{"budget", inStep, false, false, budget, func(_ *Plan, s *Step) any { return &s.Budget }},
	{"iterations", inStep, false, false, iterations{number(1, 1000)}, func(_ *Plan, s *Step) any { return &s.Iterations }},
	{"context limit", inStep, false, false, contextLimit, func(_ *Plan, s *Step) any { return &s.ContextLimit }},
	{"writes", inStep, false, false, atoms{}, func(_ *Plan, s *Step) any { return &s.Writes }},
	{"protect", inStep, false, false, atoms{}, func(_ *Plan, s *Step) any { return &s.Protect }},
	{"subscriptions", inStep, false, false, subscriptions{}, func(_ *Plan, s *Step) any { return &s.Subscriptions }},
	{"task", inStep, false, true, running{below: true}, func(_ *Plan, s *Step) any { return &s.Task }},
	{"ask", inStep, false, true, ask{}, func(_ *Plan, s *Step) any { return s }},
	{"plan", inStep, false, true, short{}, func(_ *Plan, s *Step) any { return &s.Plan }},
	{"args", inStep, false, false, dataBlock, func(_ *Plan, s *Step) any { return &s.Args }},
	{"schema", inStep, false, false, dataBlock, func(_ *Plan, s *Step) any { return &s.Schema }},
	{"setup", inStep, false, false, shellBlock, func(_ *Plan, s *Step) any { return &s.Setup }},
	{"acceptance", inStep, false, false, sentences{}, func(_ *Plan, s *Step) any { return &s.Acceptance }},
	{"checks", inStep, false, false, checks{}, func(_ *Plan, s *Step) any { return &s.Checks }},
	{"judge", inStep, false, true, running{}, func(_ *Plan, s *Step) any { return &s.Judge }},
	{"contract", inStep, false, false, contract{}, func(_ *Plan, s *Step) any { return &s.Contract }},
	{"contract timeout", inStep, false, false, duration, func(_ *Plan, s *Step) any { return &s.CheckTimeout }},
	{"expect", inStep, false, false, word("any", "red", "green"), func(_ *Plan, s *Step) any { return &s.Expect }},
	{"on_fail", inStep, false, false, onFail, func(_ *Plan, s *Step) any { return &s.OnFail }},
	{"backoff", inStep, false, false, backoff, func(_ *Plan, s *Step) any { return &s.Backoff }},
	{"holds", inStep, false, false, word("run", "step"), func(_ *Plan, s *Step) any { return &s.Holds }},
	{"reveal", inStep, false, false, word("first", "after-failure"), func(_ *Plan, s *Step) any { return &s.Reveal }},
	{"rerunnable", inStep, false, false, yesNo, func(_ *Plan, s *Step) any { return &s.Rerunnable }},
	{"strong", inStep, false, false, yesNo, func(_ *Plan, s *Step) any { return &s.Strong }},
}

// LabelPlace is a name of the format, and where it may stand.
type LabelPlace struct {
	Name   string
	Header bool // above the steps
	Step   bool // under a step's heading
}

// Labels lists every label of the format.
func Labels() []LabelPlace {
	var list []LabelPlace
	for _, s := range table {
		i := slices.IndexFunc(list, func(l LabelPlace) bool { return l.Name == s.name })
		if i < 0 {
			i, list = len(list), append(list, LabelPlace{Name: s.name})
		}
		list[i].Header = list[i].Header || s.where == inHeader
		list[i].Step = list[i].Step || s.where == inStep
	}
	return list
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

// key is the name as [normal] spells it.
func (s *spec) key() string { return strings.ReplaceAll(s.name, "_", " ") }

// lookup finds a label in a section, or else in another one; nil if there is none.
func lookup(key string, in section) *spec {
	if key == "foreach" {
		key = "for each"
	}
	var other *spec
	for i := range table {
		if s := &table[i]; len(s.name) == len(key) && s.key() == key {
			if other = s; s.where == in {
				break
			}
		}
	}
	return other
}

// roleOf says what a label does in a section. The spec is of the label itself,
// or of the one that was probably meant.
func roleOf(key string, in section) (role, *spec) {
	s := lookup(key, in)
	switch {
	case s == nil:
	case s.where == in:
		return known, s
	case s.soft:
		return elsewhere, s
	default:
		return misplaced, s
	}
	if s := meant(key); s != nil {
		return misspelt, s
	}
	return foreign, nil
}

// meant finds the label that an unknown key was probably meant to be.
func meant(key string) *spec {
	if s := lookup(synonym(key), inStep); s != nil {
		return s
	}
	limit := 1
	if len(key) >= 6 {
		limit = 2
	}
	var best *spec
	for i := range table {
		k := table[i].key()
		if len(k)-len(key) > limit || len(key)-len(k) > limit {
			continue
		}
		d := distance(key, k, limit)
		if d <= limit {
			best, limit = &table[i], d-1
		}
	}
	return best
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
