package form

import (
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// This file has the keys that are more than one value of the tree.

// indexField is the step's place in the list.
func indexField() field[row] {
	return bound("index", "The step's place in the list, counted from 0.", integer(0, plan.MaxSteps-1),
		func(s row) (int, bool) { return s.i, true },
		func(r *reader, n *node, to row, i int) {
			if i != to.i {
				r.wrong(n, plan.BadIndex, "number the steps from 0, in their order", "the step has the index %d and is number %d of the list, counted from 0", i, to.i)
			}
		})
}

// stepNumber is the number before the title, where it is not the usual one.
func stepNumber() field[row] {
	s := tested(`^[ \t\r\n]*[0-9Nn][0-9Nn+ –—-]*[ \t\r\n]*$`, plan.BadNumber, "write 1, 3–7, 3–N or N+1", "no number of a step", plan.ValidNumber)
	return bound("number", "The number that people see, if not index + 1.", s,
		func(s row) (plan.Text, bool) {
			return plan.Text{Value: s.Number}, s.Number != "" && s.Number != strconv.Itoa(s.i+1)
		},
		func(_ *reader, _ *node, to row, t plan.Text) { to.Number = t.Value })
}

// ownerField is the entry of the frontmatter.
func ownerField() field[header] {
	return bound("owner", "The agent role that owns the plan.", name(),
		func(p header) (string, bool) {
			owner := strings.Trim(p.Owner(), blank)
			return owner, owner != "" && owner != "orchestrator"
		},
		func(_ *reader, n *node, to header, w string) {
			k := slices.IndexFunc(to.Front, func(k plan.Key) bool { return k.Name == "owner" })
			to.Front[k].Value, to.Front[k].Pos = w, n.at
		})
}

// statusField shows how far something is. A word that says more than the first
// one is a mark, which proves nothing and is not taken over.
func statusField[T any](words ...string) field[T] {
	s := word(words...)
	return field[T]{
		key: "status", schema: s.schema, about: "A mark, which proves nothing. It is not taken over.",
		read: func(r *reader, n *node, _ T) {
			if w, ok := s.read(r, n); ok && w != words[0] && (len(r.marked) == 0 || r.marked[len(r.marked)-1] != r.place) {
				r.marked = append(r.marked, r.place)
			}
		},
		write: func(T) *node { return texts(words[0]) },
	}
}

func choicesField() field[row] {
	return bound("choices", "Answers to choose from.", listOf(running(), 0),
		func(s row) (lines, bool) { return s.Choices, len(s.Choices) > 0 },
		func(r *reader, n *node, to row, choices lines) {
			if to.Ask.IsZero() {
				r.wrong(n, plan.MissingField, "write `ask`", "there are choices and no question")
			}
			to.Choices = choices
		})
}

func forEachField() field[row] {
	return bound("forEach", "One instance of the step for each item: a glob, several names, or $step.", listOf(line(), 1),
		func(s row) (lines, bool) { return s.ForEach.Value.Items, s.ForEach.Set },
		func(_ *reader, n *node, to row, items lines) {
			to.ForEach = plan.Field[plan.ForEach]{Value: plan.ForEach{Items: items}, Set: true, Pos: n.at}
		}).as("for each")
}

func contractField() field[row] {
	f := script("contract", "Shell that decides the step.", func(s row) *plan.Text {
		if s.Contract == nil {
			s.Contract = &plan.Contract{}
		}
		return &s.Contract.Command
	})
	write := f.write
	f.write = func(from row) *node {
		if from.Contract == nil {
			return nil
		}
		return write(from)
	}
	f.text = nil
	return f
}

func exitCodeField() field[row] {
	return bound("exitCode", "The exit code that the contract must have; 0 if absent.", integer(0, 255),
		func(s row) (int, bool) {
			if s.Contract == nil {
				return 0, false
			}
			return s.Contract.ExitCode.Value, s.Contract.ExitCode.Set
		},
		func(r *reader, n *node, to row, code int) {
			if to.Contract == nil {
				r.wrong(n, plan.MissingField, "write `contract`", "there is an exit code and no contract")
				return
			}
			to.Contract.ExitCode = plan.Field[int]{Value: code, Set: true, Pos: n.at}
		}).as("exit_code")
}

// checksField is the checklist: each check is an object.
func checksField() field[row] {
	s := listOf(check(), 1)
	return on("checks", "Commands that must all pass, except the optional ones.", s, func(s row) *plan.Field[[]plan.Check] { return &s.Checks })
}

func checkFields() []field[*plan.Check] {
	checkName := tested(`^[^`+"`"+`*:()\[\]\n]+$`, plan.BadCheck, "write a name without :, ( and [", "no name of a check", plan.ValidCheck)
	command := at("command", "Shell. build, lint and test need none: what the workspace has for them is run.", verbatim(), func(c *plan.Check) *plan.Text { return &c.Command })
	read := command.read
	command.read = func(r *reader, n *node, to *plan.Check) {
		read(r, n, to)
		if to.Command.Fenced = true; !strings.Contains(strings.Trim(to.Command.Value, blank), "\n") {
			to.Command = plan.Text{Value: strings.Trim(to.Command.Value, blank), Pos: to.Command.Pos}
		}
	}
	write := command.write
	command.write = func(from *plan.Check) *node {
		if from.Command.IsZero() {
			return nil
		}
		if one := strings.Trim(from.Command.Value, blank); !strings.Contains(one, "\n") {
			return texts(one)
		}
		return write(from)
	}
	return []field[*plan.Check]{
		at("name", "", checkName, func(c *plan.Check) *plan.Text { return &c.Name }).required(),
		command,
		bound("optional", "It need not pass.", yesNo(), func(c *plan.Check) (bool, bool) { return true, c.Optional },
			func(_ *reader, _ *node, to *plan.Check, v bool) { to.Optional = v }),
	}
}

func check() shape[plan.Check] {
	table := checkFields()
	return shape[plan.Check]{
		schema: func() *node {
			s := objectSchema(table)
			found := schemaOf("properties", schemaOf("name", schemaOf("enum", []string{"build", "lint", "test"})))
			s.put("anyOf", &node{kind: list, items: []*node{schemaOf("required", []string{"command"}), found}})
			return s
		},
		read: func(r *reader, n *node) (plan.Check, bool) {
			var c plan.Check
			ok := fieldsOf(r, n, &c, table)
			if n.get("command") == nil && !c.Name.IsZero() && !plan.Found(c.Name.Value) {
				r.wrong(n, plan.MissingField, "write `command`", "the check %q has no command", c.Name.Value)
			}
			return c, ok && !c.Name.IsZero() && (!c.Command.IsZero() || plan.Found(c.Name.Value))
		},
		write: func(c plan.Check) *node { return objectOf(&c, table, nil) },
	}
}
