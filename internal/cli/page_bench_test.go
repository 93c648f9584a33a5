//go:build linux

package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// manySteps is a plan of so many steps, each behind the one so many before it. The first waits
// for a file.
func manySteps(n, beside int, work string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# Many\n\n**parallel:** 4\n\n## Steps\n", plansHead)
	for i := range n {
		fmt.Fprintf(&b, "\n### %d. Step %d\n\n**id:** s%d\n", i+1, i+1, i)
		needs := "none"
		if i >= beside {
			needs = fmt.Sprintf("s%d", i-beside)
		}
		task := work
		if i == 0 {
			task = "until test -e go; do sleep 0.05; done"
		}
		fmt.Fprintf(&b, "**needs:** %s\n**target:** script\n**task:** `%s; touch f%d`\n**contract:** `test -e f%d`\n", needs, task, i, i)
	}
	return b.String()
}

// The first rows of a run of 1,000 steps are there within a second.
func BenchmarkPageFirstRows(b *testing.B) {
	w := newWeb(b, map[string]string{"ws/plans/many.md": manySteps(1000, 25, "true")})
	run := w.start("plans/many.md")
	w.follow(run, 0).until("data-since=")
	for b.Loop() {
		began := time.Now()
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, w.base+run, nil)
		if err != nil {
			b.Fatal(err)
		}
		res, err := w.client.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		page := bufio.NewReader(res.Body)
		for line := ""; !strings.Contains(line, `id="s-20"`); {
			if line, err = page.ReadString('\n'); err != nil {
				b.Fatal(err)
			}
		}
		if took := time.Since(began); took > time.Second {
			b.Errorf("the first rows came after %v", took)
		}
		res.Body.Close()
	}
	b.StopTimer()
	w.piton("cancel", strings.TrimPrefix(run, "/runs/"))
}

// arrival is when a browser heard how far the journal is.
type arrival struct {
	id int
	at time.Time
}

// 100 browsers follow a run. What happens is on all screens within 200 ms, for 99 of 100 events
// and more, and at the end each browser has all of it.
func BenchmarkPageStreams(b *testing.B) {
	const browsers, steps = 100, 150
	for b.Loop() {
		w := newWeb(b, map[string]string{"ws/plans/many.md": manySteps(steps, 4, "sleep 0.2")})
		run := w.start("plans/many.md")
		heard := make([][]arrival, browsers)
		var all sync.WaitGroup
		for n := range browsers {
			s := w.follow(run, 0)
			s.until("data-since=")
			all.Go(func() {
				for !strings.Contains(s.data, done) {
					s.data = ""
					for {
						line, err := s.ReadString('\n')
						if err != nil || line == "\n" {
							break
						}
						if id, ok := strings.CutPrefix(line, "id: "); ok {
							s.id, _ = strconv.Atoi(strings.TrimSpace(id)) // a wrong one is found below
						}
						s.data += strings.TrimPrefix(line, "data: ")
					}
					heard[n] = append(heard[n], arrival{s.id, time.Now()})
				}
			})
		}
		began := time.Now()
		w.write(filepath.Join(w.ws, "go"), "")
		all.Wait()
		took := time.Since(began)
		var late []time.Duration
		events := 0
		for d := json.NewDecoder(strings.NewReader(w.piton("log", strings.TrimPrefix(run, "/runs/"), "--json"))); d.More(); {
			var r struct {
				Data struct {
					Seq int       `json:"seq"`
					At  time.Time `json:"at"`
				} `json:"data"`
			}
			if err := d.Decode(&r); err != nil {
				b.Fatal(err)
			}
			if r.Data.At.Before(began) {
				continue
			}
			events++
			for n, arrivals := range heard {
				at := slices.IndexFunc(arrivals, func(a arrival) bool { return a.id >= r.Data.Seq })
				if at < 0 {
					b.Fatalf("browser %d never heard of event %d", n, r.Data.Seq)
				}
				late = append(late, arrivals[at].at.Sub(r.Data.At))
			}
		}
		if events < 3*steps {
			b.Fatalf("the journal has %d events of %d steps", events, steps)
		}
		slices.Sort(late)
		p99 := late[len(late)*99/100]
		b.ReportMetric(float64(events)/took.Seconds(), "events/s")
		b.ReportMetric(float64(p99.Milliseconds()), "p99-ms")
		b.ReportMetric(float64(late[len(late)/2].Milliseconds()), "median-ms")
		if p99 > 200*time.Millisecond {
			b.Errorf("1 event of 100 comes later than %v", p99)
		}
	}
}
