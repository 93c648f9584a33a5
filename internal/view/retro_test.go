package view_test

import (
	"slices"
	"testing"

	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// TestForetellingFindings: what may come true is a finding that verify has.
func TestForetellingFindings(t *testing.T) {
	codes := view.Foretelling()
	if len(codes) == 0 {
		t.Fatal("no finding can come true")
	}
	for _, code := range codes {
		if !slices.ContainsFunc(verify.Rules(), func(r verify.Rule) bool { return r.ID == code }) {
			t.Errorf("verify has no finding %s", code)
		}
	}
}
