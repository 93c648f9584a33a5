package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/api"
)

// asked is what a person wants: in their words, or those of an issue.
type asked struct {
	request  string
	comments string // what others said about the issue, the newest last
	link     string // of the issue
}

// issue is one in the JSON of a code host's program: gh and the interface of GitHub, or
// glab and that of GitLab.
type issue struct {
	Number      int             `json:"number"`
	IID         int             `json:"iid"`
	Title       string          `json:"title"`
	Body        string          `json:"body"`
	Description string          `json:"description"`
	URL         string          `json:"url"` // of GitHub's interface: for programs
	HTMLURL     string          `json:"html_url"`
	WebURL      string          `json:"web_url"`
	Labels      json.RawMessage `json:"labels"`
	Comments    json.RawMessage `json:"comments"` // GitHub's interface has their number here
	Notes       json.RawMessage `json:"notes"`
}

// ofIssue is what an issue asks for. Any text that is no issue is what is wanted itself.
func ofIssue(body []byte) asked {
	var in issue
	if json.Unmarshal(body, &in) != nil || in.Title == "" {
		return asked{request: string(body)}
	}
	title := in.Title
	if n := cmp.Or(in.Number, in.IID); n > 0 {
		title += fmt.Sprintf(" (#%d)", n)
	}
	out := asked{comments: in.said()}
	if link := cmp.Or(in.HTMLURL, in.WebURL, in.URL); api.IsLink(link) {
		out.link = link
	}
	var about []string
	if labels := in.labels(); len(labels) > 0 {
		about = append(about, "Labels: "+strings.Join(labels, ", "))
	}
	if out.link != "" {
		about = append(about, "Issue: "+out.link)
	}
	parts := []string{title, strings.Join(about, "\n"), strings.ReplaceAll(cmp.Or(in.Body, in.Description), "\r\n", "\n")}
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			out.request += "\n\n" + part
		}
	}
	out.request = strings.TrimSpace(out.request)
	return out
}

// labels are the names of the issue's labels: words, or objects with a name.
func (i issue) labels() []string {
	var names []string
	if json.Unmarshal(i.Labels, &names) == nil {
		return names
	}
	var objects []struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(i.Labels, &objects) != nil {
		return nil
	}
	names = nil
	for _, o := range objects {
		names = append(names, o.Name)
	}
	return names
}

// said are the issue's comments with their authors, the newest ones as far as they may be
// told.
func (i issue) said() string {
	type person struct {
		Login    string `json:"login"`
		Username string `json:"username"`
	}
	var all []struct {
		Author person `json:"author"`
		User   person `json:"user"`
		Body   string `json:"body"`
		System bool   `json:"system"` // GitLab's own, such as "changed the milestone"
	}
	if json.Unmarshal(i.Comments, &all) != nil && json.Unmarshal(i.Notes, &all) != nil {
		return ""
	}
	var b strings.Builder
	for _, c := range all {
		if c.System || strings.TrimSpace(c.Body) == "" {
			continue
		}
		who := cmp.Or(c.Author.Login, c.Author.Username, c.User.Login, c.User.Username, "somebody")
		fmt.Fprintf(&b, "%s:\n%s\n\n", who, strings.TrimSpace(strings.ReplaceAll(c.Body, "\r\n", "\n")))
	}
	text := strings.TrimSpace(b.String())
	if from := len(text) - api.MaxRequest; from > 0 {
		text = "…" + strings.ToValidUTF8(text[from:], "")
	}
	return text
}
