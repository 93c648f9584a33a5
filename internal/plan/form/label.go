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
		key: "number", schema: s.schema, about: "The number that people see, if not index + 1.",
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

// ownerField is the entry of the frontmatter.
func ownerField() field[header] {
	s := name()
	return field[header]{
		key: "owner", about: "The agent role that owns the plan.", schema: s.schema,
		read: func(r *reader, n *node, to header) {
			if w, ok := s.read(r, n); ok {
				k := slices.IndexFunc(to.Front, func(k plan.Key) bool { return k.Name == "owner" })
				to.Front[k].Value, to.Front[k].Pos = w, n.at
			}
		},
		write: func(p header) *node {
			if p.Owner() == "orchestrator" {
				return nil
			}
			return unlessEmpty(strings.Trim(p.Owner(), blank))
		},
	}
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
	s := listOf(running(), 0)
	return field[row]{
		key: "choices", schema: s.schema, about: "Answers to choose from.",
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
	return on("checks", "Commands that must all pass, except the optional ones.", s, func(s row) *plan.Field[[]plan.Check] { return &s.Checks })
}

func checkFields() []field[*plan.Check] {
	checkName := tested(`^[^`+"`"+`*:()\[\]\n]+$`, plan.BadCheck, "write a name without :, ( and [", "no name of a check", plan.ValidCheck)
	command := at("command", "Shell.", verbatim(), func(c *plan.Check) *plan.Text { return &c.Command }).required()
	read := command.read
	command.read = func(r *reader, n *node, to *plan.Check) {
		read(r, n, to)
		if to.Command.Fenced = true; !strings.Contains(strings.Trim(to.Command.Value, blank), "\n") {
			to.Command = plan.Text{Value: strings.Trim(to.Command.Value, blank), Pos: to.Command.Pos}
		}
	}
	write := command.write
	command.write = func(from *plan.Check) *node {
		if one := strings.Trim(from.Command.Value, blank); !strings.Contains(one, "\n") {
			return texts(one)
		}
		return write(from)
	}
	return []field[*plan.Check]{
		at("name", "", checkName, func(c *plan.Check) *plan.Text { return &c.Name }).required(),
		command,
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
	}
}

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
