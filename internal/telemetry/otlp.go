package telemetry

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The requests of OTLP as its encoding in JSON writes them: ids are hexadecimal, enumerations
// are numbers, and whole numbers of 64 bits are strings.

type span struct {
	TraceID      string      `json:"traceId"`
	SpanID       string      `json:"spanId"`
	ParentSpanID string      `json:"parentSpanId,omitempty"`
	Name         string      `json:"name"`
	Kind         int         `json:"kind"`
	Start        string      `json:"startTimeUnixNano"`
	End          string      `json:"endTimeUnixNano"`
	Attributes   []attribute `json:"attributes"`
	Status       *status     `json:"status,omitempty"`
}

type status struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code"`
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

// value is one of its fields.
type value struct {
	String *string  `json:"stringValue,omitempty"`
	Bool   *bool    `json:"boolValue,omitempty"`
	Int    *string  `json:"intValue,omitempty"`
	Double *float64 `json:"doubleValue,omitempty"`
}

func str(key, v string) attribute {
	return attribute{key, value{String: new(strings.ToValidUTF8(v, "\ufffd"))}}
}

func num(key string, v int64) attribute {
	return attribute{key, value{Int: new(strconv.FormatInt(v, 10))}}
}
func flag(key string, v bool) attribute     { return attribute{key, value{Bool: &v}} }
func float(key string, v float64) attribute { return attribute{key, value{Double: &v}} }

func nano(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func nanoTime(s string) time.Time {
	n, _ := strconv.ParseInt(s, 10, 64) // it was made by nano
	return time.Unix(0, n)
}

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type scope struct {
	Name string `json:"name"`
}

const scopeName = "github.com/piton-dev/piton"

type traceRequest struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type scopeSpans struct {
	Scope scope  `json:"scope"`
	Spans []span `json:"spans"`
}

type metricRequest struct {
	ResourceMetrics []resourceMetrics `json:"resourceMetrics"`
}

type resourceMetrics struct {
	Resource     resource       `json:"resource"`
	ScopeMetrics []scopeMetrics `json:"scopeMetrics"`
}

type scopeMetrics struct {
	Scope   scope    `json:"scope"`
	Metrics []metric `json:"metrics"`
}

type metric struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Unit        string     `json:"unit"`
	Sum         *sum       `json:"sum,omitempty"`
	Histogram   *histogram `json:"histogram,omitempty"`
}

// cumulative is the temporality of all metrics: since the process began.
const cumulative = 2

type sum struct {
	Points      []point `json:"dataPoints"`
	Temporality int     `json:"aggregationTemporality"`
	Monotonic   bool    `json:"isMonotonic"`
}

type histogram struct {
	Points      []point `json:"dataPoints"`
	Temporality int     `json:"aggregationTemporality"`
}

// point is one of a sum, which has AsDouble, or of a histogram, which has the fields below it.
type point struct {
	Attributes []attribute `json:"attributes"`
	Start      string      `json:"startTimeUnixNano"`
	Time       string      `json:"timeUnixNano"`
	AsDouble   *float64    `json:"asDouble,omitempty"`
	Count      string      `json:"count,omitempty"`
	Sum        *float64    `json:"sum,omitempty"`
	Counts     []string    `json:"bucketCounts,omitempty"`
	Bounds     []float64   `json:"explicitBounds,omitempty"`
}

// tokenBounds are those that the conventions ask for.
var tokenBounds = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}

// meters are all metrics; one without bounds is a sum.
var meters = []struct {
	name, unit, what string
	bounds           []float64
}{
	{"gen_ai.client.token.usage", "{token}", "Tokens that agents and models said they used.", tokenBounds},
	{"piton.cost", "{USD}", "Cost in US dollars, as far as it is known.", nil},
	{"piton.attempt.duration", "s", "Time that attempts worked.", buckets},
	{"piton.step.duration", "s", "Time from the beginning of a step until it was settled.", buckets},
	{"piton.runs", "{run}", "Runs that ended.", nil},
}

// tallies are the values of all metrics since the process began.
type tallies struct {
	began  time.Time
	series map[string]map[string]*series // by metric and attributes
}

type series struct {
	attributes []attribute
	sum        float64
	n          int
	counts     []int
}

func (t *tallies) add(c count) {
	key, err := json.Marshal(c.attributes)
	if err != nil {
		return // numbers that JSON does not have
	}
	if t.series == nil {
		t.series = map[string]map[string]*series{}
	}
	of := t.series[c.metric]
	if of == nil {
		of = map[string]*series{}
		t.series[c.metric] = of
	}
	s := of[string(key)]
	if s == nil {
		s = &series{attributes: c.attributes}
		of[string(key)] = s
	}
	for _, m := range meters {
		if m.name == c.metric && m.bounds != nil {
			if s.counts == nil {
				s.counts = make([]int, len(m.bounds)+1)
			}
			n, _ := slices.BinarySearch(m.bounds, c.value)
			s.counts[n]++
		}
	}
	s.sum, s.n = s.sum+c.value, s.n+1
}

// metrics are all metrics with a value.
func (t *tallies) metrics(now time.Time) (all []metric) {
	for _, m := range meters {
		var points []point
		for _, key := range sortedKeys(t.series[m.name]) {
			s := t.series[m.name][key]
			p := point{Attributes: s.attributes, Start: nano(t.began), Time: nano(now)}
			if m.bounds == nil {
				p.AsDouble = new(s.sum)
			} else {
				p.Count, p.Sum, p.Bounds = strconv.Itoa(s.n), new(s.sum), m.bounds
				for _, n := range s.counts {
					p.Counts = append(p.Counts, strconv.Itoa(n))
				}
			}
			points = append(points, p)
		}
		switch {
		case points == nil:
		case m.bounds == nil:
			all = append(all, metric{Name: m.name, Description: m.what, Unit: m.unit, Sum: &sum{points, cumulative, true}})
		default:
			all = append(all, metric{Name: m.name, Description: m.what, Unit: m.unit, Histogram: &histogram{points, cumulative}})
		}
	}
	return all
}
