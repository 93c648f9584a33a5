package owner

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
)

// TestOutage: what keeps an agent from its model is told at once and once, and it is given up
// half a minute later, unless it works by then.
func TestOutage(t *testing.T) {
	again := agent.Deed{Type: agent.Erred, Text: "Reconnecting... 1/5 (error sending request)"}
	for name, tt := range map[string]struct {
		deeds   []agent.Deed
		told    int
		givesUp bool
	}{
		"it tries again and again": {[]agent.Deed{again, again, again}, 1, true},
		"it works in the end":      {[]agent.Deed{again, {Type: agent.SaidIt, Text: "ready"}}, 1, false},
		"another error":            {[]agent.Deed{{Type: agent.Erred, Text: "the file is not there"}}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told, gaveUp, begun := 0, time.Duration(0), time.Now()
				try := &try{config: config.Config{Agents: map[string]config.Agent{"a": {Command: []string{"codex"}}}}, hear: func(_ string, why engine.Cause) {
					if told++; why.Kind != engine.NoNetwork || why.Next == "" {
						t.Errorf("%+v", why)
					}
				}}
				took, end := try.listen("a", func() { gaveUp = time.Since(begun) })
				for _, d := range tt.deeds {
					took(d)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				end()
				if told != tt.told || tt.givesUp != (gaveUp == outageTime) || !tt.givesUp && gaveUp != 0 {
					t.Errorf("told %d, gave up after %s", told, gaveUp)
				}
			})
		})
	}
}
