package verify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
)

func checkClaim(p *pass, u *unit) {
	if f, known := p.facts.Tools[u.Tool.Value]; u.Tool.Set && known && f.Foreign && !u.provable() {
		p.report(u, u.Tool.Pos, fmt.Sprintf("step %q has no contract, but what %s returns is only a claim", u.ID.Value, u.Tool.Value),
			"add a `contract:` that checks what the call should have done")
	}
}

func checkTool(p *pass, u *unit) {
	if !u.Tool.Set {
		if !u.Args.IsZero() {
			p.report(u, u.Args.Pos, fmt.Sprintf("step %q has `args` but no `tool`", u.ID.Value), "add `tool:` with the name of the tool")
		}
		return
	}
	fact, known := p.facts.Tools[u.Tool.Value]
	if known && fact.Missing {
		near := plan.Closest(u.Tool.Value, p.facts.toolNames())
		f := p.report(u, u.Tool.Pos, fmt.Sprintf("step %q calls the tool %q, which does not exist", u.ID.Value, u.Tool.Value), cmp.Or(plan.Meant(near), "piton tools lists them"))
		p.renamed(f, u.Tool.Pos, u.Tool.Value, near)
	}
	c := calling{p, u}
	if u.unfit != nil {
		p.report(u, u.Args.Pos, fmt.Sprintf("the arguments of step %q cannot be read: %v", u.ID.Value, u.unfit), "write a JSON object")
		return
	}
	if _, object := c.unit.args.Value.(map[string]any); !object {
		c.wrong("", "", "the arguments must be an object, not %s", typeName(c.unit.args.Value))
		return
	}
	if known && !fact.Missing {
		c.fits(fact.Input, c.unit.args.Value, "")
	}
	c.references()
	c.mentions()
	c.spliced()
}

// spliced refuses an item or an output in the text of a command, where it could
// say anything.
func (c calling) spliced() {
	object, _ := c.unit.args.Value.(map[string]any)
	command, ok := object["command"].(string)
	if !ok || c.unit.Tool.Value != runCommand {
		return
	}
	if ref, whole := engine.ParseRef(command); whole {
		c.splice(ref.String(), engine.Variable(ref.Step))
	}
	if c.unit.ForEach.Set && strings.Contains(command, engine.ItemMark) {
		c.splice(engine.ItemMark, engine.ItemVariable)
	}
}

// splice reports a value in the text of a command.
func (c calling) splice(value, variable string) {
	c.wrong("/command", fmt.Sprintf("write \"$1\" there, and give the value as `\"args\": [%q]`; a script, as `target: script`, finds it as \"$%s\"", value, variable),
		"%s is in the text of a command; values are not inserted there, because they could contain commands", value)
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
}

// wrong reports what is wrong at a place in the arguments.
func (c calling) wrong(at, hint, format string, a ...any) *Finding {
	where := "args"
	if at != "" {
		where = "args " + at
	}
	pos, ok := c.unit.args.Places[at]
	for up := at; !ok && up != ""; {
		up = up[:strings.LastIndexByte(up, '/')]
		pos, ok = c.unit.args.Places[up]
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
		c.wrong(at, "", "%s is required, not %s", strings.Join(want, " or "), typeName(v))
		return
	}
	if !s.allows(v) {
		c.wrong(at, "", "this must be one of %s", s.words())
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
	for _, name := range slices.Sorted(maps.Keys(v)) {
		inner := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		sub, ok := s.Properties[name]
		if !ok && string(s.More) == "false" {
			c.wrong(inner, plan.Nearest(name, s.keys()), "%s takes no argument %q; it takes %s", c.unit.Tool.Value, name, strings.Join(s.keys(), ", "))
			continue
		}
		c.fits(sub, v[name], inner)
	}
}

func (s schema) keys() []string { return slices.Sorted(maps.Keys(s.Properties)) }

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
	for at, ref := range engine.Refs(c.unit.args.Value) {
		from := d.byID()[ref.Step]
		if from == nil {
			c.wrong(at, cmp.Or(p.refs.hint(ref.Step, d.ids), "write $$ if you mean a dollar"), "%s is not the output of a step", ref)
			continue
		}
		p.waitedFor(c.unit, from.index, ref.String(), c.unit.args.Places[at])
		if why := p.misses(ref, from); why != "" {
			c.wrong(at, "", "%s", why)
		}
	}
}

var idInText = lazy.Regexp(`\$[a-z0-9][a-z0-9_-]*`)

// mentions warns of what looks like a reference inside of a longer text, where it
// is none.
func (c calling) mentions() {
	for at, text := range engine.Texts(c.unit.args.Value) {
		if _, whole := engine.ParseRef(text); whole {
			continue
		}
		for _, found := range idInText().FindAllStringIndex(text, -1) {
			id := strings.TrimRight(text[found[0]+1:found[1]], "_-")
			escaped := found[0] > 0 && text[found[0]-1] == '$'
			if escaped || c.pass.doc.byID()[id] == nil || c.unit.Tool.Value == runCommand && assigns(text, id) {
				continue
			}
			if c.unit.Tool.Value == runCommand && at == "/command" {
				c.splice("$"+id, engine.Variable(id))
				continue
			}
			c.wrong(at, "make $"+id+" the whole of a string, or build the text in a script, which finds the output as "+engine.Variable(id),
				"$%s is inside a longer text, so it is not replaced by an output", id).Severity = Warning
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

func checkRefused(p *pass, u *unit) {
	if !u.literal() {
		return
	}
	w := p.facts.Calls[u.call().String()]
	c := calling{p, u}
	switch {
	case w.Refused != "" && u.Tool.Value == "web_fetch":
		c.wrong("", "add the host to `web_fetch.allow` in the configuration, or remove the step", "the call is always refused: %s", w.Refused)
	case w.Refused != "":
		c.wrong("", "name a path below the workspace, outside .git and .piton", "the call is always refused: %s", w.Refused)
	}
	for _, file := range w.Targets {
		if u.Writes.Set && !covered(file, writes(u)) {
			c.wrong("", fmt.Sprintf("add %s to the `writes:` of the step", file), "%s is outside the step's `writes:`, so the call is always refused", file)
		}
	}
}

// literal reports whether the plan has all that the step's tool is called with.
func (u *unit) literal() bool {
	return u.Tool.Set && u.unfit == nil && !(u.ForEach.Set && strings.Contains(u.Args.Value, engine.ItemMark)) && u.call() != Call{}
}
