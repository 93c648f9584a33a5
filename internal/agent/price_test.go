package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
)

func TestPrice(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	price := &Price{In: 1_250_000, Out: 10_000_000}
	for _, c := range []struct {
		name  string
		price *Price
		usage engine.Usage
		cost  *int64
	}{
		{"both kinds", price, engine.Usage{In: n(3000), Out: n(1000)}, n(13_750)},
		{"less than a millionth is not nothing", price, engine.Usage{In: n(0), Out: n(1)}, n(10)},
		{"rounded up", &Price{In: 1}, engine.Usage{In: n(1), Out: n(0)}, n(1)},
		{"what the agent says stands", price, engine.Usage{In: n(3000), Out: n(1000), CostMicros: n(5)}, n(5)},
		{"half of it is not known", price, engine.Usage{In: n(3000)}, nil},
		{"nothing is known", price, engine.Usage{}, nil},
		{"no price", nil, engine.Usage{In: n(3000), Out: n(1000)}, nil},
		{"a model that costs nothing", &Price{}, engine.Usage{In: n(3000), Out: n(1000)}, n(0)},
		{"nonsense stays in range", &Price{In: maxCost * 1e6, Out: maxCost * 1e6}, engine.Usage{In: n(maxTokens), Out: n(maxTokens)}, n(maxCost * 1e6)},
	} {
		want := c.usage
		want.CostMicros = c.cost
		if diff := cmp.Diff(want, c.price.Charge(c.usage)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, diff)
		}
	}
}
