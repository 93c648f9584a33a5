//go:build e2e && linux

package page_test

import (
	"bufio"
	"context"
	"fmt"
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
func browser(t *testing.T) (ctx context.Context, ws string) {
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
	piton := filepath.Join(base, "piton")
	if out, err := exec.Command("go", "build", "-o", piton, "github.com/piton-dev/piton/cmd/piton").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
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
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(filepath.Join(base, "profile")))
	alloc, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	tab, closed := chromedp.NewContext(alloc)
	t.Cleanup(closed)
	ctx, cancel := context.WithTimeout(tab, time.Minute)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(e any) { // the policy keeps everything out that the page needs not
		switch e := e.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError {
				t.Errorf("the browser says: %s %s", e.Entry.Text, e.Entry.URL)
			}
		case *runtime.EventExceptionThrown:
			t.Errorf("a script failed: %s", e.ExceptionDetails.Error())
		}
	})
	do(t, ctx, "enter", chromedp.EmulateViewport(1440, 1000), chromedp.Navigate(url), chromedp.WaitVisible("main h1"))
	return ctx, ws
}

func do(t *testing.T, ctx context.Context, what string, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatalf("%s: %v", what, err)
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
			if dir := os.Getenv("PITON_SHOTS"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), png, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	do(t, ctx, name, chromedp.EmulateViewport(1440, 1000))
}

// clicks follows a link or sends a form, and waits for the page behind it.
func clicks(sel, then string) chromedp.Action {
	return chromedp.Tasks{chromedp.Click(sel, chromedp.ByQuery), chromedp.WaitVisible(then, chromedp.ByQuery)}
}

// A person approves a plan, watches it live, allows a step, sees why another one failed, and
// has it tried again: at no time is the page loaded anew.
func TestReviewWatchAnswer(t *testing.T) {
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
	do(t, ctx, "step 3 fails", chromedp.WaitVisible(`#s-1 .g[data-st="ok"]`), chromedp.WaitVisible("#s-2 .err"), chromedp.WaitVisible("#asks .btn"))
	shots(t, ctx, "run-failed")
	var title string
	do(t, ctx, "its title", chromedp.Title(&title))
	if !strings.HasPrefix(title, "(1) ") {
		t.Errorf("the title is %q while something waits", title)
	}
	var stderr string
	do(t, ctx, "its standard error", chromedp.Text("#s-2 .err", &stderr, chromedp.ByQuery))
	if !strings.Contains(stderr, "readers: No such file") {
		t.Errorf("the standard error is %q", stderr)
	}
	do(t, ctx, "the step", clicks("#s-2 .ttl", "#d"))
	shots(t, ctx, "step-failed")
	if err := os.WriteFile(filepath.Join(ws, "readers"), []byte("Ann\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "retry", clicks(`.head a[href*="/runs/"]`, "#steps"), clicks("#asks .btn", "#q"), chromedp.SendKeys("#text", "the readers are listed now"), clicks(`button[value="retry"]`, "#steps"))
	do(t, ctx, "the run is done", chromedp.WaitVisible(`#run .st[data-st="ok"]`))
	shots(t, ctx, "run-done")
	do(t, ctx, "the first step", clicks("#s-0 .ttl", "#d"), chromedp.WaitVisible(".diff .a"))
	shots(t, ctx, "step-done")
	do(t, ctx, "home again", clicks(".brand", ".plans"))
	shots(t, ctx, "home-done")
}
