package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/piton-dev/piton/internal/plan"
)

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"10m":                  10 * time.Minute,
		"90s":                  90 * time.Second,
		"1h30m":                90 * time.Minute,
		"1h 30m":               90 * time.Minute,
		"1 hour 30 minutes":    90 * time.Minute,
		"1 hour and 5 minutes": 65 * time.Minute,
		"10 Minutes":           10 * time.Minute,
		"1.5 hours":            90 * time.Minute,
		"0.25s":                250 * time.Millisecond,
		"250ms":                250 * time.Millisecond,
		"2 days":               48 * time.Hour,
		" 1 min ":              time.Minute,
		"366d":                 366 * 24 * time.Hour,
	} {
		if got, err := plan.ParseDuration(in); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", "10", "m", "soon", "-1s", "0s", "0h0m", "10 apples", "367d", "1s2", "99999999999999999999s", "1.2.3s", "0.0001s",
		"9223372036854775807h", "1m and", ".5s", "10m!",
	} {
		if got, err := plan.ParseDuration(in); err == nil {
			t.Errorf("ParseDuration(%q) = %v; want an error", in, got)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		90 * time.Second: "1m30s", time.Hour: "1h", 36 * time.Hour: "36h", 1500 * time.Millisecond: "1s500ms", 0: "0s",
	} {
		if got := plan.FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%v) = %q; want %q", d, got, want)
		}
	}
}

func TestParseBudget(t *testing.T) {
	for in, want := range map[string]plan.Budget{
		"max 200k tokens, $1.50, 20 minutes wall clock": {Tokens: 200_000, CostMicros: 1_500_000, Wall: 20 * time.Minute},
		"max 1M tokens, $8.00, 60 minutes":              {Tokens: 1_000_000, CostMicros: 8_000_000, Wall: time.Hour},
		"20 minutes, $2":                                {CostMicros: 2_000_000, Wall: 20 * time.Minute},
		"$0.000001":                                     {CostMicros: 1},
		"1 token":                                       {Tokens: 1},
		"200,000 tokens, 1h":                            {Tokens: 200_000, Wall: time.Hour},
		"1.5M tokens; 2 USD and 90s":                    {Tokens: 1_500_000, CostMicros: 2_000_000, Wall: 90 * time.Second},
		"up to 150 k tokens":                            {Tokens: 150_000},
		"$1,234.50":                                     {CostMicros: 1_234_500_000},
		"Max 10 Tokens, 5m Wall Time.":                  {Tokens: 10, Wall: 5 * time.Minute},
	} {
		got, err := plan.ParseBudget(in)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("ParseBudget(%q): %v\n%s", in, err, diff)
		}
	}
	for _, in := range []string{
		"", "lots", "200k", "$0", "0 tokens", "1.5 tokens", "$1, $2", "10m, 20m", "1 token, 2 tokens", "$1.0000001", "-5 tokens",
		"99999999999999999999 tokens", "9999999999999M tokens", "$", "tokens", "10 apples, $1",
	} {
		if got, err := plan.ParseBudget(in); err == nil {
			t.Errorf("ParseBudget(%q) = %+v; want an error", in, got)
		}
	}
}

func TestParseOnFail(t *testing.T) {
	for in, want := range map[string]plan.OnFail{
		"retry(2), then escalate": {Retries: 2, Then: plan.Escalate},
		"retry(1), then replan":   {Retries: 1, Then: plan.Replan},
		"Retry (3) then Abort.":   {Retries: 3, Then: plan.Abort},
		"retry(4), skip":          {Retries: 4, Then: plan.Skip},
		"retry(2)":                {Retries: 2, Then: plan.Escalate},
		"retry(0), then abort":    {Then: plan.Abort},
		"escalate":                {Then: plan.Escalate},
		"skip":                    {Then: plan.Skip},
		"retry(999)":              {Retries: 999, Then: plan.Escalate},
	} {
		got, err := plan.ParseOnFail(in)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("ParseOnFail(%q): %v\n%s", in, err, diff)
		}
	}
	for _, in := range []string{
		"", "retry", "retry 2", "retry()", "retry(-1)", "retry(1000)", "retry(two)", "escalate, then abort", "retry(1), then retry(2)",
		"retry(1), then", "retry(1), thenabort", "ignore", "then escalate", "retry(1) or escalate",
	} {
		if got, err := plan.ParseOnFail(in); err == nil {
			t.Errorf("ParseOnFail(%q) = %+v; want an error", in, got)
		}
	}
}

// TestWordsRoundTrip checks that a value is written as something that reads as it.
func TestWordsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := durations().Draw(t, "duration")
		if got, err := plan.ParseDuration(plan.FormatDuration(d)); err != nil || got != d {
			t.Errorf("%v is written %q, which reads as %v, %v", d, plan.FormatDuration(d), got, err)
		}
		b := budgets().Draw(t, "budget")
		if got, err := plan.ParseBudget(b.String()); err != nil || got != b {
			t.Errorf("%+v is written %q, which reads as %+v, %v", b, b, got, err)
		}
		f := policies().Draw(t, "on_fail")
		if got, err := plan.ParseOnFail(f.String()); err != nil || got != f {
			t.Errorf("%+v is written %q, which reads as %+v, %v", f, f, got, err)
		}
	})
}

func durations() *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.Int64Range(1, 366*24*3600*1000), func(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond })
}

func budgets() *rapid.Generator[plan.Budget] {
	return rapid.Custom(func(t *rapid.T) plan.Budget {
		b := plan.Budget{
			Tokens:     rapid.SampledFrom([]int64{0, 1, 999, 200_000, 3_000_000, 1<<63 - 1}).Draw(t, "tokens"),
			CostMicros: rapid.Int64Range(0, 1<<62).Draw(t, "cost"),
		}
		if b == (plan.Budget{}) || rapid.Bool().Draw(t, "timed") {
			b.Wall = durations().Draw(t, "wall")
		}
		return b
	})
}

func policies() *rapid.Generator[plan.OnFail] {
	return rapid.Custom(func(t *rapid.T) plan.OnFail {
		return plan.OnFail{
			Retries: rapid.IntRange(0, 999).Draw(t, "retries"),
			Then:    rapid.SampledFrom([]string{plan.Escalate, plan.Abort, plan.Skip, plan.Replan}).Draw(t, "then"),
		}
	})
}
