package form

import (
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// This file has the keys that are more than one value of the tree.

// indexField is the step's place in the list.
func indexField() field[row] {
	s := integer(0, plan.MaxSteps-1)
	return field[row]{
		key: "index", schema: s.schema, about: "The step's place in the list, counted from 0.",
		read: func(r *reader, n *node, to row) {
			if i, ok := s.read(r, n); ok && i != to.i {
				r.wrong(n, plan.BadIndex, "number the steps from 0, in their order", "the step has the index %d and is number %d of the list, counted from 0", i, to.i)
			}
		},
		write: func(s row) *node { return numbers(strconv.Itoa(s.i)) },
	}
}

// stepNumber is the number before the title, where it is not the usual one.
func stepNumber() field[row] {
	s := tested(`^[ \t\r\n]*[0-9Nn][0-9Nn+ –—-]*[ \t\r\n]*$`, plan.BadNumber, "write 1, 3–7, 3–N or N+1", "no number of a step", plan.ValidNumber)
	return field[row]{
		key: "number", schema: s.schema, about: "The number that people see, if it is not index + 1.",
		read: func(r *reader, n *node, to row) {
			if t, ok := s.read(r, n); ok {
				to.Number = t.Value
			}
		},
		write: func(s row) *node {
			if s.Number == "" || s.Number == strconv.Itoa(s.i+1) {
				return nil
			}
			return texts(s.Number)
		},
	}
}

// twins are words of two languages for the same.
type twins [][2]string

func (t twins) there(word string) string {
	for _, w := range t {
		if w[0] == word {
			return w[1]
		}
	}
	return ""
}

func (t twins) back(word string) string {
	for _, w := range t {
		if w[1] == word {
			return w[0]
		}
	}
	return ""
}

// planWords are the statuses of a plan's frontmatter and of the forms. The
// first of several is the one that comes back.
func planWords() twins {
	return twins{
		{"draft", "draft"},
		{"running", "in_progress"},
		{"done", "complete"},
		{"failed", "failed"},
		{"replanning", "replanning"},
		{"verified", "draft"},
		{"approved", "draft"},
		{"waiting", "in_progress"},
		{"paused", "in_progress"},
		{"cancelled", "failed"},
	}
}

func planStatus() field[header] {
	s := word("draft", "in_progress", "complete", "failed", "replanning")
	return field[header]{
		key: "status", schema: s.schema, about: "Shows how far a run is; writing it changes nothing.",
		read: func(r *reader, n *node, to header) {
			if w, ok := s.read(r, n); ok {
				setFront(to, "status", planWords().back(w), n.at)
			}
		},
		write: func(p header) *node {
			if w := planWords().there(p.Status()); w != "" {
				return texts(w)
			}
			return texts("draft")
		},
	}
}

// setFront gives a frontmatter entry its value.
func setFront(p *plan.Plan, name, value string, at plan.Pos) {
	for i := range p.Front {
		if p.Front[i].Name == name {
			p.Front[i].Value, p.Front[i].Pos = value, at
			return
		}
	}
	p.Front = append(p.Front, plan.Key{Name: name, Value: value, Pos: at})
}

func frontKey(key, usual, about string) field[header] {
	s := name()
	return field[header]{
		key: key, about: about, schema: s.schema,
		read: func(r *reader, n *node, to header) {
			if w, ok := s.read(r, n); ok {
				setFront(to, key, w, n.at)
			}
		},
		write: func(p header) *node {
			k, _ := p.Key(key)
			if k.Value == usual {
				return nil
			}
			return unlessEmpty(strings.Trim(k.Value, blank))
		},
	}
}

// otherKeys are entries of the frontmatter that mean nothing to a run.
func otherKeys() field[header] {
	return field[header]{
		key: "frontmatter", about: "Entries of the frontmatter that mean nothing to a run.",
		schema: func() *node {
			return schemaOf("type", "object", "propertyNames", schemaOf("pattern", `^[A-Za-z_][A-Za-z0-9_.-]*$`, "not", schemaOf("enum", []string{"type", "status", "owner"})), "additionalProperties", schemaOf("type", "string"))
		},
		read: readKeys,
		write: func(p header) *node {
			n := &node{kind: object}
			for _, k := range p.Front {
				if !reserved(k.Name) && validKey(k.Name) && n.get(k.Name) == nil {
					n.put(k.Name, texts(k.Value))
				}
			}
			if len(n.pairs) == 0 {
				return nil
			}
			return n
		},
	}
}

func reserved(key string) bool { return key == "type" || key == "status" || key == "owner" }

func validKey(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c|32 >= 'a' && c|32 <= 'z' || c == '_' || i > 0 && (c >= '0' && c <= '9' || c == '-' || c == '.') {
			continue
		}
		return false
	}
	return s != ""
}

func readKeys(r *reader, n *node, to header) {
	if !r.is(n, object) {
		return
	}
	for _, p := range n.pairs {
		switch {
		case !r.is(p.value, text):
		case !validKey(p.key) || reserved(p.key):
			r.problem(p.at, plan.Error, plan.UnknownField, "this cannot be an entry of the frontmatter", "use letters, digits, - and _; status and owner are keys of the plan")
		default:
			to.Front = append(to.Front, plan.Key{Name: p.key, Value: p.value.value, Pos: p.at})
		}
	}
}

// stepWords are the marks of steps and the statuses of the forms.
func stepWords(done string) twins {
	return twins{{string(plan.MarkDone), done}, {string(plan.MarkFailed), "failed"}, {string(plan.MarkSkipped), "skipped"}, {"", "pending"}, {string(plan.MarkWaiting), "pending"}}
}

func stepStatus() field[row] {
	return statusField(stepWords("complete"), "pending", "in_progress", "complete", "failed", "skipped")
}

// statusField shows how far a step is. A word without a mark is history.
func statusField(marks twins, words ...string) field[row] {
	s := word(words...)
	return field[row]{
		key: "status", schema: s.schema, about: "Shows how far the step is; writing it changes nothing.",
		read: func(r *reader, n *node, to row) {
			w, ok := s.read(r, n)
			to.Mark = plan.Mark(marks.back(w))
			if ok && marks.there(string(to.Mark)) != w {
				r.keep("status", n)
			}
		},
		write: func(s row) *node { return texts(marks.there(string(s.Mark))) },
	}
}

func choicesField() field[row] {
	s := listOf(running(), 0)
	return field[row]{
		key: "choices", schema: s.schema, about: "Answers that a person may choose from.",
		read: func(r *reader, n *node, to row) {
			choices, ok := s.read(r, n)
			if ok && to.Ask.IsZero() {
				r.wrong(n, plan.MissingField, "write `ask`", "there are choices and no question")
			}
			to.Choices = choices
		},
		write: func(from row) *node {
			if len(from.Choices) == 0 {
				return nil
			}
			return s.write(from.Choices)
		},
	}
}

func forEachField() field[row] {
	s := listOf(line(), 1)
	return field[row]{
		key: "forEach", label: "for each", schema: s.schema, about: "One instance of the step for each item: a glob, several names, or $step.",
		read: func(r *reader, n *node, to row) {
			if items, ok := s.read(r, n); ok {
				to.ForEach = plan.Field[plan.ForEach]{Value: plan.ForEach{Items: items}, Set: true, Pos: n.at}
			}
		},
		write: func(from row) *node {
			if !from.ForEach.Set {
				return nil
			}
			return s.write(from.ForEach.Value.Items)
		},
	}
}

// contractText is the contract's script. Asked for to be filled, it is there.
func contractText() fenced[row] {
	return fenced[row]{key: "contract", code: true, lang: "shell", text: func(s row) *plan.Text {
		if s.Contract == nil {
			return nil
		}
		return &s.Contract.Command
	}}
}

func contractField() field[row] {
	f := contractText().field("Shell that decides the step.")
	read := f.read
	f.read = func(r *reader, n *node, to row) {
		to.Contract = &plan.Contract{}
		if read(r, n, to); to.Contract.Command.IsZero() {
			to.Contract = nil
		}
	}
	return f
}

func exitCodeField() field[row] {
	s := integer(0, 255)
	return field[row]{
		key: "exitCode", label: "exit_code", schema: s.schema, about: "The exit code that the contract must have; 0 if absent.",
		read: func(r *reader, n *node, to row) {
			switch code, ok := s.read(r, n); {
			case !ok:
			case to.Contract == nil:
				r.wrong(n, plan.MissingField, "write `contract`", "there is an exit code and no contract")
			default:
				to.Contract.ExitCode = plan.Field[int]{Value: code, Set: true, Pos: n.at}
			}
		},
		write: func(from row) *node {
			if from.Contract == nil || !from.Contract.ExitCode.Set {
				return nil
			}
			return s.write(from.Contract.ExitCode.Value)
		},
	}
}

// checksField is the checklist: each check is an object.
func checksField() field[row] {
	s := listOf(check(), 1)
	return on("checks", "Commands of which all must pass that are not optional.", s, func(s row) *plan.Field[[]plan.Check] { return &s.Checks })
}

func checkFields() []field[*plan.Check] {
	checkName := tested(`^[^`+"`"+`*:()\[\]\n]+$`, plan.BadCheck, "write a name without :, ( and [", "no name of a check", plan.ValidCheck)
	command := fenced[*plan.Check]{key: "command", text: func(c *plan.Check) *plan.Text { return &c.Command }, code: true}
	plain := command.field("Shell.")
	return []field[*plan.Check]{
		at("name", "", checkName, func(c *plan.Check) *plan.Text { return &c.Name }).required(),
		{
			key: "command", about: plain.about, schema: plain.schema, must: true,
			read: func(r *reader, n *node, to *plan.Check) {
				plain.read(r, n, to)
				how, given := r.fences["command"]
				if bare := strings.Trim(to.Command.Value, blank); !given {
					if how = usualOfCheck(bare); !how.on {
						to.Command = plan.Text{Value: bare, Pos: to.Command.Pos}
					}
				}
				to.Command.Fenced, to.Command.Lang = how.on, how.lang
			},
			write: plain.write,
		},
		{
			key: "optional", about: "It need not pass.", schema: yesNo().schema,
			read: func(r *reader, n *node, to *plan.Check) { to.Optional, _ = yesNo().read(r, n) },
			write: func(c *plan.Check) *node {
				if c.Optional {
					return booleans(true)
				}
				return nil
			},
		},
		{
			key: "fence", layout: true, first: true, about: "The word behind the opening fence in Markdown, if the command stands in one.", schema: fenceSchema,
			read: func(r *reader, n *node, _ *plan.Check) {
				if f, ok := readFence(r, n); ok {
					r.fences = map[string]fence{"command": f}
				}
			},
			write: func(c *plan.Check) *node {
				f := fenceOf(&c.Command)
				if f == usualOfCheck(strings.Trim(c.Command.Value, blank)) {
					return nil
				}
				return writeFence(f)
			},
		},
	}
}

// usualOfCheck is how a command stands: on the line of its name if it is one line.
func usualOfCheck(command string) fence { return fence{on: strings.Contains(command, "\n")} }

func check() shape[plan.Check] {
	table := checkFields()
	return shape[plan.Check]{
		schema: func() *node { return objectSchema(table) },
		read: func(r *reader, n *node) (plan.Check, bool) {
			var c plan.Check
			ok := fieldsOf(r, n, &c, table)
			return c, ok && !c.Name.IsZero() && !c.Command.IsZero()
		},
		write: func(c plan.Check) *node { return objectOf(&c, table, nil) },
	}
}
