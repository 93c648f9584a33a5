package page

import (
	"encoding/json"
	"strings"
	"testing"
)

// A form makes the value that it shows, and what a person changes of it. What is wrong is said
// at its field.
func TestFields(t *testing.T) {
	const call = `{"path":"a.txt","content":"x\ny","deep":true,"count":3,"tags":["a"]}`
	const poll = `{"type":"object","required":["who"],"properties":{"who":{"type":"string","description":"Their name"},"age":{"type":"integer"},"sure":{"type":"boolean"},"how":{"enum":["post","mail"]}}}`
	for name, c := range map[string]struct {
		shown, schema string
		sent          map[string]string
		want          string
		wrong         string // the field, and what is said of it
	}{
		"as shown":            {call, "", nil, call, ""},
		"a line":              {call, "", map[string]string{"args.path": "b.txt", "args.deep": "true"}, strings.Replace(call, "a.txt", "b.txt", 1), ""},
		"several lines":       {call, "", map[string]string{"args.content": "x\r\nz", "args.deep": "true"}, strings.Replace(call, `x\ny`, `x\nz`, 1), ""},
		"a box":               {call, "", map[string]string{"args.path": "a.txt"}, strings.Replace(call, "true", "false", 1), ""},
		"a number":            {call, "", map[string]string{"args.count": "12345678901234567890", "args.deep": "true"}, strings.Replace(call, "3", "12345678901234567890", 1), ""},
		"no number":           {call, "", map[string]string{"args.count": "many"}, "", "args.count This is no number."},
		"no number at all":    {call, "", map[string]string{"args.count": ""}, "", "args.count This is wanted."},
		"not JSON":            {call, "", map[string]string{"args.tags": "[a"}, "", "args.tags This is no JSON"},
		"JSON":                {call, "", map[string]string{"args.tags": "[ ]", "args.deep": "true"}, strings.Replace(call, `["a"]`, "[]", 1), ""},
		"of a schema":         {"", poll, map[string]string{"args.who": "Ann", "args.age": "7", "args.sure": "true", "args.how": "mail"}, `{"who":"Ann","age":7,"sure":true,"how":"mail"}`, ""},
		"the least":           {"", poll, map[string]string{"args.who": "Ann", "args.age": "", "args.how": ""}, `{"who":"Ann"}`, ""},
		"a whole number":      {"", `{"type":"integer"}`, map[string]string{"args": "3"}, "3", ""},
		"no whole number":     {"", `{"type":"integer"}`, map[string]string{"args": "three"}, "", "args This is no number."},
		"one of several":      {"", `{"enum":["a","b"]}`, map[string]string{"args": "b"}, `"b"`, ""},
		"a key with a quote":  {`{"a\"b":"c"}`, "", nil, `{"a\"b":"c"}`, ""},
		"a word with a quote": {`{"a":"b"}`, "", map[string]string{"args.a": `"`}, `{"a":"\""}`, ""},
	} {
		var shown json.RawMessage
		if c.shown != "" {
			shown = json.RawMessage(c.shown)
		}
		all := entries(shown, c.schema)
		sent := c.sent
		if sent == nil {
			sent = map[string]string{"args.deep": "true"}
		}
		got, fields, err := filledIn(all, func(name string) (string, bool) { text, ok := sent[name]; return text, ok })
		wrong := ""
		for _, f := range fields {
			if f.Wrong != "" {
				wrong = f.Name + " " + f.Wrong
			}
		}
		if (err != nil) != (c.wrong != "") || !strings.HasPrefix(wrong, c.wrong) || err == nil && string(got) != c.want {
			t.Errorf("%s: %s, %v, %q; want %s, %q", name, got, err, wrong, c.want, c.wrong)
		}
	}
	for _, schema := range []string{"", `{"type":"array"}`, `{}`} {
		if all := entries(nil, schema); len(all) > 0 {
			t.Errorf("%s has the fields %v", schema, all)
		}
	}
}
