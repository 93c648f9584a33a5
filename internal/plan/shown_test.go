package plan_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	segment "github.com/yuin/goldmark/text"

	"github.com/piton-dev/piton/internal/plan"
)

// rendered is what a reader sees of a plan, as a Markdown library says.
type rendered struct {
	seen   []bool // each byte of the source
	hiding string // a tag that may hide what follows
}

// hidingTag matches the tags behind which a reader may not see what is written.
var hidingTag = regexp.MustCompile(`(?is)<\s*(script|style|template|details|textarea|title|iframe|noscript|svg|select|dialog)\b|<[^>]*(=|\s(hidden|inert|popover)\b)|^<[?!]`)

func render(src []byte) rendered {
	src = slices.Clone(src)
	if loc := regexp.MustCompile(`(?s)\A(\x{feff})?---[ \t\r]*\n.*?\n(---|\.\.\.)[ \t\r]*(\n|\z)`).FindIndex(src); loc != nil {
		for i := range src[:loc[1]] { // the frontmatter, which a code host shows as a table
			if src[i] != '\n' {
				src[i] = ' '
			}
		}
	}
	r := rendered{seen: make([]bool, len(src)+1)}
	md := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote))
	_ = ast.Walk(md.Parser().Parse(segment.NewReader(src)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Image:
			return ast.WalkSkipChildren, nil
		case *ast.RawHTML:
			r.html(src, n.Segments)
		case *ast.HTMLBlock:
			r.html(src, n.Lines())
		case *ast.Text:
			r.see(n.Segment)
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			for i := range n.Lines().Len() {
				r.see(n.Lines().At(i))
			}
		}
		return ast.WalkContinue, nil
	})
	return r
}

func (r *rendered) see(s segment.Segment) {
	for i := s.Start; i < s.Stop; i++ {
		r.seen[i] = true
	}
}

func (r *rendered) html(src []byte, segments *segment.Segments) {
	if tag := segments.Value(src); r.hiding == "" && hidingTag.Match(tag) {
		r.hiding = string(tag)
	}
}

// offset is where a place stands in the source.
func offset(src []byte, at plan.Pos) int {
	off := 0
	for range at.Line - 1 {
		off += bytes.IndexByte(src[off:], '\n') + 1
	}
	if off == 0 {
		off = len(src) - len(bytes.TrimPrefix(src, []byte("\ufeff")))
	}
	return off + len(string([]rune(string(src[off:]))[:at.Column-1]))
}

// checkShown checks that a reader sees every label and every heading that a plan
// without errors is made of.
func checkShown(t laws, src []byte) {
	t.Helper()
	p, problems := plan.Parse("", src)
	if p == nil || len(errorsOf(problems)) > 0 {
		return
	}
	r := render(src)
	if r.hiding != "" {
		t.Errorf("%q may hide what follows, and is no error", r.hiding)
	}
	check := func(at plan.Pos, what string) {
		if off := offset(src, at); !r.seen[off] {
			t.Errorf("%s at %d:%d is obeyed, and a reader does not see it", what, at.Line, at.Column)
		}
	}
	labels := func(list []plan.Label) {
		for _, l := range list {
			word := strings.TrimLeft(l.Raw, "*_ \t\\")
			if l.Read {
				check(plan.Pos{Line: l.Pos.Line, Column: l.Pos.Column + len([]rune(l.Raw)) - len([]rune(word))}, "the label "+l.Name)
			}
		}
	}
	labels(p.Labels)
	for _, s := range p.Steps {
		labels(s.Labels)
		check(s.Title.Pos, "the title of step "+s.Number)
	}
}

const shownPlan = "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# T\n\n## Steps\n\n### 1. One\n\n**target:** script\n**task:** Do it.\n\n"

// hiders are what may stand around a label so that no reader sees it; @ is the label.
func hiders() []string {
	return []string{
		"[//]: # (\n@\n)", "[a]: b\n\"\n@\n\"", "[a]: b '\n@\n'", "[\n@\n]: /url", "[x]:\n@", "> [//]: # (\n@\n)", "- [//]: # (\n@\n)", "1. [a]: <b> (\n@)",
		"<!--\n@\n-->", "x <!-- y\n@\n-->", "`x\n`<!-- `y\n@\n-->", "<div hidden>\n\n@\n\n</div>", "<p\nhidden>\n\n@", "<template>\n\n@\n\n</template>",
		"<details>\n\n@\n\n</details>", "<script>\n@\n</script>", "<style>\n@\n</style>", "<div>\n@\n</div>", "<x-y>\n@\n</x-y>", "x <a title=\"\n@\n\">y</a>",
		"x <a title=\">\n@\n\">y</a>", "x <a\ntitle='\n@\n'>", "<?php\n@\n?>", "<!DOCTYPE\n@\n>", "<![CDATA[\n@\n]]>", "![a\n@\n](u)", "![a\n@\n][x]\n\n[x]: u",
		"[a](u \"\n@\n\")", "[a](u (x)\n'\n@')", "[^1]: a\n@", "| a |\n|---|\n@", "a\n:-\n@", "<textarea>\n@\n</textarea>", "**x** <svg>\n@\n</svg>",
		"[a][b\n@\n]\n\n[b **writes:** check.sh]: u", "</p\n@\n>", "<div title=x\n@\n>", "**status:** done (![)\n@\n](u)",
	}
}

// TestHiddenLabels hides a label in every way there is: the plan has an error then.
func TestHiddenLabels(t *testing.T) {
	for _, h := range hiders() {
		for _, label := range []string{"**writes:** check.sh", "**Writes**: check.sh", "__writes:__ check.sh", "**writes:** \"check.sh\"", "### 2. Two\n\n**target:** script\n**task:** Do."} {
			src := []byte(shownPlan + strings.Replace(h, "@", label, 1) + "\n")
			checkShown(t, src)
			p, problems := plan.Parse("", src)
			if bad := errorsOf(problems); (len(p.Steps) > 1 || p.Steps[0].Writes.Set) && !slices.ContainsFunc(bad, func(q plan.Problem) bool { return q.Code == plan.HiddenText }) {
				t.Errorf("no error of %s for\n%s", plan.HiddenText, src)
			}
		}
	}
}

// TestShown takes what authors write for what it is.
func TestShown(t *testing.T) {
	for _, body := range []string{
		"Return `Option<Foo>` or Vec<u8>.\n**writes:** a", "GET /users/<id>, a < b and c > d, a <b> c\n**writes:** a", "See [docs](https://x.y/z \"t\").\n**writes:** a",
		"[x] done\n**writes:** a", "[docs]: https://x.y\n**writes:** a", "| a | b |\n|---|---|\n| c | d |\n\n**writes:** a", "![alt](u)\n**writes:** a",
		"[a][b] and [c]\n**writes:** a", "Map<String, Integer> and Foo<T extends Bar>\n**writes:** a", "<https://x.y> <a@b.c>\n**writes:** a", "`<div hidden>` `<!-- x -->`\n**writes:** a",
	} {
		src := []byte(shownPlan + body + "\n")
		checkShown(t, src)
		p, problems := plan.Parse("", src)
		if bad := errorsOf(problems); len(bad) > 0 || !p.Steps[0].Writes.Set {
			t.Errorf("%s\n%s", list(bad), src)
		}
	}
}

// TestCorpusIsShown holds every plan of the repository against what a reader sees.
func TestCorpusIsShown(t *testing.T) {
	n := 0
	for _, a := range corpus(t) {
		checkShown(t, a.Files[0].Data)
		n++
	}
	err := filepath.WalkDir("../..", func(name string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".md" {
			return err
		}
		src, err := os.ReadFile(name)
		checkShown(t, src)
		n++
		return err
	})
	if err != nil || n < 100 {
		t.Fatal(n, err)
	}
}

// FuzzShown looks for a label that is obeyed and not shown.
func FuzzShown(f *testing.F) {
	for _, h := range hiders() {
		f.Add(strings.Replace(h, "@", "**writes:** check.sh", 1))
	}
	f.Fuzz(func(t *testing.T, body string) { checkShown(t, []byte(shownPlan+body)) })
}
