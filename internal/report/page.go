package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"

	"github.com/piton-dev/piton/internal/view"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// maxDiff is how many lines of a step's difference are shown.
const maxDiff = 20_000

var page = template.Must(template.New("").Funcs(template.FuncMap{
	"diff": func(text string) []view.DiffLine { return view.DiffLines(text, maxDiff) },
	"join": view.Join,
	"span": func(ms int64) string { return view.Span(view.Ms(ms)) },
}).Parse(pageHTML))

// html is the page. It allows its own style sheet and nothing else.
func (r *Report) html() ([]byte, error) {
	sum := sha256.Sum256([]byte(pageCSS))
	var b bytes.Buffer
	err := page.Execute(&b, map[string]any{
		"Run": r, "CSS": template.CSS(pageCSS), //nolint:gosec // ours
		"Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'",
	})
	return b.Bytes(), err
}
