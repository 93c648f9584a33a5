package cli

import (
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// spending says what a run has used, and of what, kind by kind. Of a limited
// kind it counts as the limit does, time up to now.
func spending(h engine.HeadRow, now time.Time) []string {
	var list []string
	l := h.Budget.Limits
	if l.CostMicros > 0 {
		list = append(list, money(h.Budget.Spent.CostMicros)+" of "+money(l.CostMicros))
	} else if h.CostMicros > 0 {
		list = append(list, money(h.CostMicros))
	}
	if n := h.TokensIn + h.TokensOut; l.Tokens > 0 {
		list = append(list, count(h.Budget.Spent.Tokens)+" of "+count(l.Tokens)+" tokens")
	} else if n > 0 {
		list = append(list, count(n)+" tokens")
	}
	if l.Wall > 0 {
		used := l.Wall - h.Budget.Left(now).Wall
		list = append(list, span(used)+" of "+span(l.Wall))
	}
	return list
}
