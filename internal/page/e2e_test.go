//go:build gate && linux

package page_test

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"golang.org/x/sys/unix"

	"github.com/piton-dev/piton/internal/built"
)

const plan = `---
type: plan
status: draft
owner: me
---

# Publish the notes

**budget:** 10m

## Steps

### 1. Write the notes

**target:** script
**task:**
` + "```shell\nsleep 2; printf '# Notes\\n\\nAll of it.\\n' > notes.md\n```" + `
**contract:** ` + "`grep -q 'All of it' notes.md`" + `
**writes:** notes.md

### 2. Send them

**approval:** it goes to everybody
**target:** script
**task:**
` + "```shell\nsleep 1; cp notes.md sent.md\n```" + `
**contract:** ` + "`cmp notes.md sent.md`" + `

### 3. Count the readers

**target:** script
**task:**
` + "```shell\nwc -l < notes.md > count\n```" + `
**contract:** ` + "`cat readers >&2 && grep -q 3 count`" + `
**on_fail:** retry(1), then escalate
`

// browser is Chromium at the page of a new workspace. Set PITON_SHOTS to a directory to get
// pictures of what it shows.
func browser(t testing.TB) (ctx context.Context, ws string) {
	t.Helper()
	base := t.TempDir()
	ws = filepath.Join(base, "notes")
	if err := os.MkdirAll(filepath.Join(ws, "plans"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ws, "plans", "notes.md"), []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := strings.Replace(plan, "`cmp notes.md sent.md`", "`cmp notes.md sent.md || true`", 1)
	if err := os.WriteFile(filepath.Join(ws, "plans", "bad.md"), []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	piton, err := built.Into(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ends(t, filepath.Join(base, "state"), syscall.SIGTERM) })
	serve := exec.Command(piton, "serve")
	serve.Dir, serve.Stderr = ws, os.Stderr
	serve.Env = append(os.Environ(), "PITON_STATE="+filepath.Join(base, "state"), "HOME="+base)
	out, err := serve.StdoutPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	url := regexp.MustCompile(`http://\S+`).FindString(line)
	if err != nil || url == "" {
		t.Fatalf("piton serve printed %q, %v", line, err)
	}
	t.Cleanup(func() {
		serve.Process.Signal(syscall.SIGINT) //nolint:errcheck // it has ended then
		if err := serve.Wait(); err != nil {
			t.Errorf("piton serve ended with %v", err)
		}
	})
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU) // its profile is its own: parts of it are written for a while after its end
	alloc, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	tab, closed := chromedp.NewContext(alloc)
	t.Cleanup(closed)
	t.Cleanup(func() { _ = chromedp.Cancel(tab) }) // waits for its end
	ctx, cancel := context.WithTimeout(tab, 15*time.Minute)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(e any) { // the policy keeps everything out that the page needs not
		switch e := e.(type) {
		case *log.EventEntryAdded:
			if refused := strings.Contains(e.Entry.Text, "status of 422") || strings.Contains(e.Entry.Text, "status of 409") || strings.Contains(e.Entry.Text, "ERR_CONNECTION_REFUSED") || strings.Contains(e.Entry.Text, "ERR_INTERNET_DISCONNECTED"); e.Entry.Level == log.LevelError && !refused {
				t.Errorf("the browser says: %s %s", e.Entry.Text, e.Entry.URL)
			}
		case *runtime.EventExceptionThrown:
			t.Errorf("a script failed: %s", e.ExceptionDetails.Error())
		}
	})
	if err := chromedp.Run(ctx); err != nil { // it lives as long as this context
		t.Fatal(err)
	}
	do(t, ctx, "enter", chromedp.EmulateViewport(1440, 1000), chromedp.Navigate(url), chromedp.WaitVisible("main h1"))
	return ctx, ws
}

// ends has the owner of each workspace get a signal, and waits for its end.
func ends(t testing.TB, state string, sig syscall.Signal) {
	t.Helper()
	locks, err := filepath.Glob(filepath.Join(state, "*", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range locks {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
		held := lock
		if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &held); err != nil {
			t.Fatal(err)
		}
		if held.Type != unix.F_UNLCK {
			syscall.Kill(int(held.Pid), sig) //nolint:errcheck // it has ended then
		}
		if err := unix.FcntlFlock(f.Fd(), unix.F_SETLKW, &lock); err != nil {
			t.Error(err)
		}
	}
}

// says runs a verb in the workspace, and returns what it prints.
func says(t testing.TB, ws string, args ...string) string {
	t.Helper()
	base := filepath.Dir(ws)
	c := exec.Command(filepath.Join(base, "piton"), args...)
	c.Dir, c.Env = ws, append(os.Environ(), "PITON_STATE="+filepath.Join(base, "state"), "HOME="+base)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("piton %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// awaits waits for what a script promises.
func awaits(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

func do(t testing.TB, ctx context.Context, what string, actions ...chromedp.Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		var shown string
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		_ = chromedp.Run(last, chromedp.Evaluate(`location.href + "\n" + document.querySelector("main")?.innerText.slice(0, 4000)`, &shown)) // else nothing is shown
		t.Fatalf("%s: %v; the page is %s", what, err, shown)
	}
}

// shots takes pictures of a page at two widths, light and dark. None may be wider than the screen.
func shots(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	for _, width := range []int64{1440, 390} {
		for _, scheme := range []string{"light", "dark"} {
			var png []byte
			var wide bool
			do(t, ctx, name, chromedp.EmulateViewport(width, 1000),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				chromedp.Evaluate(`document.documentElement.scrollWidth > innerWidth`, &wide), chromedp.FullScreenshot(&png, 100))
			if wide {
				t.Errorf("%s is wider than %d", name, width)
			}
			barriers(t, ctx, fmt.Sprintf("%s at %d, %s", name, width, scheme))
			if dir := os.Getenv("PITON_SHOTS"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), png, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	do(t, ctx, name, chromedp.EmulateViewport(1440, 1000))
}

//go:embed testdata/axe.min.js
var axe string

// barriers reports what of a page keeps people from using it.
func barriers(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	var found []string
	do(t, ctx, name, chromedp.ActionFunc(func(ctx context.Context) error {
		var there bool
		if err := chromedp.Evaluate(`typeof axe === "object"`, &there).Do(ctx); err != nil || there {
			return err
		}
		return chromedp.Evaluate(axe+"; null", nil).Do(ctx)
	}), chromedp.Evaluate(`axe.run(document, {runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}).then((r) =>
		r.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary.split("\n").slice(1, 3).join(" ")).join(" | ")))`,
		&found, awaits))
	for _, f := range found {
		t.Errorf("%s: %s", name, f)
	}
}

// taps clicks what can be seen and is not covered, as soon as it is so. The page looks and clicks
// in one step: any part of it may be drawn anew at any other time.
func taps(sel string) chromedp.Action {
	return polls(fmt.Sprintf(`(() => {
		const e = document.readyState === "complete" && document.querySelector(%q);
		if (!e || !e.checkVisibility()) return false;
		e.scrollIntoView({block: "center"});
		const r = e.getClientRects()[0], hit = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
		if (!e.contains(hit) && !hit?.contains(e)) return false;
		e.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}));
		return true;
	})()`, sel))
}

// clicks follows a link or sends a form, and waits for the page behind it.
func clicks(sel, then string) chromedp.Action { return chromedp.Tasks{taps(sel), shows(then)} }

// A person approves a plan, watches it live, allows a step, sees why another one failed, and
// has it tried again: at no time is the page loaded anew.
func TestReviewWatchAnswer(t *testing.T) {
	t.Parallel()
	ctx, ws := browser(t)
	shots(t, ctx, "home")
	do(t, ctx, "a plan with mistakes", clicks(`.drafts a[href$="bad.md"]`, ".diag"))
	shots(t, ctx, "review-bad")
	do(t, ctx, "review", clicks(".brand", ".drafts"), clicks(`.drafts a[href$="notes.md"]`, "#start button"))
	shots(t, ctx, "review")
	do(t, ctx, "approve and start", clicks("#start button.pri", "#steps"))
	do(t, ctx, "step 1 runs, and is done", chromedp.WaitVisible(`#s-0 .g[data-st="ok"]`), chromedp.WaitVisible("#asks .btn"))
	shots(t, ctx, "run-asks")
	do(t, ctx, "the item", clicks("#asks .btn", "#q"))
	shots(t, ctx, "inbox")
	do(t, ctx, "approve", clicks(`button[value="approve"]`, "#steps"))
	do(t, ctx, "step 3 fails", chromedp.WaitVisible(`#s-1 .g[data-st="ok"]`), chromedp.WaitVisible("#panel .err"), chromedp.WaitVisible("#asks .btn"))
	shots(t, ctx, "run-failed")
	var title string
	do(t, ctx, "its title", chromedp.Title(&title))
	if !strings.HasPrefix(title, "(1) ") {
		t.Errorf("the title is %q while something waits", title)
	}
	do(t, ctx, "its standard error", polls(`document.querySelector("#panel .err")?.textContent.includes("readers: No such file")`))
	do(t, ctx, "the step", clicks("#panel .btn", "#d"))
	shots(t, ctx, "step-failed")
	if err := os.WriteFile(filepath.Join(ws, "readers"), []byte("Ann\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "retry", clicks(`.head a[href*="/runs/"]`, "#steps"), clicks("#asks .btn", "#q"), chromedp.SendKeys("#text", "the readers are listed now"), clicks(`button[value="retry"]`, "#steps"))
	do(t, ctx, "the run is done", chromedp.WaitVisible(`#run .st[data-st="ok"]`))
	shots(t, ctx, "run-done")
	do(t, ctx, "the first step", taps("#s-0 .ttl"), clicks(`#panel .btn[href$="/write-the-notes"]`, "#d"), chromedp.WaitVisible(".diff .a"))
	shots(t, ctx, "step-done")
	do(t, ctx, "home again", clicks(".brand", ".plans"))
	shots(t, ctx, "home-done")
}
