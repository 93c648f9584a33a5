//go:build gate && linux

package page_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/piton-dev/piton/bench/agents/model"
)

// greeting is a plan for an agent, with steps after it that wait for files.
const greeting = `---
type: plan
status: draft
owner: me
---

# Greet

**permissions:** ask

## Steps

### 1. Greet

**target:** copilot
**task:** Greet. SCRIPT [{"run": "echo hello > hello.txt"}, {"say": "All done."}]
**contract:** ` + "`grep -q hello hello.txt`" + `
**writes:** hello.txt

### 2. Wait for the line

**target:** script
**task:** ` + "`until test -e line; do sleep 0.05; done; touch lined`" + `
**contract:** ` + "`test -e lined`" + `

### 3. Go on

**target:** script
**task:** ` + "`touch on`" + `
**contract:** ` + "`test -e on`" + `

### 4. Wait for the end

**target:** script
**task:** ` + "`touch last; until test -e end; do sleep 0.05; done; touch ended`" + `
**contract:** ` + "`test -e ended`" + `
`

// A person watches a run. Its agent, which is a real one, asks in the middle of its work, and
// goes on when the page says yes. The connection is cut while steps end, and comes back. The
// owner is killed, and the page says so, and has the run go on. At the end nothing is missing.
func TestCutAndKilled(t *testing.T) {
	programs := filepath.Join(os.Getenv("PITON_AGENTS"), "node_modules", ".bin")
	if _, err := os.Stat(filepath.Join(programs, "copilot")); err != nil {
		t.Fatalf("PITON_AGENTS names no directory with the agent programs; bench/agents/install DIRECTORY makes one: %v", err)
	}
	m, err := model.Start("sesame")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	for name, value := range map[string]string{"OFFLINE": "true", "MODEL": model.Scripted, "PROVIDER_BASE_URL": m.URL + "/v1", "PROVIDER_API_KEY": "sesame"} {
		t.Setenv("COPILOT_"+name, value)
	}
	ctx, ws := browser(t)
	base := filepath.Dir(ws)
	says(t, ws, "init", "--acp")
	if err := os.WriteFile(filepath.Join(ws, "plans", "greet.md"), []byte(greeting), 0o600); err != nil {
		t.Fatal(err)
	}
	touch := func(name string) {
		if err := os.WriteFile(filepath.Join(ws, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	do(t, ctx, "start", clicks(".brand", ".drafts"), clicks(`.drafts a[href$="greet.md"]`, "#start"), clicks(`#start [value="start"]`, "#run"))
	do(t, ctx, "the agent asks", clicks("#asks .btn", "#q"))
	var asked string
	do(t, ctx, "what it asks", chromedp.Text("article", &asked, chromedp.ByQuery))
	for _, want := range []string{"may the agent copilot run", "echo hello > hello.txt", "Allow once"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the item has no %q:\n%s", want, asked)
		}
	}
	shots(t, ctx, "inbox-permission")
	do(t, ctx, "allow", clicks(`button[value="allow"]`, "#run"), chromedp.Evaluate(`window.same = true`, nil), shows(`#s-0 .g[data-st="ok"]`), shows(`#s-1 .g[data-st="run"]`))

	do(t, ctx, "it hears that the stream is there", chromedp.Evaluate(`document.addEventListener("beat", () => { window.beat = true; })`, nil), polls(`window.beat`))
	do(t, ctx, "after a long silence it connects again", chromedp.Evaluate(`(() => {
		const now = Date.now;
		Date.now = () => now() + 60000;
		document.addEventListener("htmx:sse:after:connection", () => { Date.now = now; window.again = true; }, {once: true});
	})()`, nil), polls(`window.again`), shows(`#live[data-tone="ok"]`))
	do(t, ctx, "cut", network.Enable(), network.EmulateNetworkConditions(true, 0, -1, -1))
	touch("line")
	do(t, ctx, "it says so", shows(`#live[data-tone="warn"]`))
	do(t, ctx, "the run goes on", chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			if _, err := os.Stat(filepath.Join(ws, "last")); err == nil {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(50 * time.Millisecond):
			}
		}
	}))
	var stood, live string
	do(t, ctx, "nothing comes", chromedp.AttributeValue(`#s-1 .g`, "data-st", &stood, nil, chromedp.ByQuery), chromedp.Text("#live", &live, chromedp.ByQuery))
	if stood != "run" || !strings.HasPrefix(live, "Reconnecting, last update ") {
		t.Errorf("without a connection the page says %q, and step 2 is %q", live, stood)
	}
	do(t, ctx, "it comes back", network.EmulateNetworkConditions(false, 0, -1, -1), shows(`#s-2 .g[data-st="ok"]`), shows(`#s-3 .g[data-st="run"]`), shows(`#live[data-tone="ok"]`))
	misses(t, ctx, "after the cut")

	ends(t, filepath.Join(base, "state"), syscall.SIGKILL)
	do(t, ctx, "it says so", shows("#run .note.t-warn"), shows(`#s-3 .g[title="interrupted"]`), shows(`#orders [value="resume"]`))
	misses(t, ctx, "after the kill")
	var same bool
	do(t, ctx, "it was never loaded anew", chromedp.Evaluate(`window.same === true`, &same))
	if !same {
		t.Error("the page was loaded anew")
	}
	touch("end")
	do(t, ctx, "resume", clicks(`#orders [value="resume"]`, `#run .st[data-st="ok"]`), shows(`#s-3 .g[data-st="ok"]`))
	misses(t, ctx, "at the end")
}

// misses compares the log with that of a page that is loaded now, and with the lines before it.
func misses(t *testing.T, ctx context.Context, when string) {
	t.Helper()
	var logs [2][]string
	do(t, ctx, "its log", chromedp.Evaluate(`(async () => {
		for (let left = 50; ; left--) { // what has happened may be on its way
			const fresh = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
			const logs = [];
			for (const d of [fresh, document]) {
				const log = d.querySelector("#log").cloneNode(true);
				for (let a; a = log.querySelector(".older"); a.remove()) {
					const before = new DOMParser().parseFromString(await (await fetch(a.getAttribute("hx-get"))).text(), "text/html");
					a.after(...before.body.children);
				}
				logs.push([...log.querySelectorAll(":scope > div")].map((e) => e.textContent));
			}
			if (!left || logs[0].join() === logs[1].join()) return logs;
			await new Promise((go) => setTimeout(go, 200));
		}
	})()`, &logs, awaits))
	if fresh, lives := logs[0], logs[1]; len(fresh) == 0 || !slices.Equal(fresh, lives) {
		t.Errorf("%s the log is\n%s\nand that of a fresh page\n%s", when, strings.Join(lives, "\n"), strings.Join(fresh, "\n"))
	}
}
