package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
	"github.com/piton-dev/piton/internal/verify"
)

// Name is what a draft is called in findings.
const Name = "plan.md"

// maxReasoning bounds what is kept of a model's reasons, in bytes.
const maxReasoning = 16 << 10

// read finds the plan in an answer: Markdown or another form of a plan, bare or
// fenced, or one of these in an object {plan, reasoning, changes}; or an object {abort}
// without one. The problem says, to the model, why there is none.
func read(answer string) (d Draft, problem string) {
	answer = strings.TrimSpace(strings.TrimPrefix(strings.ReplaceAll(answer, "\r\n", "\n"), "\ufeff"))
	if strings.HasPrefix(answer, "{") {
		return readJSON(answer)
	}
	inside, around, fenced := unfence(answer)
	if !fenced {
		inside, around = bare(answer)
	}
	if inside == "" {
		return d, "the answer has no plan: a plan is a Markdown document that begins with frontmatter between two lines of ---"
	}
	if strings.HasPrefix(inside, "{") {
		d, problem = readJSON(inside)
	} else {
		d, problem = markdown(inside)
	}
	if d.Reasoning == "" {
		d.Reasoning = cut(around)
	}
	return d, problem
}

// object is an answer with the reasons beside the plan.
type object struct {
	Plan      json.RawMessage `json:"plan"`
	Reasoning json.RawMessage `json:"reasoning"`
	Changes   json.RawMessage `json:"changes"`
	Abort     json.RawMessage `json:"abort"`
}

// readJSON reads an object with a plan in it, or a plan in a form of JSON.
func readJSON(text string) (d Draft, problem string) {
	var o object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return d, "the answer begins like JSON and is none: " + err.Error()
	}
	inside, words := string(o.Plan), ""
	textual := json.Unmarshal(o.Plan, &words) == nil // null too
	if o.Plan == nil || textual && strings.TrimSpace(words) == "" {
		if d.Abort = cut(said(o.Abort)); d.Abort != "" {
			return d, ""
		}
	}
	if o.Plan == nil {
		return markdown(text)
	}
	if textual {
		inside = strings.TrimSpace(words)
		if unfenced, _, fenced := unfence(inside); fenced {
			inside = unfenced
		}
	}
	d, problem = markdown(inside)
	d.Reasoning, d.Changes = cut(said(o.Reasoning)), cut(said(o.Changes))
	return d, problem
}

// said is a text, or a list of texts, as lines.
func said(raw json.RawMessage) string {
	var text string
	if raw == nil || json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, "\n")
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return b.String()
}

// markdown is a plan of any form as the document that people read.
func markdown(text string) (d Draft, problem string) {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	source := []byte(text)
	if form.Of(source) == form.Markdown {
		return Draft{Source: source}, ""
	}
	doc, problems := form.Read(Name, source)
	for _, p := range problems {
		if p.Severity == plan.Error {
			return d, fmt.Sprintf("line %d, column %d of the answer: %s", p.Pos.Line, p.Pos.Column, p.Message)
		}
	}
	if doc.Plan == nil {
		return d, "the answer is no plan"
	}
	written, losses, err := doc.Write(form.Markdown)
	if err != nil {
		return d, "the answer cannot be written as a plan in Markdown: " + err.Error()
	}
	d.Source = written
	for _, l := range losses {
		d.Findings = append(d.Findings, verify.Finding{
			Code: "form", Severity: verify.Note, File: Name, Line: 1, Column: 1, Message: "the answer was no Markdown, which cannot hold this of it: " + l.String(),
		})
	}
	return d, ""
}

var (
	fenceLine  = lazy.Regexp("^(`{3,}|~{3,})[ \t]*([A-Za-z0-9_-]*)[ \t]*$")
	stepLine   = lazy.Regexp(`(?m)^### `)
	documented = map[string]bool{"": true, "markdown": true, "md": true, "json": true, "yaml": true, "yml": true, "plan": true}
)

// unfence finds a document between fences, and what is said around it. A plan has
// fences of its own, which may be as long as the one around it: those that name a
// language open one more.
func unfence(answer string) (inside, around string, fenced bool) {
	lines := strings.Split(answer, "\n")
	open := -1
	for i, line := range lines {
		if m := fenceLine().FindStringSubmatch(line); m != nil && documented[m[2]] && begins(lines[i+1:]) {
			open = i
			break
		}
		if plainStart(line) {
			return "", "", false // the document begins without one
		}
	}
	if open < 0 {
		return "", "", false
	}
	end := closing(lines, open)
	inside = strings.TrimSpace(strings.Join(lines[open+1:end], "\n"))
	around = strings.Join(lines[:open], "\n")
	if end+1 < len(lines) {
		around += "\n" + strings.Join(lines[end+1:], "\n")
	}
	return inside, strings.TrimSpace(around), true
}

// begins reports whether a document begins with these lines.
func begins(lines []string) bool {
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			return plainStart(line) || strings.HasPrefix(line, "{") || strings.HasPrefix(line, "title:") || strings.HasPrefix(line, "steps:")
		}
	}
	return false
}

func plainStart(line string) bool { return line == "---" || strings.HasPrefix(line, "# ") }

// closing is the line that closes the fence on line open: where the fences between
// are balanced and no step follows, else the last one that can.
func closing(lines []string, open int) int {
	bar := fenceLine().FindStringSubmatch(lines[open])[1]
	inner, last, first := "", len(lines), -1
	for i := open + 1; i < len(lines); i++ {
		m := fenceLine().FindStringSubmatch(lines[i])
		switch {
		case m == nil:
			continue
		case inner != "":
			if m[2] == "" && m[1][0] == inner[0] && len(m[1]) >= len(inner) {
				inner = ""
				if closes(m, bar) {
					last = i
				}
			}
			continue
		case m[2] != "":
			inner = m[1]
			continue
		case closes(m, bar):
			if last = i; first < 0 {
				first = i
			}
		}
	}
	if first >= 0 && !stepLine().MatchString(strings.Join(lines[first+1:], "\n")) {
		return first
	}
	return last
}

func closes(m []string, bar string) bool {
	return m[2] == "" && m[1][0] == bar[0] && len(m[1]) >= len(bar)
}

// bare is a document without fences, and what is said before it.
func bare(answer string) (inside, around string) {
	lines := strings.Split(answer, "\n")
	for i, line := range lines {
		if plainStart(line) {
			return strings.Join(lines[i:], "\n"), strings.TrimSpace(strings.Join(lines[:i], "\n"))
		}
	}
	if f := form.Of([]byte(answer)); f != form.Markdown {
		return answer, ""
	}
	return "", ""
}

// cut bounds a text of a model.
func cut(s string) string {
	if s = strings.TrimSpace(s); len(s) <= maxReasoning {
		return s
	}
	return strings.ToValidUTF8(s[:maxReasoning], "") + "…"
}
