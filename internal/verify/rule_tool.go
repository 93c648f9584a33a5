package verify

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
)

func ruleTool() Rule {
	return Rule{
		ID: "PT066", Name: "tool", Severity: Error,
		Title: "a tool cannot be called so",
		Text: "The tool must be one of `piton tools`, the arguments an object that fits its input schema, and each " +
			"`$reference` the output of another step, which this one then waits for, with the keys that the output schema of " +
			"that step's tool has. A reference is a whole string: `$id` inside of a longer text is a warning, since it stays " +
			"as it is. The tools of a server are not asked before the plan is approved, because that would " +
			"start the server: their arguments are checked when the step is due.",
		Bad:  "**tool:** write_fil\n**args:**\n```json\n{\"path\": \"notes.md\", \"content\": \"\"}\n```",
		Good: "**tool:** write_file\n**args:**\n```json\n{\"path\": \"notes.md\", \"content\": \"\"}\n```",
		step: checkTool,
	}
}

func ruleClaim() Rule {
	return Rule{
		ID: "PT067", Name: "claim", Severity: Warning,
		Title: "nothing stands behind what a foreign tool says",
		Text: "What a tool of a server returns is what that server claims. Without a contract, or a required check, the " +
			"step is done when the server says so, and counts as unproven.",
		Bad:  "**tool:** tracker.close_issue\n**args:**\n```json\n{\"id\": 7}\n```",
		Good: "**tool:** tracker.close_issue\n**args:**\n```json\n{\"id\": 7}\n```\n**contract:**\n```shell\ngrep -q closed issue-7.txt\n```",
		step: checkClaim,
	}
}

func checkClaim(p *pass, u *unit) {
	if f, known := p.facts.Tools[u.Tool.Value]; u.Tool.Set && known && f.Foreign && !u.provable() {
		p.report(u, u.Tool.Pos, fmt.Sprintf("step %q has no contract, and what %s returns is only a claim", u.ID.Value, u.Tool.Value),
			"add a `contract:` that looks at what the call should have done")
	}
}

func checkTool(p *pass, u *unit) {
	if !u.Tool.Set {
		if !u.Args.IsZero() {
			p.report(u, u.Args.Pos, fmt.Sprintf("step %q has `args` and no `tool`", u.ID.Value), "name the tool that is to be called")
		}
		return
	}
	fact, known := p.facts.Tools[u.Tool.Value]
	if known && fact.Missing {
		p.report(u, u.Tool.Pos, fmt.Sprintf("step %q calls the tool %q, which there is not", u.ID.Value, u.Tool.Value), hintOr(plan.Nearest(u.Tool.Value, p.facts.toolNames()), "piton tools lists them"))
	}
	c := calling{p, u, u.args}
	if u.unfit != nil {
		p.report(u, u.Args.Pos, fmt.Sprintf("the arguments of step %q cannot be read: %v", u.ID.Value, u.unfit), "write a JSON object")
		return
	}
	if _, object := c.args.Value.(map[string]any); !object {
		c.wrong("", "", "an object is wanted, and this is %s", typeName(c.args.Value))
		return
	}
	if known && !fact.Missing {
		c.fits(fact.Input, c.args.Value, "")
	}
	c.references()
	c.mentions()
}

func hintOr(near, otherwise string) string {
	if near != "" {
		return near
	}
	return otherwise
}

func (f Facts) toolNames() []string {
	var names []string
	for name, t := range f.Tools {
		if !t.Missing {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// calling is a step's call of a tool, as it is checked.
type calling struct {
	pass *pass
	unit *unit
	args plan.Arguments
}

// wrong reports what is wrong at a place in the arguments.
func (c calling) wrong(at, hint, format string, a ...any) *Finding {
	where := "args"
	if at != "" {
		where = "args " + at
	}
	pos, ok := c.args.Places[at]
	for up := at; !ok && up != ""; {
		up = up[:strings.LastIndexByte(up, '/')]
		pos, ok = c.args.Places[up]
	}
	return c.pass.report(c.unit, pos, fmt.Sprintf("step %q, %s: %s", c.unit.ID.Value, where, fmt.Sprintf(format, a...)), hint)
}

// schema is the part of a JSON Schema that can be judged before the values of
// the references are known. The registry checks all of it before the call.
type schema struct {
	Type       json.RawMessage            `json:"type"`
	Required   []string                   `json:"required"`
	Properties map[string]json.RawMessage `json:"properties"`
	More       json.RawMessage            `json:"additionalProperties"`
	Items      json.RawMessage            `json:"items"`
	Enum       []any                      `json:"enum"`
}

// fits checks a value against a schema. A reference fits anything.
func (c calling) fits(text json.RawMessage, v any, at string) {
	var s schema
	if word, ok := v.(string); ok {
		if _, refers := engine.ParseRef(word); refers {
			return
		}
		v = engine.Literal(word)
	}
	if len(text) == 0 || json.Unmarshal(text, &s) != nil {
		return
	}
	if want := s.types(); len(want) > 0 && !slices.ContainsFunc(want, func(t string) bool { return isType(t, v) }) {
		c.wrong(at, "", "%s is wanted, and this is %s", strings.Join(want, " or "), typeName(v))
		return
	}
	if !s.allows(v) {
		c.wrong(at, "", "this is none of %s", s.words())
	}
	switch v := v.(type) {
	case map[string]any:
		c.object(s, v, at)
	case []any:
		for i, e := range v {
			c.fits(s.Items, e, at+"/"+strconv.Itoa(i))
		}
	}
}

func (c calling) object(s schema, v map[string]any, at string) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			c.wrong(at, "", "%q is missing", name)
		}
	}
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		inner := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		sub, ok := s.Properties[name]
		if !ok && string(s.More) == "false" {
			c.wrong(inner, plan.Nearest(name, s.keys()), "%s takes no argument %q; it takes %s", c.unit.Tool.Value, name, strings.Join(s.keys(), ", "))
			continue
		}
		c.fits(sub, v[name], inner)
	}
}

func (s schema) keys() []string {
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// types are those that the schema names; none where it names none.
func (s schema) types() (list []string) {
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return []string{one}
	}
	json.Unmarshal(s.Type, &list) //nolint:errcheck // what it cannot say, it does not ask for
	return list
}

func (s schema) allows(v any) bool {
	if len(s.Enum) == 0 {
		return true
	}
	word, err := json.Marshal(v)
	return err != nil || slices.ContainsFunc(s.Enum, func(e any) bool {
		other, err := json.Marshal(e)
		return err == nil && string(other) == string(word)
	})
}

func (s schema) words() string {
	var list []string
	for _, e := range s.Enum {
		list = append(list, fmt.Sprint(e))
	}
	return strings.Join(list, ", ")
}

func isType(want string, v any) bool {
	switch v := v.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case json.Number:
		return want == "number" || want == "integer" && !strings.ContainsAny(v.String(), ".eE")
	case []any:
		return want == "array"
	}
	return want == "object"
}

func typeName(v any) string {
	for _, t := range []string{"null", "boolean", "string", "number", "array"} {
		if isType(t, v) {
			return t
		}
	}
	return "object"
}

// references checks what the arguments refer to.
func (c calling) references() {
	p, d := c.pass, c.pass.doc
	for at, ref := range engine.Refs(c.args.Value) {
		from := d.byID()[ref.Step]
		if from == nil {
			c.wrong(at, hintOr(p.refs.hint(ref.Step, d.ids), "write $$ where a dollar is meant"), "%s is the output of no step", ref)
			continue
		}
		p.waitedFor(c.unit, from.index, ref.String(), c.args.Places[at])
		if why := p.misses(ref, from); why != "" {
			c.wrong(at, "", "%s", why)
		}
	}
}

var idInText = regexp.MustCompile(`\$[a-z0-9][a-z0-9_-]*`)

// mentions warns of what looks like a reference inside of a longer text, where it
// is none.
func (c calling) mentions() {
	for at, text := range engine.Texts(c.args.Value) {
		if _, whole := engine.ParseRef(text); whole {
			continue
		}
		for _, found := range idInText.FindAllStringIndex(text, -1) {
			id := strings.TrimRight(text[found[0]+1:found[1]], "_-")
			escaped := found[0] > 0 && text[found[0]-1] == '$'
			if escaped || c.pass.doc.byID()[id] == nil || c.unit.Tool.Value == runCommand && assigns(text, id) {
				continue
			}
			c.wrong(at, "make $"+id+" the whole of a string, or build the text in a script, which finds the output as "+engine.Variable(id),
				"$%s is inside of a longer text, where it stands for itself and not for an output", id).Severity = Warning
		}
	}
}

// assigns reports whether a script gives a variable of the name a value.
func assigns(script, name string) bool {
	return strings.Contains(script, name+"=") || strings.Contains(script, "for "+name+" ") || strings.Contains(script, "read "+name)
}

// misses says why the output of a step can have nothing that a reference to it
// names, "" if it may.
func (p *pass) misses(ref engine.Ref, from *unit) string {
	text, whose := p.puts(from)
	var schema any
	if len(text) > 0 {
		schema, _ = engine.DecodeValue(text) //nolint:errcheck // a rule of its own speaks of a schema that is none
	}
	err := ref.Fits(schema)
	if from.ForEach.Set {
		err = ref.FitsEach(schema)
	}
	switch {
	case err == nil:
		return ""
	case schema == nil:
		return err.Error()
	}
	return fmt.Sprintf("%v (%s)", err, whose)
}

// puts is the schema of what the step, or each of its instances, puts out, and
// where it is from; nothing where that is not known.
func (p *pass) puts(u *unit) (schema []byte, whose string) {
	if !u.Schema.IsZero() {
		return []byte(u.Schema.Value), "the schema of step " + strconv.Quote(u.ID.Value)
	}
	return p.facts.Tools[u.Tool.Value].Output, u.Tool.Value
}
