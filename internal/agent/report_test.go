package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
)

func TestParseReport(t *testing.T) {
	cases := []struct {
		line string
		want *Report
	}{
		{`{"type":"progress","text":"a","percent":40}`, &Report{Type: Progress, Text: "a", Percent: new(40.0)}},
		{`{"type":"progress","percent":0}`, &Report{Type: Progress, Percent: new(0.0)}},
		{`{"type":"progress","text":"a","percent":101}`, &Report{Type: Progress, Text: "a"}},
		{`{"type":"progress","percent":-1}`, nil},
		{`{"type":"log","text":" \u001b[31mred\u001b[0m\r\n "}`, &Report{Type: Log, Text: "red"}},
		{`{"type":"discovery","text":"d","other":[1]}`, &Report{Type: Discovery, Text: "d"}},
		{`{"type":"question","text":"q"}`, &Report{Type: Question, Text: "q"}},
		{`{"type":"blocked","text":""}`, nil},
		{`{"type":"usage","tokens_in":0}`, &Report{Type: UsageReport, Usage: engine.Usage{In: new(int64(0))}}},
		{`{"type":"usage","tokens_out":7,"cumulative":true}`, &Report{Type: UsageReport, Usage: engine.Usage{Out: new(int64(7))}, Cumulative: true}},
		{`{"type":"usage","tokens_in":-1,"cost_usd":0.0000014}`, &Report{Type: UsageReport, Usage: engine.Usage{CostMicros: new(int64(1))}, Odd: true}},
		{`{"type":"usage","tokens_in":1000000000000}`, &Report{Type: UsageReport, Usage: engine.Usage{In: new(int64(1e12))}}},
		{`{"type":"usage","tokens_in":1000000000001}`, &Report{Type: UsageReport, Usage: engine.Usage{In: new(int64(1e12))}, Odd: true}},
		{`{"type":"usage","tokens_in":9000000000000000000000}`, &Report{Type: UsageReport, Usage: engine.Usage{In: new(int64(1e12))}, Odd: true}},
		{`{"type":"usage","tokens_in":3,"tokens_out":1e400}`, &Report{Type: UsageReport, Usage: engine.Usage{In: new(int64(3)), Out: new(int64(1e12))}, Odd: true}},
		{`{"type":"usage","tokens_in":3,"tokens_out":"many"}`, &Report{Type: UsageReport, Usage: engine.Usage{In: new(int64(3))}, Odd: true}},
		{`{"type":"usage","tokens_in":3,"tokens_out":2.5}`, &Report{Type: UsageReport, Usage: engine.Usage{In: new(int64(3))}, Odd: true}},
		{`{"type":"usage","tokens_in":3,"tokens_out":null}`, &Report{Type: UsageReport, Usage: engine.Usage{In: new(int64(3))}}},
		{`{"type":"usage","cost_usd":1e300}`, &Report{Type: UsageReport, Usage: engine.Usage{CostMicros: new(int64(1e12))}, Odd: true}},
		{`{"type":"usage","cost_usd":-0.1}`, nil},
		{`{"type":"usage"}`, nil},
		{`{"type":"usage","tokens_in":"many"}`, nil},
		{`{"type":"done","text":"all checks pass"}`, nil},
		{`{"text":"no type"}`, nil},
		{`{"type":"log","text":"two"} {"type":"log","text":"lines"}`, nil},
		{`[]`, nil},
		{`null`, nil},
		{`"log"`, nil},
		{`{`, nil},
		{"\xff\x00", nil},
	}
	for _, c := range cases {
		r, ok := parseReport([]byte(c.line))
		if ok != (c.want != nil) {
			t.Errorf("%s: ok is %t", c.line, ok)
		} else if ok {
			if diff := cmp.Diff(*c.want, r); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.line, diff)
			}
		}
	}
}

func TestUsageAddsUp(t *testing.T) {
	var c Claims
	for _, line := range []string{
		`{"type":"usage","tokens_in":100,"tokens_out":10}`,
		`{"type":"usage","tokens_in":100}`,
		`{"type":"usage","tokens_in":150,"cumulative":true}`,
		`{"type":"usage","tokens_in":5}`,
		`{"type":"usage","tokens_in":0,"tokens_out":3,"cumulative":true}`,
	} {
		r, _ := parseReport([]byte(line))
		c.add(r)
	}
	want := engine.Usage{In: new(int64(205)), Out: new(int64(10))} // no total takes anything back
	if diff := cmp.Diff(want, c.Usage); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReadClaims(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report")
	text := `{"type":"usage","tokens_in":3,"tokens_out":-3}` + "\n" + `{"type":"usage","tokens_in":0,"output_tokens":9,"a\u001b":1}` + "\ngarbage \xff\x00\n\n" + strings.Repeat("x", MaxLine+1) + "\n" +
		`{"type":"log","text":"` + strings.Repeat("y", MaxLine-25) + "\"}\n" +
		strings.Repeat(`{"type":"question","text":"why?"}`+"\n", MaxClaims+3) + `{"type":"blocked","text":"at the end"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, notes := readClaims(path)
	if len(c.Questions) != MaxClaims || c.Blocked != "at the end" {
		t.Errorf("%d questions, blocked %q", len(c.Questions), c.Blocked)
	}
	want := []string{"lines of the report that were not understood: 1; the first: garbage \ufffd", "words of the report that mean nothing: \"a\\x1b\", \"output_tokens\"", "lines of the report with tokens or a cost that cannot be true: 1; more than 10^12 tokens count as 10^12, more than $1,000,000 as $1,000,000, and what is no amount as unknown", "lines of the report that were too long: 1", "discoveries, questions or frames beyond those kept: 3"}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDocumentedReports: the page shows every form, with every key, and each as
// it is read.
func TestDocumentedReports(t *testing.T) {
	page, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "`PITON_REPORT` takes one JSON object a line")
	_, after, _ = strings.Cut(after, "```json\n")
	block, _, _ := strings.Cut(after, "```")
	types, keys := map[ReportType]bool{}, map[string]bool{}
	for line := range strings.Lines(block) {
		r, ok := parseReport([]byte(line))
		if none := strange([]byte(line)); !ok || len(none) > 0 {
			t.Errorf("%s is no report, or has keys that none has: %q", line, none)
		}
		types[r.Type] = true
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatal(err)
		}
		for key := range object {
			keys[key] = true
		}
	}
	if len(types) != 7 || len(keys) != reflect.TypeFor[reportLine]().NumField() {
		t.Errorf("the page shows the types %v with the keys %v", types, keys)
	}
}

// TestWatchHandsOnNoMoreThanItMay: a flood of reports ends somewhere.
func TestWatchHandsOnNoMoreThanItMay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(path, []byte(strings.Repeat(`{"type":"log","text":"x"}`+"\n", MaxReports+10)), 0o600); err != nil {
		t.Fatal(err)
	}
	told := 0
	startWatch(&watch{path: path, tell: func(Report) { told++ }}).finish()
	if told != MaxReports {
		t.Errorf("told %d, want %d", told, MaxReports)
	}
}

func TestLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := newLog(path)
	l.left = 10
	for range 3 {
		l.write([]byte("1234567"))
	}
	note := l.note()
	l.close()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(body); !strings.HasPrefix(s, "1234567123\n… output beyond") || strings.Count(s, "…") != 2 || note == "" {
		t.Errorf("log %q, note %q", s, note)
	}
}

func TestPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var still atomic.Bool
		p := newPulse(time.Minute, func() { still.Store(true) })
		for range 5 {
			time.Sleep(59 * time.Second)
			p.touch()
		}
		if synctest.Wait(); still.Load() {
			t.Error("it was taken for dead though it was touched")
		}
		time.Sleep(61 * time.Second)
		if synctest.Wait(); !still.Load() {
			t.Error("it was not taken for dead after a minute")
		}
		p.stop()
	})
}

// FuzzReport: whatever a report holds and however it arrives, reading it costs
// no more than its size, and no claim leaves its bounds.
func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"type":"usage","tokens_in":1,"cost_usd":0.1}`+"\n"+`{"type":"log","text":"x"}`), 3)
	f.Add([]byte("\n\n\x00\xff{}\n"), 1)
	f.Add([]byte(strings.Repeat(`{"type":"discovery","text":"é\u001b[2J"}`+"\n", 200)), 1000)
	f.Fuzz(func(t *testing.T, body []byte, size int) {
		read := func(size int) (c Claims, n int) {
			var l lines
			take := func(line []byte) {
				n++
				if r, ok := parseReport(line); ok {
					c.add(r)
				}
			}
			for rest := body; len(rest) > 0; rest = rest[min(size, len(rest)):] {
				l.feed(rest[:min(size, len(rest))], take)
			}
			l.end(take)
			return c, n + l.tooLong
		}
		whole, n := read(max(1, len(body)))
		pieces, m := read(min(max(1, size), 1000))
		if diff := cmp.Diff(whole, pieces); diff != "" || n != m {
			t.Fatalf("it depends on how the report arrives: %d and %d lines\n%s", n, m, diff)
		}
		for _, text := range append(append([]string{whole.Blocked}, whole.Discoveries...), whole.Questions...) {
			if len(text) > MaxText || !utf8.ValidString(text) || strings.Contains(text, "\x1b") {
				t.Errorf("%q", text)
			}
		}
		for _, n := range []*int64{whole.Usage.In, whole.Usage.Out, whole.Usage.CostMicros} {
			if n != nil && *n < 0 {
				t.Errorf("a usage of %d", *n)
			}
		}
	})
}
