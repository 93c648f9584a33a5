package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Scrapes writes the metrics of a workspace in the text format of Prometheus, version 0.0.4. It
// remembers runs that have ended, so that a scrape costs no more for them. Its method is safe
// for concurrent use.
type Scrapes struct {
	mu    sync.Mutex
	ended map[string]tally // by run
}

// tally is what is counted of one run.
type tally struct {
	head     engine.HeadRow
	steps    map[string]int // by status
	attempts map[string]int // by who did them
	seconds  []float64      // of work and checks, of steps that were worked on and are over
}

// buckets are the upper bounds of durations, in seconds.
var buckets = []float64{1, 5, 15, 60, 300, 900, 3600, 14400}

// Text reads the metrics of all runs that the journal has.
func (s *Scrapes) Text(ctx context.Context, st store.Store) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	heads, err := st.Heads(ctx, store.HeadFilter{})
	if err != nil {
		return "", err
	}
	items, err := st.Items(ctx, store.ItemFilter{Open: true})
	if err != nil {
		return "", err
	}
	known, all := s.ended, make([]tally, 0, len(heads))
	s.ended = map[string]tally{}
	for _, h := range heads {
		t, ok := known[h.Run]
		if !ok || !h.Ended || t.head.Finished != h.Finished || t.head.Settled != h.Settled {
			if t, err = tallied(ctx, st, h); err != nil {
				return "", err
			}
		}
		if t.head = h; h.Ended {
			s.ended[h.Run] = t
		}
		all = append(all, t)
	}
	return exposition(all, items), nil
}

// tallied counts the steps of a run.
func tallied(ctx context.Context, st store.Store, h engine.HeadRow) (tally, error) {
	t := tally{head: h, steps: map[string]int{}, attempts: map[string]int{}}
	rows, err := st.Steps(ctx, store.StepFilter{Stream: h.Stream, Run: h.Run})
	for _, r := range rows {
		t.steps[string(r.Status)]++
		if r.Effort.Attempts > 0 {
			t.attempts[cmp.Or(r.Agent, "none")] += r.Effort.Attempts
		}
		if r.Effort.Attempts > 0 && !r.Finished.IsZero() {
			t.seconds = append(t.seconds, float64(r.Effort.WorkMs+r.Effort.CheckMs)/1e3)
		}
	}
	return t, err
}

// exposition writes what was counted. What a run used counts those that carry out its steps.
func exposition(all []tally, items []engine.ItemRow) string {
	runs, steps, attempts, asked := map[string]float64{}, map[string]float64{}, map[string]float64{}, map[string]float64{}
	tokens, retries, cost, waited := map[string]float64{"input": 0, "output": 0}, 0.0, 0.0, 0.0
	counts, sum, n := make([]int, len(buckets)), 0.0, 0
	for _, t := range all {
		for status, k := range t.steps {
			steps[status] += float64(k)
		}
		for who, k := range t.attempts {
			attempts[who] += float64(k)
		}
		for _, x := range t.seconds {
			sum, n = sum+x, n+1
			for i, most := range buckets {
				if x <= most {
					counts[i]++
				}
			}
		}
		retries += float64(t.head.Effort.Retries)
		if h := t.head; h.Parent.Run == "" {
			runs[string(h.Shown())]++
			tokens["input"] += float64(h.TokensIn)
			tokens["output"] += float64(h.TokensOut)
			cost += float64(h.CostMicros) / 1e6
			waited += float64(h.Effort.WaitMs) / 1e3
		}
	}
	for _, it := range items {
		asked[string(it.Kind)]++
	}
	var b text
	b.family("piton_runs", "gauge", "Runs by how they stand, without those that carry out steps of others.", "status", runs)
	b.family("piton_steps", "gauge", "Steps of all runs by how they stand.", "status", steps)
	b.family("piton_inbox_items", "gauge", "Open items that wait for a person.", "kind", asked)
	b.family("piton_attempts_total", "counter", "Attempts of steps, by who did them.", "agent", attempts)
	b.family("piton_retries_total", "counter", "Attempts that followed one that did not pass.", "", map[string]float64{"": retries})
	b.family("piton_tokens_total", "counter", "Tokens that agents and models said they used.", "type", tokens)
	b.family("piton_cost_dollars_total", "counter", "Cost in US dollars, as far as it is known.", "", map[string]float64{"": cost})
	b.family("piton_wait_seconds_total", "counter", "Time in which runs waited for a person.", "", map[string]float64{"": waited})
	b.head("piton_step_seconds", "histogram", "Work and checks of steps that are over, in seconds.")
	for i, most := range buckets {
		fmt.Fprintf(&b, "piton_step_seconds_bucket{le=\"%s\"} %d\n", number(most), counts[i])
	}
	fmt.Fprintf(&b, "piton_step_seconds_bucket{le=\"+Inf\"} %d\npiton_step_seconds_sum %s\npiton_step_seconds_count %d\n", n, number(sum), n)
	return b.String()
}

// text is metrics in the text format.
type text struct{ strings.Builder }

func (b *text) head(name, kind, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// family writes a metric, with a value for each value of its label; "" is without one.
func (b *text) family(name, kind, help, label string, values map[string]float64) {
	b.head(name, kind, help)
	for _, v := range slices.Sorted(maps.Keys(values)) {
		if label == "" {
			fmt.Fprintf(b, "%s %s\n", name, number(values[v]))
			continue
		}
		fmt.Fprintf(b, "%s{%s=\"%s\"} %s\n", name, label, quoted.Replace(strings.ToValidUTF8(v, "\ufffd")), number(values[v]))
	}
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
