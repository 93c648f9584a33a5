package tasklist

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

// usualTag is the list that Task Master works on if nobody chooses another.
const usualTag = "master"

// tagged are the lists of a tasks.json by their tags; the only one of an older file has
// the usual tag.
func tagged(o object) map[string]object {
	lists := map[string]object{}
	if o["tasks"] != nil {
		if tasks := o.list("tasks"); tasks != nil {
			lists[usualTag] = o
		}
		return lists
	}
	for tag, v := range o {
		if in := objectOf(v); in.list("tasks") != nil {
			lists[tag] = in
		}
	}
	return lists
}

// taskMaster reads tasks.json.
func (l *list) taskMaster(f File, tag string) error {
	values, err := parse(f)
	if err != nil {
		return err
	}
	root := objectOf(values[0])
	lists := tagged(root)
	if tag == "" {
		if tag = usualTag; lists[tag] == nil {
			tag = slices.Sorted(maps.Keys(lists))[0]
		}
	}
	in, ok := lists[tag]
	if !ok {
		return bad(f, plan.Pos{Line: 1, Column: 1}, plan.MissingField, "there is no list with the tag "+strconv.Quote(tag), "the tags are "+strings.Join(slices.Sorted(maps.Keys(lists)), ", "))
	}
	for _, other := range slices.Sorted(maps.Keys(lists)) {
		if other != tag {
			l.lose("", "tag "+other, "one plan holds one list; --tag chooses it")
		}
	}
	l.named = true
	l.title = cmp.Or(objectOf(in["meta"]).str("projectName"), objectOf(in["metadata"]).str("projectName"), "Tasks of Task Master: "+tag)
	for _, v := range in.list("tasks") {
		l.masterTask(objectOf(v), "")
	}
	return nil
}

// masterTask adds a task with its subtasks, whose ids are behind that of the task.
func (l *list) masterTask(o object, parent string) {
	if o == nil {
		l.lose("", "task", "it is no object")
		return
	}
	t := task{id: o.str("id"), parent: parent, title: o.str("title"), body: paragraphs(o.str("description"), o.str("details")), acceptance: o.strs("testStrategy")}
	if parent != "" && !strings.Contains(t.id, ".") {
		t.id = parent + "." + t.id
	}
	for _, ref := range o.strs("dependencies") {
		if parent != "" && !strings.Contains(ref, ".") {
			ref = parent + "." + ref
		}
		t.needs = append(t.needs, ref)
	}
	t.said = said(o, "status", "priority", "complexity", "assignee")
	l.others(o, t.id, "id", "title", "description", "details", "testStrategy", "dependencies", "status", "priority", "complexity", "assignee", "subtasks", "parentTaskId", "parentId")
	l.add(t)
	for _, v := range o.list("subtasks") {
		l.masterTask(objectOf(v), t.id)
	}
}

// said is what keys say, for the reader.
func said(o object, keys ...string) []string {
	var out []string
	for _, k := range keys {
		if v := strings.Join(o.strs(k), ", "); v != "" {
			out = append(out, strings.ReplaceAll(k, "_", " ")+": "+v)
		}
	}
	return out
}

// paragraphs joins texts that say something.
func paragraphs(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return strings.TrimSpace(s) == "" }), "\n\n")
}

// entitled is a text with its name before it.
func entitled(name, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return name + ":\n" + text
}

// beads reads an export: one issue a line.
func (l *list) beads(f File) error {
	values, err := parse(f)
	if err != nil {
		return err
	}
	if in, ok := values[0].([]any); ok && len(values) == 1 {
		values = in
	}
	l.named = true
	for _, v := range values {
		o := objectOf(v)
		id := o.str("id")
		switch {
		case id == "" || o["title"] == nil:
			l.lose(id, "record", "it is no issue")
		case o.str("status") == "tombstone":
			l.lose(id, "issue", "it was deleted there")
		default:
			l.bead(id, o)
		}
	}
	return nil
}

func (l *list) bead(id string, o object) {
	body, comments := uncommented(paragraphs(o.str("description"), entitled("Design", o.str("design")), entitled("Notes", o.str("notes"))))
	if comments > 0 {
		l.lose(id, "comments", "a reader of the page does not see them")
	}
	t := task{id: id, title: o.str("title"), body: body, acceptance: points(o.str("acceptance_criteria"))}
	t.said = said(o, "issue_type", "status", "priority", "assignee", "labels", "external_ref", "estimated_minutes")
	for _, v := range o.list("dependencies") {
		d := objectOf(v)
		switch on, how := d.str("depends_on_id"), d.str("type"); {
		case on == "":
			l.lose(id, "dependency "+how, "it names no issue")
		case how == "blocks" || how == "":
			t.needs = append(t.needs, on)
		case how == "parent-child" && t.parent == "":
			t.parent = on
		default:
			l.lose(id, "dependency "+how, "steps wait for each other, and are not related otherwise")
		}
	}
	l.others(o, id, "id", "title", "description", "design", "notes", "acceptance_criteria", "issue_type", "status", "priority", "assignee", "labels", "external_ref",
		"estimated_minutes", "dependencies", "created_at", "updated_at", "closed_at", "created_by", "close_reason", "content_hash", "_type")
	l.add(t)
}

var bullet = lazy.Regexp(`^[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)$`)

// points are the lines of a list, or the text as one.
func points(s string) []string {
	var out []string
	for line := range strings.Lines(s) {
		m := bullet().FindStringSubmatch(strings.TrimRight(line, blank))
		switch {
		case m != nil:
			out = append(out, m[1])
		case len(out) > 0 && strings.TrimSpace(line) != "":
			out[len(out)-1] += " " + strings.TrimSpace(line)
		case strings.TrimSpace(line) != "":
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// acNumber numbers a criterion of Backlog.md.
var acNumber = lazy.Regexp(`^#[0-9]{1,6}[ \t]+`)

// backlog reads one task file of Backlog.md.
func (l *list) backlog(f File) error {
	front, body := frontmatter(string(f.Source))
	args, err := form.ReadArguments(plan.Text{Value: front, Lang: "yaml", Pos: plan.Pos{Line: 2, Column: 1}})
	if err != nil {
		return bad(f, plan.Pos{Line: 2, Column: 1}, plan.BadFrontmatter, "the frontmatter cannot be read: "+err.Error(), "")
	}
	m, _ := args.Value.(map[string]any)
	o := object(m)
	t := task{id: strings.ToLower(o.str("id")), title: o.str("title"), parent: strings.ToLower(o.str("parent_task_id"))}
	l.named = true
	if len(l.tasks) == 0 {
		l.title = o.str("title")
	} else {
		l.title = "Tasks of Backlog.md"
	}
	for _, d := range o.strs("dependencies") {
		t.needs = append(t.needs, strings.ToLower(d))
	}
	t.said = said(o, "status", "priority", "type", "assignee", "labels", "milestone")
	l.others(o, t.id, "id", "title", "status", "priority", "type", "assignee", "labels", "milestone", "dependencies", "parent_task_id", "created_date", "updated_date", "ordinal", "reporter")
	s := sections(body)
	t.body = paragraphs(s.text["description"], entitled("Implementation plan", s.text["implementation plan"]))
	for _, name := range []string{"acceptance criteria", "definition of done"} {
		for _, c := range outlineOf(s.text[name]).items {
			t.acceptance = append(t.acceptance, strings.TrimSpace(acNumber().ReplaceAllString(c.text, "")+"\n"+c.body))
		}
	}
	for _, name := range s.names {
		if !slices.Contains([]string{"description", "implementation plan", "acceptance criteria", "definition of done"}, name) {
			l.lose(t.id, name, "it is about work that was done, and no part of the task")
		}
	}
	l.add(t)
	return nil
}

// parts are the sections of a text, by the names of their ## headings in lower case.
type parts struct {
	names []string
	text  map[string]string
}

func sections(text string) parts {
	text, _ = uncommented(text)
	p := parts{text: map[string]string{}}
	var b strings.Builder
	name := "description" // what stands before all headings is one
	put := func() {
		if s := strings.Trim(b.String(), blank); s != "" {
			if _, known := p.text[name]; !known {
				p.names = append(p.names, name)
			}
			p.text[name] = paragraphs(p.text[name], s)
		}
		b.Reset()
	}
	r := linesOf(text)
	for line, code, ok := r.next(); ok; line, code, ok = r.next() {
		if m := heading().FindStringSubmatch(line); m != nil && !code && len(m[1]) == 2 {
			put()
			name = strings.ToLower(m[2])
			continue
		}
		b.WriteString(line + "\n")
	}
	put()
	return p
}
