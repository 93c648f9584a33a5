//go:build linux

package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The messages of the OpenTelemetry protocol, as its encoding in JSON has them.
type (
	otlpAttributes []struct {
		Key   string `json:"key"`
		Value struct {
			String *string  `json:"stringValue"`
			Bool   *bool    `json:"boolValue"`
			Int    *string  `json:"intValue"`
			Double *float64 `json:"doubleValue"`
		} `json:"value"`
	}
	otlpSpan struct {
		TraceID    string         `json:"traceId"`
		SpanID     string         `json:"spanId"`
		ParentID   string         `json:"parentSpanId"`
		Name       string         `json:"name"`
		Kind       int            `json:"kind"`
		Start      string         `json:"startTimeUnixNano"`
		End        string         `json:"endTimeUnixNano"`
		Attributes otlpAttributes `json:"attributes"`
		Status     struct {
			Message string `json:"message"`
			Code    int    `json:"code"`
		} `json:"status"`
	}
	otlpResource struct {
		Attributes otlpAttributes `json:"attributes"`
	}
	otlpScope struct {
		Name string `json:"name"`
	}
	otlpTraces struct {
		All []struct {
			Resource otlpResource `json:"resource"`
			Scopes   []struct {
				Scope otlpScope  `json:"scope"`
				Spans []otlpSpan `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	otlpPoints struct {
		Points []struct {
			Attributes otlpAttributes `json:"attributes"`
			Start      string         `json:"startTimeUnixNano"`
			Time       string         `json:"timeUnixNano"`
			AsDouble   *float64       `json:"asDouble"`
			Count      string         `json:"count"`
			Sum        *float64       `json:"sum"`
			Counts     []string       `json:"bucketCounts"`
			Bounds     []float64      `json:"explicitBounds"`
		} `json:"dataPoints"`
		Temporality int  `json:"aggregationTemporality"`
		Monotonic   bool `json:"isMonotonic"`
	}
	otlpMetrics struct {
		All []struct {
			Resource otlpResource `json:"resource"`
			Scopes   []struct {
				Scope   otlpScope `json:"scope"`
				Metrics []struct {
					Name        string      `json:"name"`
					Description string      `json:"description"`
					Unit        string      `json:"unit"`
					Sum         *otlpPoints `json:"sum"`
					Histogram   *otlpPoints `json:"histogram"`
				} `json:"metrics"`
			} `json:"scopeMetrics"`
		} `json:"resourceMetrics"`
	}
)

// collector takes spans and metrics, and refuses every key that the protocol does not have.
type collector struct {
	*testing.T
	mu      sync.Mutex
	busy    bool // it has no time now
	turned  int  // how often it said so
	spans   map[string]otlpSpan
	metrics map[string]bool
	heard   chan struct{} // has one when something came
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		select {
		case c.heard <- struct{}{}:
		default:
		}
	}()
	if c.busy {
		c.turned++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		c.Errorf("%s of %q", r.Method, r.Header.Get("Content-Type"))
	}
	switch r.URL.Path {
	case "/v1/traces":
		var x otlpTraces
		if err := d.Decode(&x); err != nil {
			c.Error(err)
		}
		for _, all := range x.All {
			c.named(all.Resource)
			for _, scope := range all.Scopes {
				for _, s := range scope.Spans {
					c.takes(s)
				}
			}
		}
	case "/v1/metrics":
		var x otlpMetrics
		if err := d.Decode(&x); err != nil {
			c.Error(err)
		}
		for _, all := range x.All {
			c.named(all.Resource)
			for _, scope := range all.Scopes {
				for _, m := range scope.Metrics {
					if c.metrics[m.Name] = true; m.Unit == "" || (m.Sum == nil) == (m.Histogram == nil) {
						c.Errorf("metric %+v", m)
					}
				}
			}
		}
	default:
		c.Errorf("a request to %s", r.URL.Path)
	}
	w.Write([]byte("{}")) //nolint:errcheck // the owner has gone then
}

func (c *collector) named(r otlpResource) {
	for _, a := range r.Attributes {
		if a.Key == "service.name" && a.Value.String != nil && *a.Value.String == "piton" {
			return
		}
	}
	c.Errorf("a resource without a name: %+v", r)
}

var otlpID = regexp.MustCompile(`^[0-9a-f]{32} [0-9a-f]{16} ([0-9a-f]{16})?$`)

func (c *collector) takes(s otlpSpan) {
	start, err := strconv.ParseInt(s.Start, 10, 64)
	end, other := strconv.ParseInt(s.End, 10, 64)
	if !otlpID.MatchString(s.TraceID+" "+s.SpanID+" "+s.ParentID) || err != nil || other != nil || end < start || s.Name == "" || s.Kind < 1 || s.Status.Code < 1 || s.Status.Code > 2 {
		c.Errorf("span %+v", s)
	}
	if was, again := c.spans[s.SpanID]; again && was.Name != s.Name {
		c.Errorf("%s and %s have the same id", was.Name, s.Name)
	}
	c.spans[s.SpanID] = s
}

// until waits until something holds of the spans that came.
func (c *collector) until(what string, holds func(names []string) bool) {
	c.Helper()
	var names []string
	late := time.After(patience)
	for came := true; came; {
		c.mu.Lock()
		names = nil
		for _, s := range c.spans {
			names = append(names, s.Name+" "+strconv.Itoa(s.Status.Code))
		}
		ok := holds(names)
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-c.heard:
		case <-late:
			came = false
		}
	}
	slices.Sort(names)
	c.Fatalf("%s: the spans are %q", what, names)
}

// A collector gets one trace of a run, with its steps, attempts and checks: also where it had no
// time at first, where the run is taken up again later, and where the owner died before it sent.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	c := &collector{T: t, busy: true, spans: map[string]otlpSpan{}, metrics: map[string]bool{}, heard: make(chan struct{}, 1)}
	server := httptest.NewServer(c)
	defer server.Close()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &web{t: t, ws: filepath.Join(dir, "ws"), env: append(os.Environ(), "PITON_STATE="+filepath.Join(dir, "state"), "HOME="+dir, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL)}
	if err := os.MkdirAll(b.ws, 0o755); err != nil {
		t.Fatal(err)
	}
	b.write(filepath.Join(b.ws, "plan.md"), plansHead+"# Ship\n\n## Steps\n\n### 1. Good\n\n**id:** good\n**target:** script\n**task:** `touch good`\n**contract:** `test -e good`\n\n"+
		"### 2. Bad\n\n**id:** bad\n**target:** script\n**task:** `cp go came`\n**contract:** `test -e came`\n**on_fail:** abort\n")
	if out := b.fails("run", "plan.md", "--yes"); strings.Contains(out, "telemetry was") {
		t.Errorf("the run waits for the collector: %s", out)
	}
	turned := func(n int) {
		t.Helper()
		c.until("it was never asked", func([]string) bool { return c.turned > n })
	}
	turned(0)
	c.set(false)
	has := func(want ...string) func([]string) bool {
		return func(names []string) bool {
			return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(names, w) })
		}
	}
	c.until("the run that failed", has("invoke_workflow Ship 2", "step good 1", "step bad 2", "script 1", "check contract 1", "check contract 2"))

	// The owner of the run that goes on is killed before the collector has time.
	before := c.set(true)
	b.write(filepath.Join(b.ws, "go"), "")
	run := regexp.MustCompile(`"id":"([0-9a-f]{6})"`).FindStringSubmatch(b.piton("list", "--json"))[1]
	b.piton("retry", "bad", "--run", run)
	b.piton("resume", run)
	turned(before)
	pid := ownerOf(b.ws)
	if pid == 0 {
		t.Fatal("there is no owner to kill")
	}
	syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // it may have ended since
	c.set(false)
	b.write(filepath.Join(b.ws, "other.md"), plansHead+"# Other\n\n## Steps\n\n### 1. Only\n\n**target:** script\n**task:** `touch only`\n**contract:** `test -e only`\n")
	b.piton("run", "other.md", "--yes")
	c.until("the run that was taken up", has("invoke_workflow Ship 1", "step bad 1", "invoke_workflow Other 1"))
	unowned(t, b.ws, 0)

	traces, roots := map[string]bool{}, 0
	for _, s := range c.spans {
		traces[s.TraceID] = true
		if s.ParentID == "" {
			roots++
		} else if parent, ok := c.spans[s.ParentID]; !ok || parent.TraceID != s.TraceID {
			t.Errorf("%s has no parent in its trace", s.Name)
		}
	}
	if len(traces) != 2 || roots != 2 {
		t.Errorf("two runs have %d traces and %d roots", len(traces), roots)
	}
	for _, name := range []string{"piton.runs", "piton.step.duration", "piton.attempt.duration"} {
		if !c.metrics[name] {
			t.Errorf("no metric %s: %v", name, c.metrics)
		}
	}
}

func (c *collector) set(busy bool) (turned int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = busy
	return c.turned
}

// fails runs a verb that ends with another code than 0.
func (b *web) fails(args ...string) string {
	b.t.Helper()
	out, err := b.command(args...).CombinedOutput()
	if err == nil {
		b.t.Fatalf("piton %v went well:\n%s", args, out)
	}
	return string(out)
}
