package api

import (
	"github.com/piton-dev/piton/internal/verify"
)

// Hazards lists why the document, with all that it delegates to, is not of low
// risk; nothing where it is, or where it cannot be read.
func (d *Document) Hazards() []verify.Hazard {
	if d.Plan == nil {
		return nil
	}
	all := verify.Hazards(d.Plan, d.Facts)
	for _, child := range d.Below() {
		for _, h := range verify.Hazards(child.Plan, child.Facts) {
			all = append(all, verify.Hazard{Text: child.Rel + ": " + h.String()})
		}
	}
	return all
}
