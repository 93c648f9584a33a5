package form

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/plan"
)

// shape is the type of a value: its JSON Schema, and how a node becomes a V and
// a V a node.
type shape[V any] struct {
	schema func() *node
	read   func(r *reader, n *node) (V, bool)
	write  func(V) *node
}

// is reports whether a value is of a kind, and says so if not.
func (r *reader) is(n *node, k kind) bool {
	if n.kind == k {
		return true
	}
	hint := ""
	switch {
	case n.kind == null:
		hint = "leave the key out instead"
	case k == text && n.kind != list && n.kind != object:
		hint = "put it in quotes"
	}
	r.wrong(n, plan.WrongType, hint, "this is %s; it must be %s", n.kind, k)
	return false
}

// schemaOf writes a schema: keys and values by turns.
func schemaOf(words ...any) *node {
	n := &node{kind: object}
	for i := 0; i < len(words); i += 2 {
		n.put(words[i].(string), literalOf(words[i+1]))
	}
	return n
}

func literalOf(v any) *node {
	switch v := v.(type) {
	case *node:
		return v
	case string:
		return texts(v)
	case bool:
		return booleans(v)
	case int:
		return numbers(strconv.Itoa(v))
	case []string:
		n := &node{kind: list}
		for _, s := range v {
			n.items = append(n.items, texts(s))
		}
		return n
	}
	return &node{}
}

const blank = " \t\r\n"

// running is text of any length. It begins and ends with something.
func running() shape[plan.Text] {
	return shape[plan.Text]{
		schema: func() *node { return schemaOf("type", "string", "pattern", `[^ \t\r\n]`) },
		read: func(r *reader, n *node) (plan.Text, bool) {
			if !r.is(n, text) || r.blank(n) {
				return plan.Text{}, false
			}
			return trimmed(n), true
		},
		write: func(t plan.Text) *node {
			value, _ := trim(t.Value)
			return texts(value)
		},
	}
}

func (r *reader) blank(n *node) bool {
	if strings.Trim(n.value, blank) != "" {
		return false
	}
	r.wrong(n, plan.EmptyLabel, "fill it in or remove it", "the text is empty")
	return true
}

// trimmed is a text without blank lines before and white space behind it.
func trimmed(n *node) plan.Text {
	value, skipped := trim(n.value)
	m := node{kind: text, value: value, at: n.at, lines: n.lines[skipped : skipped+strings.Count(value, "\n")+1]}
	if !m.lines[0].IsValid() {
		m.lines = append([]plan.Pos{n.at}, m.lines[1:]...)
	}
	return m.asText()
}

// trim takes blank lines off the beginning of a text, which it counts, and white
// space off its end.
func trim(s string) (string, int) {
	s = strings.TrimRight(s, blank)
	for skipped := 0; ; skipped++ {
		first, rest, more := strings.Cut(s, "\n")
		if !more || strings.Trim(first, blank) != "" {
			return s, skipped
		}
		s = rest
	}
}

// verbatim is text that is shown in a fenced block. One line end at its end is
// the syntax's and not its own.
func verbatim() shape[plan.Text] {
	s := running()
	s.read = func(r *reader, n *node) (plan.Text, bool) {
		if !r.is(n, text) || r.blank(n) {
			return plan.Text{}, false
		}
		m := *n
		if value, cut := strings.CutSuffix(n.value, "\n"); cut {
			m.value, m.lines = value, n.lines[:len(n.lines)-1]
		}
		if len(m.value) > plan.MaxContract {
			r.wrong(n, plan.ScriptTooLong, "put it into a script file", "the text has %d bytes; at most %d are allowed", len(m.value), plan.MaxContract)
		}
		return m.asText(), true
	}
	s.write = func(t plan.Text) *node {
		if strings.HasSuffix(t.Value, "\n") {
			return texts(t.Value + "\n")
		}
		return texts(t.Value)
	}
	return s
}

// line is text of one line.
func line() shape[plan.Text] {
	s := running()
	s.schema = func() *node {
		return schemaOf("type", "string", "pattern", `^[ \t\r\n]*[^ \t\r\n]([^\n]*[^ \t\r\n])?[ \t\r\n]*$`)
	}
	multi := s.read
	s.read = func(r *reader, n *node) (plan.Text, bool) {
		t, ok := multi(r, n)
		if ok && strings.Contains(t.Value, "\n") {
			r.wrong(n, plan.SeveralLines, "make it one line", "the text has several lines")
			return t, false
		}
		t.Value = strings.TrimLeft(t.Value, blank)
		return t, ok
	}
	return s
}

// name is one line as a word.
func name() shape[string] { return worded(line()) }

// worded is a line without its place.
func worded(s shape[plan.Text]) shape[string] {
	return shape[string]{
		schema: s.schema,
		read: func(r *reader, n *node) (string, bool) {
			t, ok := s.read(r, n)
			return t.Value, ok
		},
		write: texts,
	}
}

// word is one of a few.
func word(words ...string) shape[string] {
	all := strings.Join(words, ", ")
	return shape[string]{
		schema: func() *node { return schemaOf("enum", words) },
		read: func(r *reader, n *node) (string, bool) {
			if !r.is(n, text) {
				return "", false
			}
			if !slices.Contains(words, n.value) {
				r.wrong(n, plan.BadWord, "write one of "+all, "%q is not one of %s", n.value, all)
				return "", false
			}
			return n.value, true
		},
		write: texts,
	}
}

//go:noinline // else each field has a copy of what is in it
func integer(least, most int) shape[int] {
	return shape[int]{
		schema: func() *node { return schemaOf("type", "integer", "minimum", least, "maximum", most) },
		read: func(r *reader, n *node) (int, bool) {
			if !r.is(n, number) {
				return 0, false
			}
			i, err := strconv.Atoi(n.value)
			if err != nil || i < least || i > most {
				r.wrong(n, plan.BadNumber, fmt.Sprintf("write a number from %d to %d", least, most), "%s is no whole number from %d to %d", n.value, least, most)
				return 0, false
			}
			return i, true
		},
		write: func(i int) *node { return numbers(strconv.Itoa(i)) },
	}
}

func yesNo() shape[bool] {
	return shape[bool]{
		schema: func() *node { return schemaOf("type", "boolean") },
		read: func(r *reader, n *node) (bool, bool) {
			return n.value == "true", r.is(n, boolean)
		},
		write: booleans,
	}
}

// spelt is a line with a grammar of its own.
func spelt[V any](pattern, code, hint string, parse func(string) (V, error), write func(V) string) shape[V] {
	form := regexp.MustCompile(pattern)
	return shape[V]{
		schema: func() *node { return schemaOf("type", "string", "pattern", pattern) },
		read: func(r *reader, n *node) (V, bool) {
			var v V
			if !r.is(n, text) {
				return v, false
			}
			v, err := parse(n.value)
			if err == nil && !form.MatchString(n.value) {
				err = fmt.Errorf("%q cannot be read", n.value)
			}
			if err != nil {
				r.Add(n.at, plan.Error, code, err.Error(), hint)
			}
			return v, err == nil
		},
		write: func(v V) *node { return texts(write(v)) },
	}
}

func duration() shape[time.Duration] {
	return spelt(`^ *[0-9][0-9a-zA-Z. ]*$`, plan.BadDuration, "write 10m, 90s or 1h30m", plan.ParseDuration, plan.FormatDuration)
}

func backoff() shape[time.Duration] {
	return spelt(`^(none| *[0-9][0-9a-zA-Z. ]*)$`, plan.BadDuration, "write none, 1s or 5m",
		func(s string) (time.Duration, error) {
			if s == "none" {
				return 0, nil
			}
			return plan.ParseDuration(s)
		},
		func(d time.Duration) string {
			if d == 0 {
				return "none"
			}
			return plan.FormatDuration(d)
		})
}

func itself(s string) string { return s }

func network() shape[string] {
	return spelt(`^[^\n]+$`, plan.BadWord, "write yes, no, contract, or hosts such as api.example.org, *.example.org", plan.ParseNetwork, itself)
}

func permissions() shape[string] {
	return spelt(`^[^\n]+$`, plan.BadWord, "write allow, ask or deny, or rules such as allow run go test, ask", plan.NormalPermissions, itself)
}

func budget() shape[plan.Budget] {
	return spelt(`[0-9] *[a-zA-Z]|\$ *[0-9]`, plan.BadBudget, "write max 200k tokens, $1.50, 20 minutes: any of these", plan.ParseBudget, plan.Budget.String)
}

func onFail() shape[plan.OnFail] {
	return spelt(`^ *(retry\([0-9]{1,3}\)(, then (escalate|abort|skip|replan))?|escalate|abort|skip|replan) *$`, plan.BadOnFail,
		"write retry(2), then escalate (or abort, skip, replan)", plan.ParseOnFail, plan.OnFail.String)
}

func stepID() shape[string] {
	return worded(checked(`^[ \t\r\n]*[a-z0-9][a-z0-9_-]{0,79}[ \t\r\n]*$`, func(r *reader, n *node, s string) bool {
		if !plan.ValidID(s) {
			r.wrong(n, plan.BadID, "write lower-case letters, digits and hyphens", "%q cannot be an id; %q could", s, plan.Slug(s))
		}
		return plan.ValidID(s)
	}))
}

func variable() shape[plan.Text] {
	return tested(`^[ \t\r\n]*[A-Za-z_][A-Za-z0-9_]*[ \t\r\n]*$`, plan.BadEnv, "write names only; values come from the environment", "no name of a variable", plan.ValidVariable)
}

// tested is a line that must pass a test.
func tested(pattern, code, hint, what string, valid func(string) bool) shape[plan.Text] {
	return checked(pattern, func(r *reader, n *node, s string) bool {
		if !valid(s) {
			r.wrong(n, code, hint, "%q is %s", s, what)
		}
		return valid(s)
	})
}

// checked is a line that must pass a check, which reports what is wrong; pattern is what
// the schema says of it.
func checked(pattern string, check func(r *reader, n *node, s string) bool) shape[plan.Text] {
	s := line()
	s.schema = func() *node { return schemaOf("type", "string", "pattern", pattern) }
	read := s.read
	s.read = func(r *reader, n *node) (plan.Text, bool) {
		t, ok := read(r, n)
		return t, ok && check(r, n, t.Value)
	}
	return s
}

// listOf is a list. Items that cannot be read are left out.
func listOf[V any](of shape[V], least int) shape[[]V] {
	return shape[[]V]{
		schema: func() *node {
			n := schemaOf("type", "array", "maxItems", plan.MaxItems, "items", of.schema())
			if least > 0 {
				n.put("minItems", literalOf(least))
			}
			return n
		},
		read: func(r *reader, n *node) ([]V, bool) {
			if !r.is(n, list) {
				return nil, false
			}
			switch {
			case len(n.items) > plan.MaxItems:
				r.wrong(n, plan.TooManyItems, "use a glob, or split the step", "the list has more than %d items", plan.MaxItems)
				return nil, false
			case len(n.items) < least:
				r.wrong(n, plan.EmptyLabel, "fill it in or remove it", "the list is empty")
				return nil, false
			}
			var out []V
			for _, item := range n.items {
				if v, ok := of.read(r, item); ok {
					out = append(out, v)
				}
			}
			return out, true
		},
		write: func(vs []V) *node {
			n := &node{kind: list}
			for _, v := range vs {
				n.items = append(n.items, of.write(v))
			}
			return n
		},
	}
}

// subscription is `file:path`, `map:directory`, `topic:name` or `step:id`.
func subscription() shape[plan.Subscription] {
	s := tested(`^[ \t\r\n]*(file|map|topic|step):[^\n]*[^ \t\r\n][ \t\r\n]*$`, plan.BadSubscription, "write file:path, map:directory, topic:name or step:id", "no subscription",
		func(s string) bool {
			kind, ref, ok := strings.Cut(s, ":")
			return ok && plan.Subscribable(kind) && strings.Trim(ref, blank) != ""
		})
	return shape[plan.Subscription]{
		schema: s.schema,
		read: func(r *reader, n *node) (plan.Subscription, bool) {
			t, ok := s.read(r, n)
			kind, ref, _ := strings.Cut(t.Value, ":")
			return plan.Subscription{Kind: kind, Ref: strings.Trim(ref, blank), Pos: t.Pos}, ok
		},
		write: func(s plan.Subscription) *node { return texts(s.Kind + ":" + s.Ref) },
	}
}
