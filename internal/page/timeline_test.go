package page

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func at(s float64) time.Time { return noon.Add(time.Duration(s * float64(time.Second))) }

// Time in which nothing is at work is drawn narrow, and the order of moments is kept.
func TestScale(t *testing.T) {
	for _, c := range []struct {
		name string
		work [][2]float64
		end  float64
		gaps int
		x    map[float64]float64 // percent by second
	}{
		{"nothing", nil, 10, 0, map[float64]float64{0: 0, 5: 50, 10: 100}},
		{"one", [][2]float64{{0, 100}}, 100, 0, map[float64]float64{0: 0, 25: 25, 100: 100}},
		{"short pauses stay", [][2]float64{{0, 40}, {60, 100}}, 100, 0, map[float64]float64{50: 50}},
		{"days", [][2]float64{{0, 100}, {200_000, 200_100}}, 200_100, 1, map[float64]float64{100: 48.5, 200_000: 51.5, 200_050: 75.75}},
		{"beside each other", [][2]float64{{0, 60}, {30, 100}, {10, 20}}, 100, 0, map[float64]float64{60: 60}},
		{"only waiting", nil, 100_000, 1, map[float64]float64{50_000: 50}},
	} {
		var work []view.Ahead
		for _, w := range c.work {
			work = append(work, view.Ahead{From: at(w[0]), To: at(w[1])})
		}
		s := scaled(noon, at(c.end), work, false)
		gaps := 0
		for _, p := range s.pieces {
			if p.gap {
				gaps++
			}
		}
		if gaps != c.gaps {
			t.Errorf("%s: %d gaps, want %d", c.name, gaps, c.gaps)
		}
		for sec, want := range c.x {
			if x := s.x(at(sec)); math.Abs(x-want) > 0.01 {
				t.Errorf("%s: second %v is at %.2f, want %.2f", c.name, sec, x, want)
			}
		}
		last := -1.0
		for i := range 101 {
			x := s.x(at(c.end * float64(i) / 100))
			if x < last || x < 0 || x > 100 {
				t.Errorf("%s: %d%% of the time is at %v, behind %v", c.name, i, x, last)
			}
			last = x
		}
	}
}

// The scale stays while the end moves on, whether something is at work or not.
func TestScaleStays(t *testing.T) {
	for _, work := range [][]view.Ahead{{{From: noon, To: at(90)}}, {{From: noon, To: at(50)}, {From: at(60), To: at(104)}}} {
		first, later := scaled(noon, at(100), work, true), scaled(noon, at(104), work, true)
		if a, b := first.x(at(45)), later.x(at(45)); a != b || a < 38 || later.x(at(104)) >= 100 {
			t.Errorf("second 45 is at %v, and at %v four seconds later", a, b)
		}
	}
}

func TestTicks(t *testing.T) {
	s := scaled(noon, at(1450), []view.Ahead{{From: noon, To: at(1450)}}, false)
	ticks, gaps := s.ticks()
	if got, want := fmt.Sprint(ticks, gaps), "[{20.69 5:00} {41.38 10:00} {62.07 15:00} {82.76 20:00}] []"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s = scaled(noon, at(90_060), []view.Ahead{{From: noon, To: at(60)}, {From: at(90_000), To: at(90_060)}}, false)
	if _, gaps = s.ticks(); len(gaps) != 1 || gaps[0].Text != "24:59:00" {
		t.Errorf("the gaps are %v", gaps)
	}
}

// The bars of a step are its attempts with how each ended, its waits, and what is to come.
func TestBars(t *testing.T) {
	c := &chronicle{tries: map[[2]string]*trials{}, items: map[string]*trials{}}
	note := func(s float64, e engine.Event) { c.note("r", engine.Record{At: at(s), Event: e}) }
	note(0, engine.WorkDispatched{Step: "a", Attempt: 1, N: 1, Kind: engine.ScriptWork, Prompt: "p"})
	note(9, engine.CheckEnded{Step: "a", Attempt: 1})
	retry := at(10)
	note(10, engine.StepSettled{Step: "a", Attempt: 1, Status: engine.Running, Verdict: engine.Fail, RetryAt: &retry})
	note(10, engine.StepSettled{Step: "a", Attempt: 2, Status: engine.Running})
	note(20, engine.WorkDispatched{Step: "a", Attempt: 2, N: 1, Kind: engine.ScriptWork, Prompt: "p"})
	note(25, engine.WorkEnded{Step: "a", Attempt: 2, How: engine.Lost})
	note(30, engine.WorkDispatched{Step: "a", Attempt: 2, N: 2, Kind: engine.ScriptWork, Prompt: "p"})
	note(40, engine.StepSettled{Step: "a", Attempt: 2, Status: engine.Waiting, Verdict: engine.Fail})
	note(40, engine.ItemOpened{Item: "1", Step: "a"})
	note(50, engine.ItemAnswered{Item: "1"})
	note(60, engine.WorkDispatched{Step: "a", Attempt: 3, N: 1, Kind: engine.ScriptWork, Prompt: "q"})
	st := view.Standing{Head: engine.HeadRow{Run: "r", Started: noon}, Now: at(100), Carried: true}
	s := scale{noon, []piece{{from: noon, to: at(200), w: 100}}}
	o := view.Outlook{Spans: map[string]view.Ahead{"a": {From: at(100), To: at(150)}}}
	row := engine.StepRow{ID: "a"}
	var got strings.Builder
	for _, b := range c.bars(st, s, row, o) {
		got.WriteString(fmt.Sprintf("%s+%s %s %s\n", b.X, b.W, b.Kind, b.Text))
	}
	want := `0.00+5.00 bad attempt 1 failed after 10s
10.00+2.50 cut attempt 2 ended after 5.0s, with the same script as before
15.00+5.00 bad attempt 2 failed after 10s
30.00+20.00 run attempt 3 goes on
20.00+5.00 you waited for you 10s
50.00+25.00 est about 50s to come
`
	if got.String() != want {
		t.Errorf("the bars are\n%swant\n%s", got.String(), want)
	}
	st.Carried = false
	if bars := c.bars(st, s, row, view.Outlook{}); bars[3].Kind != "cut" || bars[3].Since != 0 {
		t.Errorf("nobody carries it on, and its bar is %v", bars[3])
	}
	note(110, engine.StepSettled{Step: "a", Attempt: 3, Status: engine.Done, Verdict: engine.Pass})
	if bars := c.bars(st, s, row, view.Outlook{}); bars[3].Kind != "ok" || bars[3].W != "25.00" {
		t.Errorf("it is done, and its bar is %v", bars[3])
	}
}
