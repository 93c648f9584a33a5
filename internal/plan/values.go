package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// read puts a value into the tree and reports whether it could.
func (p *parser) read(v *value) bool {
	if p.section == inHeader {
		return p.readHeader(v, p.plan)
	}
	return p.readWork(v, p.step) || p.readProof(v, p.step) || p.readScope(v, p.step)
}

func (p *parser) readHeader(v *value, to *Plan) bool {
	switch v.spec.name {
	case "context":
		return p.running(v, &to.Context)
	case "budget":
		return p.budget(v, &to.Budget)
	case "priority":
		return p.word(v, &to.Priority, "critical", "high", "normal", "low", "idle")
	case "constraints":
		return p.sentences(v, &to.Constraints)
	case "tags":
		return p.atoms(v, &to.Tags)
	case "complexity":
		return p.number(v, &to.Complexity, 1, 10)
	case "memories":
		return p.sentences(v, &to.Memories)
	case "estimate":
		return p.duration(v, &to.Estimate)
	case "parallel":
		return p.number(v, &to.Parallel, 1, MaxSteps)
	case "replans":
		return p.number(v, &to.Replans, 0, 1000)
	case "protect":
		return p.atoms(v, &to.Protect)
	case "isolation":
		return p.word(v, &to.Isolation, "sealed", "fenced")
	case "workspace":
		return p.word(v, &to.Workspace, "shared", "worktree")
	case "setup":
		return p.block(v, &to.Setup, "shell", "sh", "bash")
	}
	return false
}

// readWork reads the labels that say what the step does.
func (p *parser) readWork(v *value, to *Step) bool {
	switch v.spec.name {
	case "id":
		return p.id(v, to)
	case "target":
		return p.free(v, &to.Target)
	case "needs":
		return p.needs(v, to)
	case "subscriptions":
		return p.subscriptions(v)
	case "task":
		return p.running(v, &to.Task)
	case "acceptance":
		return p.sentences(v, &to.Acceptance)
	case "tool":
		return p.free(v, &to.Tool)
	case "args":
		return p.block(v, &to.Args, "json", "yaml", "yml")
	case "plan":
		return p.short(v, &to.Plan)
	case "ask":
		return p.ask(v, to)
	case "when":
		return p.short(v, &to.When)
	case "for each":
		return p.forEach(v, to)
	case "batch":
		return p.number(v, &to.Batch, 1, 100_000)
	case "schema":
		return p.block(v, &to.Schema, "json", "yaml", "yml")
	}
	return false
}

// readProof reads the labels that decide whether the step is done.
func (p *parser) readProof(v *value, to *Step) bool {
	switch v.spec.name {
	case "contract":
		return p.contract(v)
	case "checks":
		return p.checks(v)
	case "judge":
		return p.running(v, &to.Judge)
	case "expect":
		return p.word(v, &to.Expect, "any", "red", "green")
	case "on_fail":
		return given(p, v, &to.OnFail, BadOnFail, "write retry(2), then escalate (or abort, skip, replan)", ParseOnFail)
	case "backoff":
		return p.backoff(v, to)
	case "iterations":
		return p.iterations(v, to)
	case "critical":
		return p.yesNo(v, &to.Critical)
	case "timeout":
		return p.duration(v, &to.Timeout)
	case "contract timeout":
		return p.duration(v, &to.CheckTimeout)
	case "holds":
		return p.word(v, &to.Holds, "run", "step")
	case "rerunnable":
		return p.yesNo(v, &to.Rerunnable)
	case "strong":
		return p.yesNo(v, &to.Strong)
	}
	return false
}

// readScope reads the labels that say what the step may do and use.
func (p *parser) readScope(v *value, to *Step) bool {
	switch v.spec.name {
	case "approval":
		return p.free(v, &to.Approval)
	case "writes":
		return p.atoms(v, &to.Writes)
	case "protect":
		return p.atoms(v, &to.Protect)
	case "budget":
		return p.budget(v, &to.Budget)
	case "mode":
		return p.word(v, &to.Mode, "read", "edit", "full")
	case "network":
		return p.word(v, &to.Network, "yes", "no", "contract")
	case "env":
		return p.env(v, to)
	case "workspace":
		return p.word(v, &to.Workspace, "shared", "worktree")
	case "setup":
		return p.block(v, &to.Setup, "shell", "sh", "bash")
	case "isolation":
		return p.word(v, &to.Isolation, "sealed", "fenced")
	case "status":
		p.problem(p.at(&v.line, v.line.text), Warning, BadStatus, "Piton writes no such status", "leave it to the harness")
	}
	return false
}

// scalar reads a value of one line: the label's own, or else the first below
// it. What follows is prose.
func (p *parser) scalar(v *value) (Text, bool) {
	t := unquoted(p.inline(v))
	rest := textBuilder{src: p.src}
	block := false
	for l := range p.lines(v) {
		switch {
		case !t.IsZero() || block || l.kind == blankLine:
			rest.add(l.start, l.end, Pos{l.num, 1})
		case l.kind == fenceOpen:
			block = true
			p.problem(p.at(l, l.text), Error, UnexpectedFence, fmt.Sprintf("%q is one line, not a block", v.spec.name), "write it after the label")
			rest.add(l.start, l.end, Pos{l.num, 1})
		default:
			t = unquoted(p.trimmed(l, l.text, l.end))
		}
	}
	left := rest.text()
	if v.closer != "" && !left.IsZero() {
		left = left.followed(v.closer)
	}
	p.leave(left)
	if t.IsZero() && !block {
		p.empty(v)
	}
	return t, !t.IsZero()
}

// given reads a value of one line with a parser of its own.
func given[T any](p *parser, v *value, to *Field[T], code, hint string, parse func(string) (T, error)) bool {
	t, ok := p.scalar(v)
	if !ok {
		return false
	}
	value, err := parse(t.Value)
	if err != nil {
		p.problem(t.Pos, Error, code, fmt.Sprintf("%s: %v", v.spec.name, err), hint)
		return false
	}
	*to = Field[T]{value, true, t.Pos}
	return true
}

// free reads a value of one line as it is.
func (p *parser) free(v *value, to *Field[string]) bool {
	return given(p, v, to, "", "", func(s string) (string, error) { return s, nil })
}

func (p *parser) word(v *value, to *Field[string], words ...string) bool {
	all := strings.Join(words, ", ")
	return given(p, v, to, BadWord, "write one of "+all, func(s string) (string, error) {
		for _, w := range words {
			if strings.EqualFold(s, w) {
				return w, nil
			}
		}
		return "", fmt.Errorf("%q is not one of %s", s, all)
	})
}

func (p *parser) yesNo(v *value, to *Field[bool]) bool {
	return given(p, v, to, BadWord, "write yes or no", func(s string) (bool, error) {
		switch strings.ToLower(s) {
		case "yes", "true":
			return true, nil
		case "no", "false":
			return false, nil
		}
		return false, fmt.Errorf("%q is neither yes nor no", s)
	})
}

func (p *parser) number(v *value, to *Field[int], least, most int) bool {
	return given(p, v, to, BadNumber, fmt.Sprintf("write a number from %d to %d", least, most), func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("%q is not a number from %d to %d", s, least, most)
		}
		return n, nil
	})
}

func (p *parser) duration(v *value, to *Field[time.Duration]) bool {
	return given(p, v, to, BadDuration, "write 10m, 90s or 1h30m", ParseDuration)
}

func (p *parser) budget(v *value, to *Field[Budget]) bool {
	return given(p, v, to, BadBudget, "write max 200k tokens, $1.50, 20 minutes: any of these", ParseBudget)
}

func (p *parser) backoff(v *value, to *Step) bool {
	return given(p, v, &to.Backoff, BadDuration, "write none, 1s or 5m", func(s string) (time.Duration, error) {
		if strings.EqualFold(s, "none") {
			return 0, nil
		}
		return ParseDuration(s)
	})
}

// iterations is a number, and 10 if there is only the label.
func (p *parser) iterations(v *value, to *Step) bool {
	if p.inline(v).IsZero() && v.body == v.end {
		to.Iterations = Field[int]{DefaultLoops, true, p.at(&v.line, v.line.text)}
		return true
	}
	return p.number(v, &to.Iterations, 1, 1000)
}

func (p *parser) id(v *value, to *Step) bool {
	return given(p, v, &to.ID, BadID, "write lower-case letters, digits and hyphens", func(s string) (string, error) {
		if !validID(s) {
			return "", fmt.Errorf("%q cannot be an id; %q could", s, Slug(s))
		}
		return s, nil
	})
}

// running reads text of any length.
func (p *parser) running(v *value, to *Text) bool {
	t := p.text(v)
	if strings.Trim(t.Value, white+"\n") == "" {
		p.empty(v)
		return false
	}
	*to = t
	return true
}

// short reads text that is often one line of code.
func (p *parser) short(v *value, to *Text) bool {
	if !p.running(v, to) {
		return false
	}
	*to = to.Code()
	return true
}

// needs reads numbers and ids; `none` is an empty list.
func (p *parser) needs(v *value, to *Step) bool {
	l := p.list(v)
	items := p.atomsOf(v, l, atomsOfLine)
	for i, t := range items {
		items[i] = reference(t)
	}
	return p.setList(v, &to.Needs, slices.DeleteFunc(items, Text.IsZero), l)
}

// reference takes off what people write around a number: [1, 2], #1, step 1.
func reference(t Text) Text {
	from, to := 0, len(t.Value)
	for more := true; more && from < to; {
		var rest string
		rest, more = cutFold(strings.TrimLeft(t.Value[from:], white+"[#"), "step ")
		from = len(t.Value) - len(rest)
	}
	for from < to && strings.IndexByte(white+"]", t.Value[to-1]) >= 0 {
		to--
	}
	return t.slice(0, 0, from, max(from, to))
}

func (p *parser) forEach(v *value, to *Step) bool {
	var items Field[[]Text]
	if !p.atoms(v, &items) || len(items.Value) == 0 {
		return false
	}
	to.ForEach = Field[ForEach]{ForEach{items.Value}, true, items.Pos}
	return true
}

// env reads names of variables.
func (p *parser) env(v *value, to *Step) bool {
	var all Field[[]Text]
	if !p.atoms(v, &all) {
		return false
	}
	var names []Text
	for _, t := range all.Value {
		if !variable(t.Value) {
			p.problem(t.Pos, Error, BadEnv, fmt.Sprintf("%q is not the name of a variable", t.Value), "write names only; values come from the environment")
			continue
		}
		names = append(names, t)
	}
	if len(names) == 0 && len(all.Value) > 0 {
		return false
	}
	to.Env = Field[[]Text]{names, true, all.Pos}
	return true
}

func variable(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|32 < 'a' || c|32 > 'z') && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// ask reads a question and the bullets below it, which are its choices.
func (p *parser) ask(v *value, to *Step) bool {
	question, choices := *v, *v
	choices.value, choices.written.end = 0, 0
	choices.body = v.end
	for l := range p.lines(v) {
		if l.kind == bulletLine && l.indent <= 3 || l.kind == fenceOpen && l.item && l.indent <= 3 {
			question.end, choices.body, choices.line = l.start, l.start, *l
			choices.line.num = l.num - 1
			question.closer = ""
			break
		}
	}
	if !p.running(&question, &to.Ask) {
		return false
	}
	if choices.body < v.end {
		to.Choices = slices.Clone(p.list(&choices).bullet)
	}
	return true
}
