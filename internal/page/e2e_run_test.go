//go:build gate && linux

package page_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// ledger is a plan with steps beside each other, of which one fails at first, and one waits for a
// file.
const ledger = `---
type: plan
status: draft
owner: me
---

# Make capture idempotent

**budget:** 10m
**parallel:** 3

## Steps

### 1. Write the capture

**id:** capture
**target:** script
**task:**
` + "```shell\nmkdir -p pay; printf 'package pay\\n\\n// Capture takes it.\\nfunc Capture(id string) error {\\n\\tkey := NewKey(id)\\n\\treturn send(key, 12)\\n}\\n' > pay/capture.go\n```" + `
**writes:** pay/**
**contract:** ` + "`test -s pay/capture.go`" + `

### 2. Thread the key

**id:** thread
**needs:** capture
**target:** script
**task:**
` + "```shell\nsed -i 's/NewKey(id)/FromDelivery(id)/; s/12/13/' pay/capture.go; seq 400 > pay/table.csv\n```" + `
**writes:** pay/**
**contract:** ` + "`grep -q FromDelivery pay/capture.go`" + `

### 3. Wait for the load test

**id:** load
**needs:** capture
**target:** script
**task:**
` + "```shell\nuntil test -e go; do sleep 0.1; done; touch loaded\n```" + `
**contract:** ` + "`test -e loaded`" + `

### 4. Review it

**id:** review
**needs:** thread
**target:** script
**task:** ` + "`touch reviewed`" + `
**contract:** ` + "`test -e reviewed && cat approved`" + `
**on_fail:** retry(1), then escalate

### 5. Publish

**id:** publish
**needs:** review, load
**target:** script
**task:** ` + "`touch published`" + `
**contract:** ` + "`test -e published`" + `
`

// A person watches steps that run beside each other, looks at one after the other without
// that the page is loaded anew, finds why one did not pass, what it changed, and where the time went.
func TestRunPages(t *testing.T) {
	t.Parallel()
	ctx, ws := browser(t)
	file := filepath.Join(ws, "plans", "ledger.md")
	if err := os.WriteFile(file, []byte(ledger), 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "the plan", clicks(".brand", ".drafts"), clicks(`.drafts a[href$="ledger.md"]`, "#start"), clicks(`#start [value="start"]`, "#run"))
	do(t, ctx, "step 4 fails while step 3 runs", chromedp.WaitVisible(`.n[data-key="review"][data-st="you"]`), chromedp.WaitVisible(`#s-3 .g[data-st="you"]`))
	var said string
	do(t, ctx, "it opens by itself", chromedp.WaitVisible("#panel .err"), chromedp.Text("#panel .err", &said, chromedp.ByQuery))
	if !strings.Contains(said, "approved: No such file") {
		t.Errorf("its standard error is %q", said)
	}
	shots(t, ctx, "run-beside")

	do(t, ctx, "another step", chromedp.Evaluate(`window.same = true`, nil), taps("#s-1 .ttl"), chromedp.WaitVisible(`#s-1[aria-current]`))
	var is [4]string
	do(t, ctx, "is the same everywhere", chromedp.Evaluate(`[document.querySelector(".n[aria-current]").dataset.key, document.querySelector("#panel h2").textContent,
		document.querySelector(".logbar h2").textContent, location.search + window.same + (document.activeElement.textContent)]`, &is))
	if want := [4]string{"thread", "2 Thread the key", "Log of thread", "?step=threadtrueThread the key"}; is != want {
		t.Errorf("looked at is %q, want %q", is, want)
	}
	shots(t, ctx, "run-step")
	do(t, ctx, "back", chromedp.Evaluate(`history.back()`, nil), chromedp.WaitVisible(`#s-3[aria-current]`))
	do(t, ctx, "by the graph", taps(`.n[data-key="load"] a`), chromedp.WaitVisible(`#s-2[aria-current]`))

	if err := os.WriteFile(filepath.Join(ws, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "the graph follows", chromedp.WaitVisible(`.n[data-key="load"][data-st="ok"]`), chromedp.WaitVisible(`#s-2 .b.ok`))
	if err := os.WriteFile(filepath.Join(ws, "approved"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "retry step 4", taps(`.n[data-key="review"] a`), chromedp.WaitVisible(`#s-3[aria-current]`), taps("#panel .more-of summary"), taps(`#panel [value="retry"]`), chromedp.WaitVisible(`.n[data-key="review"][data-st="ok"]`))
	do(t, ctx, "it is done", chromedp.WaitVisible(`#run .st[data-st="ok"]`), chromedp.WaitVisible(`.n[data-key="publish"][data-st="ok"]`))
	do(t, ctx, "its files come when they are seen", chromedp.ScrollIntoView("#files", chromedp.ByQuery), chromedp.WaitVisible(`#files a[href*="/steps/thread#"]`))
	shots(t, ctx, "run-over")

	do(t, ctx, "find in the log", chromedp.SendKeys(`.logbar [name="q"]`, "exit=1\r", chromedp.ByQuery), chromedp.WaitVisible(`.logbar [name="q"][value="exit=1"]`), chromedp.WaitVisible(`#log .er`))
	var lines, hits int
	do(t, ctx, "only these", chromedp.Evaluate(`document.querySelectorAll("#log > div").length`, &lines), chromedp.Evaluate(`document.querySelectorAll("#log > .er").length`, &hits))
	if lines != hits || hits != 2 {
		t.Errorf("%d lines, %d of attempts that failed", lines, hits)
	}

	do(t, ctx, "what it changed", chromedp.Navigate(here(t, ctx, "thread")), chromedp.WaitVisible(".code .a ins"))
	var ins string
	do(t, ctx, "word by word", chromedp.Text(".code .a ins", &ins, chromedp.ByQuery))
	if ins != "FromDelivery" {
		t.Errorf("the first word that came is %q", ins)
	}
	shots(t, ctx, "step-difference")
	do(t, ctx, "where time went", clicks(`.head a[href*="/runs/"]`, "#run"), taps(`#run a[href$="/retro"]`), chromedp.WaitVisible(".shares"))
	shots(t, ctx, "retro")

	if err := os.WriteFile(file, []byte(strings.Replace(strings.Replace(ledger, "### 5. Publish", "### 5. Publish it", 1), "`test -e reviewed && cat approved`", "`test -e reviewed`", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "another text", clicks(".brand", ".drafts"), clicks(`.drafts a[href$="ledger.md"]`, "#start"), taps(`#start [name="weaker"]`), clicks(`#start [value="start"]`, "#run"))
	do(t, ctx, "its revisions", taps(`#run a[href*="/revisions/"]`), chromedp.WaitVisible(".sxs"))
	shots(t, ctx, "revisions")
}

// here is the page of a step of the run that the browser looks at.
func here(t *testing.T, ctx context.Context, step string) (url string) {
	t.Helper()
	do(t, ctx, "where it is", chromedp.Evaluate(fmt.Sprintf(`location.origin + location.pathname + "/steps/%s"`, step), &url))
	return url
}

// The log follows what comes until the reader scrolls up, and again when they come back.
func TestLogFollows(t *testing.T) {
	t.Parallel()
	ctx, ws := browser(t)
	var b strings.Builder
	b.WriteString("---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# Many\n\n## Steps\n")
	for n := range 60 {
		wait := ""
		if n >= 40 {
			wait = fmt.Sprintf("until test -e go%d; do sleep 0.05; done; ", n/10)
		}
		fmt.Fprintf(&b, "\n### %d. Step %d\n\n**target:** script\n**task:** `%stouch f%d`\n**contract:** `test -e f%d`\n", n+1, n+1, wait, n, n)
	}
	if err := os.WriteFile(filepath.Join(ws, "plans", "many.md"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	opens := func(n int) {
		if err := os.WriteFile(filepath.Join(ws, fmt.Sprintf("go%d", n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	end := `(() => { const l = document.getElementById("log"); return l.scrollHeight - l.scrollTop - l.clientHeight < 24; })()`
	do(t, ctx, "start", clicks(".brand", ".drafts"), clicks(`.drafts a[href$="many.md"]`, "#start"), clicks(`#start [value="start"]`, "#run"), chromedp.WaitVisible(`#s-39 .g[data-st="ok"]`), polls(end))
	// A line comes before the browser tells that the reader scrolled.
	up := `{const l = document.getElementById("log"); l.scrollTop = 40; l.append(l.lastElementChild.cloneNode(true))}`
	do(t, ctx, "scroll up", chromedp.Evaluate(up, nil), chromedp.WaitVisible("#newest"))
	opens(4)
	var top float64
	do(t, ctx, "more comes", chromedp.WaitVisible(`#s-49 .g[data-st="ok"]`), chromedp.Evaluate(`document.getElementById("log").scrollTop`, &top))
	if top != 40 {
		t.Errorf("the log went to %v by itself", top)
	}
	do(t, ctx, "come back", chromedp.Evaluate(`{const l = document.getElementById("log"); l.scrollTop = l.scrollHeight}`, nil), chromedp.WaitNotVisible("#newest"))
	opens(5)
	do(t, ctx, "it follows", chromedp.WaitVisible(`#s-59 .g[data-st="ok"]`), polls(end))
	shots(t, ctx, "run-many")
}

// A person looks at what keeps a step from its proof, and says that it is the work.
func TestVouches(t *testing.T) {
	t.Parallel()
	ctx, ws := browser(t)
	for name, text := range map[string]string{
		"sum.txt": "wrong\n",
		"plans/sum.md": "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# Sum\n\n## Steps\n\n### 1. Add\n\n**target:** script\n" +
			"**task:** `echo right >sum.txt`\n**contract:** `grep -q right sum.txt`\n",
	} {
		if err := os.WriteFile(filepath.Join(ws, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do(t, ctx, "start", clicks(".brand", ".drafts"), clicks(`.drafts a[href$="sum.md"]`, "#start"), clicks(`#start [value="start"]`, "#run"), chromedp.WaitVisible(`#run .st[data-st="warn"]`))
	do(t, ctx, "the step", taps("#s-0 .ttl"), chromedp.WaitVisible(`#panel [value="vouch"]`))
	shots(t, ctx, "run-unproven")
	var said string
	do(t, ctx, "it is the work", taps(`#panel [value="vouch"]`), chromedp.WaitVisible(`#run .st[data-st="ok"]`), chromedp.WaitNotPresent(`#run [data-st="warn"]`), clicks("#s-0 .ttl", "#panel .reason"), chromedp.Text("#panel .reason", &said, chromedp.ByQuery))
	if !strings.HasSuffix(said, "says that these are the work: sum.txt") {
		t.Errorf("the step says %q", said)
	}
}

// A page comes to life although its scripts come late, and although its stream of events is
// refused at first.
func TestLateScripts(t *testing.T) {
	t.Parallel()
	ctx, ws := browser(t)
	do(t, ctx, "the plan", clicks(".brand", ".drafts"), clicks(`.drafts a[href$="notes.md"]`, "#start"), clicks(`#start [value="start"]`, "#run"), chromedp.WaitVisible("#asks .btn"))
	refused := 0
	chromedp.ListenTarget(ctx, func(e any) {
		paused, is := e.(*fetch.EventRequestPaused)
		if !is {
			return
		}
		events := strings.Contains(paused.Request.URL, "/events")
		refuse := events && refused < 2
		if refuse {
			refused++
		}
		go func() {
			act := chromedp.Action(fetch.ContinueRequest(paused.RequestID))
			if refuse {
				act = fetch.FailRequest(paused.RequestID, network.ErrorReasonConnectionRefused)
			}
			if !events { // until the other scripts had time enough to begin without it
				act = chromedp.Tasks{chromedp.Evaluate(`new Promise((done) => setTimeout(done, 300))`, nil, awaits), act}
			}
			if err := chromedp.Run(ctx, act); err != nil && ctx.Err() == nil {
				t.Errorf("let %s go: %v", paused.Request.URL, err)
			}
		}()
	})
	do(t, ctx, "anew", network.SetCacheDisabled(true), fetch.Enable().WithPatterns([]*fetch.RequestPattern{{URLPattern: "*/events*"}, {URLPattern: "*/hx-sse*"}}), chromedp.Reload(), shows("#asks .btn"))
	var path string
	do(t, ctx, "its run", chromedp.Evaluate(`location.pathname`, &path))
	says(t, ws, "answer", filepath.Base(path)+"/1", "approve")
	do(t, ctx, "it is told", chromedp.WaitVisible(`#s-1 .g[data-st="ok"]`))
	if refused != 2 {
		t.Errorf("%d streams were refused", refused)
	}
}
