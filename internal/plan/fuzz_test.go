package plan_test

import (
	"testing"

	"github.com/piton-dev/piton/internal/plan"
)

// FuzzParse checks the laws of every text: no panic, places inside the text,
// Parse(Format(p)) equals p, and projected bytes that mean nothing.
func FuzzParse(f *testing.F) {
	for _, a := range corpus(f) {
		f.Add(a.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, src []byte) { checkLaws(t, src) })
}

// FuzzWords checks that what the readers of single values accept is written
// back as the same value.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"10m", "1h 30 minutes", "max 200k tokens, $1.50, 20 minutes", "retry(2), then escalate", "1.5M tokens"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := plan.ParseDuration(s); err == nil {
			if again, err := plan.ParseDuration(plan.FormatDuration(d)); err != nil || again != d || d <= 0 {
				t.Errorf("%q is %v, which reads as %v, %v", s, d, again, err)
			}
		}
		if b, err := plan.ParseBudget(s); err == nil {
			if again, err := plan.ParseBudget(b.String()); err != nil || again != b {
				t.Errorf("%q is %+v, written %q, which reads as %+v, %v", s, b, b, again, err)
			}
		}
		if o, err := plan.ParseOnFail(s); err == nil {
			if again, err := plan.ParseOnFail(o.String()); err != nil || again != o {
				t.Errorf("%q is %+v, written %q, which reads as %+v, %v", s, o, o, again, err)
			}
		}
	})
}
