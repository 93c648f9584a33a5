package tasklist

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// object is an object of JSON or YAML. Lists of other tools are read for what they hold:
// a value of an unexpected type is one that is not there.
type object map[string]any

// str is a text, or a number as its digits.
func (o object) str(key string) string { return scalar(o[key]) }

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

func (o object) list(key string) []any {
	l, _ := o[key].([]any)
	return l
}

// strs is a list of texts, or one text.
func (o object) strs(key string) []string {
	if one := o.str(key); one != "" {
		return []string{one}
	}
	var out []string
	for _, v := range o.list(key) {
		if s := scalar(v); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func objectOf(v any) object {
	m, _ := v.(map[string]any)
	return m
}

// others tells of every key with a value that is not among the known ones.
func (l *list) others(o object, id string, known ...string) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(known, key) && !empty(o[key]) {
			l.lose(id, key, noPlace)
		}
	}
}

// empty reports a value that says nothing.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// parse reads the values of a text: one, or one a line.
func parse(f File) ([]any, error) {
	text := strings.TrimPrefix(string(f.Source), "\ufeff")
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var all []any
	for strings.TrimLeft(text[dec.InputOffset():], blank) != "" {
		var v any
		if err := dec.Decode(&v); err != nil {
			off := int64(len(strings.TrimRight(text, blank))) // where the text ends too early
			if e, ok := errors.AsType[*json.SyntaxError](err); ok {
				off = max(dec.InputOffset(), e.Offset-1)
			}
			at := plan.Pos{Line: 1, Column: 1}.After(text[:min(int(off), len(text))])
			return nil, bad(f, at, plan.BadSyntax, "this is not JSON: "+err.Error(), "")
		}
		all = append(all, v)
	}
	return all, nil
}

// ofJSON says which kind of task list a text is that begins like JSON. A text that is cut
// off is known by its first value, which is all that is looked at.
func ofJSON(text string) Kind {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return ""
	}
	if l, ok := v.([]any); ok && len(l) > 0 {
		v = l[0]
	}
	o := objectOf(v)
	has := func(keys ...string) bool {
		return !slices.ContainsFunc(keys, func(k string) bool { _, ok := o[k]; return !ok })
	}
	switch {
	case o == nil || has("steps") || has("checklist"):
	case has("iid", "title"):
		return GitLab
	case has("id", "title", "status") && (has("issue_type") || has("priority") || has("created_at")), o.str("_type") == "issue" && has("id", "title"):
		return Beads
	case has("number", "title"):
		return GitHub
	case len(tagged(o)) > 0:
		return TaskMaster
	}
	return ""
}
