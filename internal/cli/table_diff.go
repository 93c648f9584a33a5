package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/verify"
)

// proposal shows what changed in the plan of a run: all that a yes is given to.
func (t theme) proposal(pr *api.Proposal) []string {
	head := fmt.Sprintf("%s was changed since revision %d, which run %s is on", t.line(pr.Doc.Path), pr.Head.Version, pr.Head.Run)
	lines := append(t.under(0, boldTone, head), "")
	text := string(diff.Diff(fmt.Sprintf("revision %d", pr.Head.Version), pr.Old, pr.Doc.Path, pr.Doc.Source))
	lines = append(lines, t.changedLines(text)...)
	return append(append(lines, ""), t.difference(pr.Diff)...)
}

// changedLines shows a unified difference, no line of it shortened.
func (t theme) changedLines(text string) []string {
	var lines []string
	for l := range strings.Lines(proc.Plain([]byte(text))) {
		tone := idleTone
		switch {
		case strings.HasPrefix(l, "+"):
			tone = okTone
		case strings.HasPrefix(l, "-"):
			tone = badTone
		case strings.HasPrefix(l, " "):
			tone = plainTone
		}
		lines = append(lines, t.paint(tone, t.captured(strings.TrimSuffix(l, "\n"))))
	}
	return lines
}

// difference says what became of each step, and calls out what is weaker.
func (t theme) difference(d verify.Difference) []string {
	lines := t.under(0, boldTone, d.Counts())
	if len(d.Header) > 0 {
		lines = append(lines, t.under(2, plainTone, "header: "+strings.Join(d.Header, ", "))...)
	}
	for _, s := range d.Steps {
		text := fmt.Sprintf("%s: step %s (%s) %s", s.How, t.line(s.Number), t.line(s.ID), t.line(s.Title))
		if len(s.Labels) > 0 {
			text += ": " + strings.Join(s.Labels, ", ")
		}
		lines = append(lines, t.under(2, plainTone, text)...)
	}
	for _, w := range d.Weaker {
		line := api.Weakened(w)
		lines = append(lines, t.under(0, badTone, strings.ToUpper(weakened(line))+": "+t.line(line))...)
	}
	return lines
}

// weakened is the word before a line about a weakening: of something that is another one
// nobody knows whether it is weaker.
func weakened(line string) string {
	if verify.Unsure(line) {
		return "changed"
	}
	return "weaker"
}

// proposes says what the plan document of a run proposes, "" for nothing.
func (s *session) proposes(head engine.HeadRow) string {
	pr, err := s.Proposal(context.Background(), head)
	if err != nil || pr == nil {
		return ""
	}
	return s.app.theme(s.app.err).proposedText(pr)
}

// noticeChange says so where the plan document of a run was changed.
func (s *session) noticeChange(head engine.HeadRow) {
	if text := s.proposes(head); text != "" {
		s.app.notice("%s", text)
	}
}

// proposed is the line that tells of a change that nobody has answered.
func (t theme) proposed(pr *api.Proposal) []string { return t.under(0, warnTone, t.proposedText(pr)) }

func (t theme) proposedText(pr *api.Proposal) string {
	path := t.line(engine.ShellWord(pr.Doc.Path))
	text := fmt.Sprintf("%s was changed since: %s; piton diff %s shows it", t.line(pr.Doc.Path), pr.Summary(), path)
	if pr.Doc.OK() {
		return text + fmt.Sprintf(", piton approve %s makes it revision %d, piton reject %s forgets it", path, pr.Revision, path)
	}
	return text + fmt.Sprintf(", piton verify %s says why", path)
}
