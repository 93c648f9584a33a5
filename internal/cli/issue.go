package cli

import (
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan/tasklist"
)

// asked is what a person wants: in their words, or those of an issue.
type asked struct {
	request  string
	comments string // what others said about the issue, the newest last
	link     string // of the issue
}

// ofIssue is what an issue asks for. Any text that is no issue is what is wanted itself.
func ofIssue(body []byte) asked {
	in, ok := tasklist.ReadIssue(body)
	if !ok {
		return asked{request: string(body)}
	}
	out := asked{comments: told(in.Comments)}
	title := in.Title
	if in.Number != "" {
		title += " (#" + in.Number + ")"
	}
	if api.IsLink(in.Link) {
		out.link = in.Link
	}
	var about []string
	if len(in.Labels) > 0 {
		about = append(about, "Labels: "+strings.Join(in.Labels, ", "))
	}
	if out.link != "" {
		about = append(about, "Issue: "+out.link)
	}
	for _, part := range []string{title, strings.Join(about, "\n"), in.Body} {
		if part = strings.TrimSpace(part); part != "" {
			out.request += "\n\n" + part
		}
	}
	out.request = strings.TrimSpace(out.request)
	return out
}

// told are comments with their authors, the newest ones as far as they may be told.
func told(all []tasklist.Comment) string {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "%s:\n%s\n\n", c.Author, c.Body)
	}
	text := strings.TrimSpace(b.String())
	if from := len(text) - api.MaxRequest; from > 0 {
		text = "…" + strings.ToValidUTF8(text[from:], "")
	}
	return text
}
