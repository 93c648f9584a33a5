package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
)

func TestFromEnv(t *testing.T) {
	type is struct {
		Traces, Metrics string
		Headers         [][2]string
		Timeout         time.Duration
		Resource        string
		Wrong           string
	}
	const base = "OTEL_EXPORTER_OTLP_"
	usual := `service.name=piton service.version=1.2`
	for in, want := range map[string]is{
		"":                               {},
		base + "ENDPOINT=http://a:4318/": {Traces: "http://a:4318/v1/traces", Metrics: "http://a:4318/v1/metrics", Timeout: 10 * time.Second, Resource: usual},
		base + "ENDPOINT=https://a/x OTEL_METRICS_EXPORTER=none OTEL_SERVICE_NAME=ci " + base + "TIMEOUT=500":                                               {Traces: "https://a/x/v1/traces", Timeout: time.Second / 2, Resource: "service.name=ci service.version=1.2"},
		base + "TRACES_ENDPOINT=http://a/only " + base + "HEADERS=authorization=Bearer%20x,b=c " + "OTEL_RESOURCE_ATTRIBUTES=team=a%2Cb,service.name=other": {Traces: "http://a/only", Headers: [][2]string{{"authorization", "Bearer x"}, {"b", "c"}}, Timeout: 10 * time.Second, Resource: "team=a,b service.name=other service.version=1.2"},
		base + "ENDPOINT=http://a OTEL_SDK_DISABLED=true":                                                                                                   {},
		base + "ENDPOINT=http://a OTEL_SDK_DISABLED=no " + base + "METRICS_ENDPOINT= " + base + "TRACES_HEADERS=x=1 " + base + "HEADERS=x=2":                {Traces: "http://a/v1/traces", Metrics: "http://a/v1/metrics", Headers: [][2]string{{"x", "1"}}, Timeout: 10 * time.Second, Resource: usual},
		base + "ENDPOINT=localhost:4317":                          {Wrong: "no address"},
		base + "ENDPOINT=http://a " + base + "PROTOCOL=grpc":      {Wrong: "http/json"},
		base + "ENDPOINT=http://a " + base + "HEADERS=x":          {Wrong: "NAME=VALUE"},
		base + "ENDPOINT=http://a " + base + "HEADERS=x=a%0d%0ab": {Wrong: "NAME=VALUE"},
		base + "ENDPOINT=http://a " + base + "TIMEOUT=soon":       {Wrong: "milliseconds"},
	} {
		s, err := FromEnv(strings.Fields(in), "1.2")
		got := is{Traces: s.traces.url, Metrics: s.metrics.url, Headers: s.traces.headers, Timeout: s.timeout}
		if in == "" || strings.Contains(in, "DISABLED=true") {
			got.Timeout = 0
		}
		if s.On() {
			var words []string
			for _, a := range s.resource {
				words = append(words, a.Key+"="+*a.Value.String)
			}
			got.Resource = strings.Join(words, " ")
		}
		if err != nil {
			got = is{Wrong: want.Wrong}
			if want.Wrong == "" || !strings.Contains(err.Error(), want.Wrong) {
				t.Errorf("%s: %v", in, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

// told is a journal: the step one fails once and passes, the run fails at step two, is taken up
// again and is done.
func told() (records []engine.Record) {
	at := time.Unix(1_700_000_000, 0).UTC()
	seven, three, cents := int64(7), int64(3), int64(20_000)
	for _, e := range []engine.Event{
		engine.TaskOpened{Task: "t"},
		engine.RunOpened{Run: "r1", Title: "Title", Path: "plans/a.md", Version: 1},
		engine.CheckEnded{Step: "one", Attempt: 1, Phase: engine.Baseline, Check: "contract", Verdict: engine.Fail, Exit: 1, Ms: 10},
		engine.WorkDispatched{Step: "one", Attempt: 1, N: 1, Kind: engine.AgentWork, Role: "coder"},
		engine.WorkEnded{Step: "one", Attempt: 1, N: 1, Kind: engine.AgentWork, How: engine.Exited, Usage: engine.Usage{In: &seven, Out: &three, CostMicros: &cents}, Ms: 900},
		engine.CheckEnded{Step: "one", Attempt: 1, Phase: engine.Verifying, Check: "contract", Verdict: engine.Fail, Exit: 1, Ms: 20, Reason: "exit 1"},
		engine.StepSettled{Step: "one", Attempt: 1, Status: engine.Pending, Verdict: engine.Fail, RetryAt: &at},
		engine.WorkDispatched{Step: "one", Attempt: 2, N: 1, Kind: engine.AgentWork, Role: "coder"},
		engine.WorkEnded{Step: "one", Attempt: 2, N: 1, Kind: engine.AgentWork, How: engine.TimedOut, Reason: "too slow"},
		engine.StepSettled{Step: "one", Attempt: 2, Status: engine.Failed, Verdict: engine.Timeout, Reason: "too slow"},
		engine.RunEnded{Status: engine.Failed, Exit: 1, Reason: "step one failed"},
		engine.EpochBegan{Host: "x"},
		engine.Command{Verb: engine.DoRetry, Step: "one"},
		engine.WorkDispatched{Step: "one", Attempt: 1, N: 1, Kind: engine.AgentWork, Role: "coder"},
		engine.WorkEnded{Step: "one", Attempt: 1, N: 1, Kind: engine.AgentWork, How: engine.Exited},
		engine.StepSettled{Step: "one", Attempt: 1, Status: engine.Done, Verdict: engine.Pass, Proven: true},
		engine.CheckEnded{Step: "one", Attempt: 1, Phase: engine.Ratchet, Check: "contract", Verdict: engine.Pass, Ms: 30},
		engine.RunEnded{Status: engine.Done, Proven: 1},
	} {
		at = at.Add(time.Second)
		records = append(records, engine.Record{Stream: "t", Seq: uint64(len(records) + 1), At: at, Event: e})
	}
	return records
}

func noTop(engine.Parent) string { panic("it has no parent") }

// The spans of a journal are a tree of one trace, and the same in every process: also in one
// that begins in the middle.
func TestTrace(t *testing.T) {
	var tr trace
	var spans []span
	for _, r := range told() {
		some, _ := tr.take(r, noTop)
		spans = append(spans, some...)
	}
	type is struct {
		Name, Parent string
		Code         int
		Seconds      float64
	}
	byID, names := map[string]span{}, map[string]string{}
	for _, s := range spans {
		if _, twice := byID[s.SpanID]; twice || s.TraceID != traceID("r1") || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(s.SpanID) {
			t.Errorf("span %+v", s)
		}
		byID[s.SpanID] = s
	}
	for id, s := range byID {
		names[id] = s.Name
		if s.ParentSpanID != "" && byID[s.ParentSpanID].Name == "" {
			t.Errorf("%s has a parent that is not there", s.Name)
		}
	}
	var got []is
	for _, s := range spans {
		got = append(got, is{s.Name, names[s.ParentSpanID], s.Status.Code, nanoTime(s.End).Sub(nanoTime(s.Start)).Seconds()})
	}
	want := []is{
		{"check contract", "step one", isOK, 0.01}, // before the work it may fail
		{"invoke_agent coder", "step one", isOK, 1},
		{"check contract", "step one", isError, 0.02},
		{"invoke_agent coder", "step one", isError, 1},
		{"step one", "invoke_workflow Title", isError, 7.01},
		{"invoke_workflow Title", "", isError, 9},
		{"invoke_agent coder", "step one", isOK, 1},
		{"step one", "invoke_workflow Title", isOK, 2},
		{"check contract", "invoke_workflow Title", isOK, 0.03},
		{"invoke_workflow Title", "invoke_workflow Title", isOK, 5},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	agent := map[string]string{}
	for _, a := range spans[1].Attributes {
		body, err := json.Marshal(a.Value)
		if err != nil {
			t.Fatal(err)
		}
		agent[a.Key] = string(body)
	}
	if agent["gen_ai.operation.name"] != `{"stringValue":"invoke_agent"}` || agent["gen_ai.usage.input_tokens"] != `{"intValue":"7"}` || agent["piton.cost_usd"] != `{"doubleValue":0.02}` || agent["gen_ai.agent.name"] != `{"stringValue":"coder"}` {
		t.Error(agent)
	}
}

// The run that carries out a step is in the trace of the run that it is for in the end.
func TestTraceBelow(t *testing.T) {
	var tr trace
	top := func(p engine.Parent) string { return "top of " + p.Run }
	tr.take(engine.Record{Seq: 1, Event: engine.RunOpened{Run: "below", Parent: engine.Parent{Task: "t", Run: "r1", Step: "sub"}}}, top)
	spans, _ := tr.take(engine.Record{Seq: 2, At: time.Unix(2, 0), Event: engine.RunEnded{Status: engine.Done}}, top)
	if len(spans) != 1 || spans[0].TraceID != traceID("top of r1") || spans[0].ParentSpanID != stepSpan("r1", "sub", 0) {
		t.Errorf("%+v", spans)
	}
}

func TestTallies(t *testing.T) {
	all := tallies{began: time.Unix(1, 0)}
	var tr trace
	for _, r := range told() {
		_, counts := tr.take(r, noTop)
		for _, c := range counts {
			all.add(c)
		}
	}
	got := map[string]string{}
	for _, m := range all.metrics(time.Unix(2, 0)) {
		var points []point
		if m.Sum != nil {
			points = m.Sum.Points
		} else {
			points = m.Histogram.Points
		}
		for _, p := range points {
			var text strings.Builder
			for _, a := range p.Attributes {
				text.WriteString(*a.Value.String + " ")
			}
			if p.AsDouble != nil {
				got[m.Name+" "+strings.TrimSpace(text.String())] = fmt.Sprint(*p.AsDouble)
				continue
			}
			n := 0
			for _, c := range p.Counts {
				k, err := strconv.Atoi(c)
				if err != nil {
					t.Fatal(err)
				}
				n += k
			}
			if strconv.Itoa(n) != p.Count || len(p.Counts) != len(p.Bounds)+1 || p.Start != "1000000000" || p.Time != "2000000000" {
				t.Errorf("%s: %+v", m.Name, p)
			}
			got[m.Name+" "+strings.TrimSpace(text.String())] = fmt.Sprint(*p.Sum, " in ", p.Count)
		}
	}
	want := map[string]string{
		"gen_ai.client.token.usage input invoke_agent coder": "7 in 1", "gen_ai.client.token.usage output invoke_agent coder": "3 in 1", "piton.cost invoke_agent coder": "0.02",
		"piton.attempt.duration agent coder ended": "2 in 2", "piton.attempt.duration agent coder timeout": "1 in 1",
		"piton.step.duration failed": "7.01 in 1", "piton.step.duration done": "2 in 1", "piton.runs failed": "1", "piton.runs done": "1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a collector has no time for is sent again when it says; what it refuses is not; and
// nobody waits for it longer than ctx allows.
func TestSend(t *testing.T) {
	t.Parallel()
	var answers []int
	var asked int
	c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Key") != "k" {
			t.Errorf("%v", r.Header)
		}
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(answers[min(asked, len(answers)-1)])
		asked++
	}))
	defer c.Close()
	to := sink{c.URL, [][2]string{{"x-key", "k"}}}
	for _, try := range []struct {
		answers []int
		asked   int
		refused bool
	}{{[]int{200}, 1, false}, {[]int{503, 200}, 2, false}, {[]int{429, 502, 202}, 3, false}, {[]int{400}, 1, true}, {[]int{500}, 1, true}, {[]int{307}, 1, true}} {
		answers, asked = try.answers, 0
		err := send(t.Context(), to, time.Minute, traceRequest{})
		if _, refused := errors.AsType[refusal](err); asked != try.asked || refused != try.refused || !refused && err != nil {
			t.Errorf("%v: asked %d times, %v", try.answers, asked, err)
		}
	}
	answers = []int{503}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := send(ctx, to, time.Minute, traceRequest{}); err == nil {
		t.Error("it waits for ever")
	}
	c.Close()
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := send(ctx, to, time.Minute, traceRequest{}); err == nil {
		t.Error("nobody is there, and all went well")
	}
}
