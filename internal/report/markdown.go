package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/view"
)

// inline writes a text in one line of Markdown in which nothing is markup, a link, a mention or
// the number of an issue.
func inline(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	var b strings.Builder
	for i, c := range s {
		switch {
		case strings.ContainsRune("\\`*_{}[]()<>#|!~$&", c):
			b.WriteByte('\\')
			b.WriteRune(c)
		case i == 0 && strings.ContainsRune("+-", c):
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '@' || c == ':' && strings.HasPrefix(s[i:], "://"):
			fmt.Fprintf(&b, "&#%d;", c)
		case c == '.' && strings.HasSuffix(strings.ToLower(s[:i]), "www"):
			b.WriteString("&#46;")
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// ticks is a fence of at least so many backticks that is longer than any row of them in a text.
func ticks(s string, least int) string {
	row := 0
	for _, c := range s {
		if row++; c != '`' {
			row = 0
		}
		least = max(least, row+1)
	}
	return strings.Repeat("`", least)
}

// code is a text in one line, set as it is typed, in a cell of a table too.
func code(s string) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
	if s == "" {
		return ""
	}
	f := ticks(s, 1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return f + s + f
}

// fenced is a block of text.
func fenced(lang, s string) string {
	f := ticks(s, 3)
	return f + lang + "\n" + ended(s) + f + "\n"
}

// cut shortens a text that a table quotes.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// Bounds of what a pull request shows.
const (
	mostFiles   = 50
	mostCommand = 120
)

// markdown is text for a pull request: what was done, what proves it, and how to check it.
func (r *Report) markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", inline(r.Title))
	fmt.Fprintf(&b, "**%s** in %s: %s", inline(r.State.Word), view.Span(view.Ms(r.Took)), inline(view.Join(r.Sums)))
	if r.Cost != "" {
		fmt.Fprintf(&b, "; %s", inline(r.Cost))
	}
	fmt.Fprintf(&b, ". Run %s, revision %d", code(r.ID), r.Version)
	if r.Path != "" {
		fmt.Fprintf(&b, " of %s", code(r.Path))
	}
	if r.By != "" {
		fmt.Fprintf(&b, ", approved by %s", inline(r.By))
	}
	b.WriteString(".\n")
	if r.Reason != "" {
		fmt.Fprintf(&b, "\n%s\n", inline(r.Reason))
	}
	if r.Context != "" {
		fmt.Fprintf(&b, "\n%s\n", inline(r.Context))
	}
	r.whatWasDone(&b)
	b.WriteString("\n### Steps\n\n| | Step | By | Result | Proof | Attempts | Took | Used |\n|--:|---|---|---|---|--:|--:|---|\n")
	for _, s := range cases(r.Steps) {
		result := s.State.Word
		if !s.Counts || s.Unproven {
			result += reasoned(s.Reason)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d | %s | %s |\n", inline(s.Number), inline(s.Title), inline(s.Agent), inline(result), s.proof(), len(s.Attempts), view.Span(view.Ms(s.Took)), inline(s.Used))
	}
	r.howToCheck(&b)
	return []byte(b.String())
}

// proof quotes what proves a step, and says how it was answered last.
func (s *Step) proof() string {
	var parts []string
	for _, c := range s.Checks {
		var text strings.Builder
		text.WriteString(code(cut(cmp.Or(c.Command, c.Question), mostCommand)))
		if n := len(s.Attempts); n > 0 {
			for _, a := range slices.Backward(s.Attempts[n-1].Answers) {
				if a.Check == c.Name {
					text.WriteString(" " + inline(string(a.Verdict)))
					break
				}
			}
		}
		parts = append(parts, text.String())
	}
	return strings.Join(parts, "<br>")
}

// whatWasDone lists the files that changed.
func (r *Report) whatWasDone(b *strings.Builder) {
	counts := map[string]File{}
	for _, s := range cases(r.Steps) {
		for _, f := range s.Files {
			was := counts[f.Path]
			counts[f.Path] = File{f.Path, was.Added + f.Added, was.Removed + f.Removed}
			if was.Added < 0 || f.Added < 0 { // it is no text
				counts[f.Path] = File{f.Path, -1, -1}
			}
		}
	}
	if len(counts) == 0 {
		return
	}
	b.WriteString("\n### What changed\n\n")
	names := slices.Sorted(maps.Keys(counts))
	for _, name := range names[:min(len(names), mostFiles)] {
		f := counts[name]
		if f.Added < 0 || f.Removed < 0 {
			fmt.Fprintf(b, "- %s (no text)\n", code(name))
			continue
		}
		fmt.Fprintf(b, "- %s +%d −%d\n", code(name), f.Added, f.Removed)
	}
	if more := len(names) - mostFiles; more > 0 {
		fmt.Fprintf(b, "- and %s\n", view.Plural(more, "more file", "more files"))
	}
}

// howToCheck lists the commands that prove the steps, each once.
func (r *Report) howToCheck(b *strings.Builder) {
	var commands []string
	for _, s := range cases(r.Steps) {
		for _, c := range s.Checks {
			text := strings.TrimRight(c.Command, "\n")
			if text == "" {
				continue
			}
			if c.Exit != 0 {
				text = fmt.Sprintf("# exits %d:\n%s", c.Exit, text)
			}
			if !slices.Contains(commands, text) {
				commands = append(commands, text)
			}
		}
	}
	b.WriteString("\n### How to check\n\n")
	if len(commands) == 0 {
		b.WriteString("No command proves it.\n")
		return
	}
	b.WriteString(fenced("sh", strings.Join(commands, "\n")))
}
