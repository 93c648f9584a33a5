//go:build gate && linux

package page_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

var (
	manySteps = flag.Int("page.steps", 1000, "how many steps the run has that BenchmarkLive looks at")
	rate      = flag.Int("page.rate", 20, "how many events a second BenchmarkLive asks for, 300 at most")
)

// many opens a run whose steps wait for the file go. Then they work for so long that rate events
// happen in a second, if the machine can.
func many(t testing.TB, ctx context.Context, ws string, steps, rate int) (run string) {
	t.Helper()
	const beside, each = 8, 7 // steps at a time, and events of a step
	var text strings.Builder
	text.WriteString("---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# Many\n\n**parallel:** 8\n\n## Steps\n")
	for i := range steps {
		needs, work := "none", fmt.Sprintf("sleep %.2f", float64(beside*each)/float64(rate))
		if i >= beside {
			needs = fmt.Sprintf("s%d", i-beside)
		}
		if i == 0 {
			work = "until test -e go; do sleep 0.05; done"
		}
		fmt.Fprintf(&text, "\n### %d. Step %d\n\n**id:** s%d\n**needs:** %s\n**target:** script\n**task:** `%s; touch f%d`\n**contract:** `test -e f%d`\n", i+1, i+1, i, needs, work, i, i)
	}
	for name, text := range map[string]string{"plans/many.md": text.String(), ".piton/config.yaml": "policy:\n  isolation: none\n  max_parallel: 8\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(ws, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(ws, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opened := regexp.MustCompile(`run (\w+)`).FindStringSubmatch(says(t, ws, "run", "plans/many.md", "--yes", "--detach"))
	if opened == nil {
		t.Fatal("no run")
	}
	do(t, ctx, "the run", chromedp.ActionFunc(func(ctx context.Context) error {
		var at string
		if err := chromedp.Location(&at).Do(ctx); err != nil {
			return err
		}
		return chromedp.Navigate(regexp.MustCompile(`^https?://[^/]*/[^/]*`).FindString(at) + "/runs/" + opened[1]).Do(ctx)
	}), shows("#s-20"))
	return opened[1]
}

// A run with up to 200 events a second, as the machine can, loses none on its way to the screen.
func TestFlood(t *testing.T) {
	t.Parallel()
	ctx, ws := browser(t)
	const steps = 400
	many(t, ctx, ws, steps, 200)
	if err := os.WriteFile(filepath.Join(ws, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "the end", shows(`#run .st:has([href="#i-ok"])`))
	misses(t, ctx, "at the end")
	var done int
	do(t, ctx, "its steps", chromedp.Evaluate(`document.querySelectorAll('#steps .g:has([href="#i-ok"])').length`, &done))
	if done != steps {
		t.Errorf("%d of %d steps are done on the page", done, steps)
	}
}

// BenchmarkLive looks at a run for ten seconds each time. It reports what part of a core the
// scripts of the page and all its work need, and what memory the page and the server have. Ten
// minutes of it: -bench Live -benchtime 60x -page.steps 1800.
func BenchmarkLive(b *testing.B) {
	ctx, ws := browser(b)
	run := many(b, ctx, ws, *manySteps, *rate)
	do(b, ctx, "what it needs", performance.Enable())
	if err := os.WriteFile(filepath.Join(ws, "go"), nil, 0o600); err != nil {
		b.Fatal(err)
	}
	first, last := measured(b, ctx), measurement{}
	rss := resident(b)
	for b.Loop() {
		<-time.After(10 * time.Second)
		last = measured(b, ctx)
	}
	took := last["Timestamp"] - first["Timestamp"]
	b.ReportMetric(100*(last["ScriptDuration"]-first["ScriptDuration"])/took, "%-script")
	b.ReportMetric(100*(last["TaskDuration"]-first["TaskDuration"])/took, "%-page")
	b.ReportMetric(100*(last["LayoutDuration"]-first["LayoutDuration"])/took, "%-layout")
	b.ReportMetric(100*(last["RecalcStyleDuration"]-first["RecalcStyleDuration"])/took, "%-style")
	b.ReportMetric(first["JSHeapUsedSize"]/1e6, "MB-heap-first")
	b.ReportMetric(last["JSHeapUsedSize"]/1e6, "MB-heap-last")
	b.ReportMetric(float64(rss)/1e3, "MB-server-first")
	b.ReportMetric(float64(resident(b))/1e3, "MB-server-last")
	b.ReportMetric(float64(strings.Count(says(b, ws, "log", run, "--json"), "\n"))/took, "events/s")
	says(b, ws, "cancel", run)
}

// measurement is what a page tells of itself, by the names that Chromium has for it.
type measurement map[string]float64

// measured measures a page once it has thrown away what it needs no more.
func measured(b *testing.B, ctx context.Context) measurement {
	m := measurement{}
	do(b, ctx, "measure", heapprofiler.CollectGarbage(), chromedp.ActionFunc(func(ctx context.Context) error {
		all, err := performance.GetMetrics().Do(ctx)
		for _, one := range all {
			m[one.Name] = one.Value
		}
		return err
	}))
	return m
}

// resident is the memory of the server, and of the owner behind it, in kB.
func resident(b *testing.B) (sum int) {
	b.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range all {
		status, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(status), "Name:\tpiton\n") {
			continue // it has ended, or is another program
		}
		if kb := regexp.MustCompile(`VmRSS:\s*(\d+)`).FindSubmatch(status); kb != nil {
			n, err := strconv.Atoi(string(kb[1]))
			if err != nil {
				b.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}
