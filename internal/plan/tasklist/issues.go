package tasklist

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
)

// Issue is one of a code host: as gh and the interface of GitHub tell it, or glab and that
// of GitLab.
type Issue struct {
	Number   string
	Title    string
	Body     string
	State    string
	Link     string // for people, as it is given
	Labels   []string
	Comments []Comment // the newest last
}

// Comment is what somebody said about an issue.
type Comment struct{ Author, Body string }

// ReadIssue reads one issue, false if a text is none. The cost is linear.
func ReadIssue(text []byte) (Issue, bool) {
	values, err := parse(File{Source: text})
	if err != nil || len(values) != 1 {
		return Issue{}, false
	}
	in := issueOf(objectOf(values[0]))
	return in, in.Title != ""
}

// issueOf is the issue of an object. GitHub's own interface has the number of comments under
// their name.
func issueOf(o object) Issue {
	in := Issue{
		Number: cmp.Or(o.str("number"), o.str("iid")), Title: o.str("title"), State: o.str("state"),
		Body:   strings.ReplaceAll(cmp.Or(o.str("body"), o.str("description")), "\r\n", "\n"),
		Link:   cmp.Or(o.str("html_url"), o.str("web_url"), o.str("url")),
		Labels: o.strs("labels"),
	}
	for _, v := range o.list("labels") {
		if n := objectOf(v).str("name"); n != "" {
			in.Labels = append(in.Labels, n)
		}
	}
	for _, v := range slices.Concat(o.list("comments"), o.list("notes"), o.list("Notes")) {
		c := objectOf(v)
		author, user := objectOf(c["author"]), objectOf(c["user"])
		if c["system"] == true || strings.TrimSpace(c.str("body")) == "" { // GitLab's own, such as "changed the milestone"
			continue
		}
		who := cmp.Or(author.str("login"), author.str("username"), user.str("login"), user.str("username"), "somebody")
		in.Comments = append(in.Comments, Comment{who, strings.TrimSpace(strings.ReplaceAll(c.str("body"), "\r\n", "\n"))})
	}
	return in
}

// tells are the keys of an issue that [issueOf] reads, and those that say nothing of what
// is to be done.
var tells = strings.Fields(`number iid title body description state url html_url web_url labels
	id node_id project_id createdAt updatedAt closedAt closed created_at updated_at closed_at`)

var (
	// issueNeeds names issues that come before.
	issueNeeds = lazy.Regexp(`(?i)\b(?:blocked by|depends on|requires):? ((?:#[0-9]{1,9}(?:, and |, | and | & )?)+)`)
	issueRef   = lazy.Regexp(`#([0-9]{1,9})`)
)

// issues reads what `gh issue view`, `gh issue list` and their like of GitLab print as JSON.
func (l *list) issues(f File) error {
	values, err := parse(f)
	if err != nil {
		return err
	}
	var all []object
	for _, v := range values {
		if in, ok := v.([]any); ok {
			for _, v := range in {
				all = append(all, objectOf(v))
			}
			continue
		}
		all = append(all, objectOf(v))
	}
	all = slices.DeleteFunc(all, func(o object) bool {
		if issueOf(o).Number == "" {
			l.lose("", "record", "it is no issue")
			return true
		}
		return false
	})
	slices.SortStableFunc(all, func(a, b object) int { return number(a) - number(b) })
	if len(all) == 1 && !l.several {
		l.issuePlan(all[0])
		return nil
	}
	l.named, l.title = true, "Issues"
	for _, o := range all {
		l.issueTask(o)
	}
	return nil
}

func number(o object) int {
	n, _ := strconv.Atoi(issueOf(o).Number)
	return n
}

// issuePlan makes the plan of one issue: its list of tasks is the steps, or it is the
// only step.
func (l *list) issuePlan(o object) {
	in := issueOf(o)
	text := outlineOf(in.Body)
	l.comments(text)
	l.title, l.issue, l.tags = in.Title, in.Number, in.Labels
	l.others(o, "labels", tells...)
	if len(text.items) == 0 {
		l.add(task{id: "#" + l.issue, title: l.title, body: text.titled(), said: in.about()})
		return
	}
	l.context, l.notes = parted(text)
	if text.title != "" {
		l.context = paragraphs(text.title, l.context)
	}
	l.items(text, "", in.about())
}

// about is what an issue says of itself, for the reader.
func (in Issue) about() []string {
	return said(object{"state": in.State, "url": in.Link}, "state", "url")
}

// titled is the text of an outline without its items.
func (o outline) titled() string {
	if o.title == "" {
		return o.rest
	}
	return paragraphs("# "+o.title, o.rest)
}

// issueTask adds one issue of several; the items of its list are its parts.
func (l *list) issueTask(o object) {
	in := issueOf(o)
	text := outlineOf(in.Body)
	l.comments(text)
	t := task{id: "#" + in.Number, title: in.Title, body: text.titled(), said: in.about()}
	for _, m := range issueNeeds().FindAllStringSubmatch(in.Body, -1) {
		t.needs = append(t.needs, issueRef().FindAllString(m[1], -1)...)
	}
	if len(in.Labels) > 0 {
		t.said = append(t.said, "labels: "+strings.Join(in.Labels, ", "))
	}
	l.others(o, t.id, tells...)
	l.add(t)
	l.items(text, t.id, nil)
}
