package agent

import (
	"math"

	"github.com/piton-dev/piton/internal/engine"
)

// Price is what a model costs, in millionths of a dollar for a million tokens.
type Price struct{ In, Out int64 }

// Charge adds the cost to a usage that tells its tokens, both kinds, and no
// cost. What an agent says that it cost stands: it knows what was cached.
func (p *Price) Charge(u engine.Usage) engine.Usage {
	if p == nil || u.CostMicros != nil || u.In == nil || u.Out == nil {
		return u
	}
	cost := (float64(*u.In)*float64(p.In) + float64(*u.Out)*float64(p.Out)) / 1e6
	u.CostMicros = new(int64(math.Ceil(min(cost, maxCost*1e6))))
	return u
}
