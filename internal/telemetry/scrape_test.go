package telemetry

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
)

var sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"\})? (\S+)$`)

// parsed reads the text format and refuses what a scraper would: a sample without its type
// before it, a family in two parts, the same sample twice, and a histogram that does not add up.
func parsed(text string) (map[string]float64, error) {
	values, kinds, help, family := map[string]float64{}, map[string]string{}, map[string]bool{}, ""
	if !strings.HasSuffix(text, "\n") {
		return nil, fmt.Errorf("the last line does not end")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.SplitN(line, " ", 4)
		if words[0] == "#" {
			switch {
			case words[1] == "HELP" && !help[words[2]] && words[3] != "":
				help[words[2]] = true
			case words[1] == "TYPE" && kinds[words[2]] == "" && strings.Contains("counter gauge histogram", words[3]):
				family, kinds[words[2]] = words[2], words[3]
			default:
				return nil, fmt.Errorf("bad %q", line)
			}
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("bad %q", line)
		}
		name := m[1]
		if kinds[family] == "histogram" {
			name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		}
		if name != family || !help[family] || kinds[family] == "counter" && !strings.HasSuffix(family, "_total") {
			return nil, fmt.Errorf("%q is of no family", line)
		}
		key := m[1]
		if m[2] != "" {
			key += " " + m[2] + "=" + strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(m[3])
		}
		x, err := strconv.ParseFloat(m[4], 64)
		if _, twice := values[key]; twice || err != nil {
			return nil, fmt.Errorf("%q: twice %v, %w", line, twice, err)
		}
		values[key] = x
	}
	last := 0.0
	for _, most := range buckets {
		n, ok := values["piton_step_seconds_bucket le="+number(most)]
		if !ok || n < last {
			return nil, fmt.Errorf("bucket %v has %v after %v", most, n, last)
		}
		last = n
	}
	if all := values["piton_step_seconds_bucket le=+Inf"]; all < last || all != values["piton_step_seconds_count"] {
		return nil, fmt.Errorf("%v in all buckets, %v before", all, last)
	}
	return values, nil
}

func TestExposition(t *testing.T) {
	if _, err := parsed(exposition(nil, nil)); err != nil {
		t.Error(err)
	}
	nasty := "a\"b\\n\n} 1\n# TYPE x gauge\xff"
	all := []tally{
		{
			head:  engine.HeadRow{Run: "a", Status: engine.Running, Open: 1, TokensIn: 1e7, TokensOut: 5, CostMicros: 1_500_000, Effort: engine.RunEffort{Retries: 2, WaitMs: 1500}},
			steps: map[string]int{"done": 2, "waiting": 1}, attempts: map[string]int{nasty: 3, "coder": 1}, seconds: []float64{0.5, 15, 20000},
		},
		{
			head:  engine.HeadRow{Run: "b", Status: engine.Done, Ended: true, Parent: engine.Parent{Run: "a", Step: "x"}, TokensIn: 9, CostMicros: 9, Effort: engine.RunEffort{Retries: 1}},
			steps: map[string]int{"done": 1}, attempts: map[string]int{"coder": 1}, seconds: []float64{2},
		},
	}
	got, err := parsed(exposition(all, []engine.ItemRow{{ItemOpened: engine.ItemOpened{Kind: engine.Question}}}))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"piton_runs status=waiting": 1, "piton_steps status=done": 3, "piton_steps status=waiting": 1, "piton_inbox_items kind=question": 1,
		"piton_attempts_total agent=" + strings.ToValidUTF8(nasty, "\ufffd"): 3, "piton_attempts_total agent=coder": 2, "piton_retries_total": 3,
		"piton_tokens_total type=input": 1e7, "piton_tokens_total type=output": 5, "piton_cost_dollars_total": 1.5, "piton_wait_seconds_total": 1.5,
		"piton_step_seconds_bucket le=1": 1, "piton_step_seconds_bucket le=5": 2, "piton_step_seconds_bucket le=15": 3, "piton_step_seconds_bucket le=60": 3,
		"piton_step_seconds_bucket le=300": 3, "piton_step_seconds_bucket le=900": 3, "piton_step_seconds_bucket le=3600": 3, "piton_step_seconds_bucket le=14400": 3,
		"piton_step_seconds_bucket le=+Inf": 4, "piton_step_seconds_sum": 20017.5, "piton_step_seconds_count": 4,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
