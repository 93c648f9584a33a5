package report

import (
	"fmt"
	"unicode/utf8"

	"github.com/piton-dev/piton/internal/view"
)

// fills are the colours behind the white right side of a badge, by tone: each has a contrast
// of at least 4.5 with it.
var fills = map[string]string{"ok": "#17784a", "bad": "#c02c27", "you": "#7038c8", "warn": "#8a5a00", "run": "#1d5fd1", "idle": "#6b6b62"}

// badge is an SVG image that says how the run stands.
func (r *Report) badge() []byte {
	const name = "piton"
	says := r.State.Word
	if r.Total > 0 {
		says += fmt.Sprintf(": %d of %s proven", r.Proven, view.Plural(r.Total, "step", "steps"))
	}
	// The text is set into the width that it is given, whatever the font is.
	wide := func(s string) int { return utf8.RuneCountInString(s)*13/2 + 12 }
	a, b := wide(name), wide(says)
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="%s: %s">
<title>%s: %s</title>
<clipPath id="r"><rect width="%d" height="20" rx="4"/></clipPath>
<g clip-path="url(#r)"><rect width="%d" height="20" fill="#3a3a36"/><rect x="%d" width="%d" height="20" fill="%s"/></g>
<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11"><text x="6" y="14" textLength="%d">%s</text><text x="%d" y="14" textLength="%d">%s</text></g>
</svg>
`, a+b, name, xmlText(says), xmlText(r.Title), xmlText(says), a+b, a, a, b, fills[r.State.Tone], a-12, name, a+6, b-12, xmlText(says))
}
