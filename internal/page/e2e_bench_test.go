//go:build e2e && linux

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

var manySteps = flag.Int("page.steps", 1000, "how many steps the run has that BenchmarkLive looks at")

// BenchmarkLive looks at a run at some 20 events a second, ten seconds each time. It reports what
// part of a core the scripts of the page and all its work need, and what memory the page and the
// server have. Ten minutes of it: -bench Live -benchtime 60x -page.steps 2600.
func BenchmarkLive(b *testing.B) {
	ctx, ws := browser(b)
	var text strings.Builder
	text.WriteString("---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# Many\n\n**parallel:** 8\n\n## Steps\n")
	for i := range *manySteps {
		needs, work := "none", "sleep 2"
		if i >= 8 {
			needs = fmt.Sprintf("s%d", i-8)
		}
		if i == 0 {
			work = "until test -e go; do sleep 0.05; done"
		}
		fmt.Fprintf(&text, "\n### %d. Step %d\n\n**id:** s%d\n**needs:** %s\n**target:** script\n**task:** `%s; touch f%d`\n**contract:** `test -e f%d`\n", i+1, i+1, i, needs, work, i, i)
	}
	if err := os.WriteFile(filepath.Join(ws, "plans", "many.md"), []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	run := regexp.MustCompile(`run (\w+)`).FindStringSubmatch(says(b, ws, "run", "plans/many.md", "--yes", "--detach"))
	if run == nil {
		b.Fatal("no run")
	}
	do(b, ctx, "the run", chromedp.ActionFunc(func(ctx context.Context) error {
		var at string
		if err := chromedp.Location(&at).Do(ctx); err != nil {
			return err
		}
		return chromedp.Navigate(regexp.MustCompile(`^https?://[^/]*/[^/]*`).FindString(at) + "/runs/" + run[1]).Do(ctx)
	}), shows("#s-20"), performance.Enable())
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
	b.ReportMetric(first["JSHeapUsedSize"]/1e6, "MB-heap-first")
	b.ReportMetric(last["JSHeapUsedSize"]/1e6, "MB-heap-last")
	b.ReportMetric(float64(rss)/1e3, "MB-server-first")
	b.ReportMetric(float64(resident(b))/1e3, "MB-server-last")
	b.ReportMetric(float64(strings.Count(says(b, ws, "log", run[1], "--json"), "\n"))/took, "events/s")
	says(b, ws, "cancel", run[1])
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
