//go:build gate && linux

package page_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// wants waits until the steps of the page have an order.
func wants(titles ...string) chromedp.Action {
	return polls(`[...document.querySelectorAll(".steps .ttl")].map((e) => e.textContent).join("|") === "` + strings.Join(titles, "|") + `"`)
}

// ready waits until the scripts of a page are there.
func ready() chromedp.Action { return polls(`document.readyState === "complete"`) }

// shows waits until a page is there with all its scripts, and shows something.
func shows(sel string) chromedp.Action {
	return polls(`document.readyState === "complete" && document.querySelector(` + strconv.Quote(sel) + `)?.checkVisibility()`)
}

// polls waits until a script says true. While one page gives way to another there is nothing to
// ask.
func polls(script string) chromedp.Action {
	there := chromedp.Poll(script, nil)
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			if err := there.Do(ctx); err == nil || ctx.Err() != nil {
				return err
			}
		}
	})
}

// presses presses a key that has the focus anywhere.
func presses(key string, mod ...input.Modifier) chromedp.Action {
	return chromedp.KeyEvent(key, chromedp.KeyModifiers(mod...))
}

// A person fixes a finding with its button, edits, moves by key and by hand, is refused what
// breaks a need, takes an edit back, comments, and starts. The page is never loaded anew.
func TestReviewEdits(t *testing.T) {
	t.Parallel()
	ctx, ws := browser(t)
	file := filepath.Join(ws, "plans", "bad.md")
	text := func() string {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	before := text()
	do(t, ctx, "the plan", clicks(`.drafts a[href$="bad.md"]`, ".diag"), chromedp.Evaluate(`window.same = true`, nil))
	do(t, ctx, "fix it", taps(`.diag [value^="fix:"]`), chromedp.WaitVisible(`#start [value="start"]`))
	if strings.Contains(text(), "|| true") {
		t.Errorf("the file has\n%s", text())
	}
	do(t, ctx, "undo it", taps(`[value="undo"]`), chromedp.WaitVisible(".diag"))
	if text() != before {
		t.Errorf("the file has\n%s", text())
	}
	do(t, ctx, "fix it again", taps(`.diag [value^="fix:"]`), chromedp.WaitVisible(`#start [value="start"]`))

	a, b, c := "Write the notes", "Send them", "Count the readers"
	do(t, ctx, "to the first step", polls(`document.activeElement.textContent === "`+b+`"`), presses("k"), polls(`document.activeElement.textContent === "`+a+`"`))
	do(t, ctx, "move it down", presses(kb.ArrowDown, input.ModifierAlt), wants(b, a, c), polls(`document.activeElement.textContent === "`+a+`"`))
	do(t, ctx, "and down", presses(kb.ArrowDown, input.ModifierAlt), wants(b, c, a))
	do(t, ctx, "and up, and up", presses(kb.ArrowUp, input.ModifierAlt), wants(b, a, c), presses(kb.ArrowUp, input.ModifierAlt), wants(a, b, c))

	do(t, ctx, "edit the second", presses("j"), presses("e"), chromedp.WaitVisible(`textarea[name="text"]`), polls(`document.activeElement.name === "text"`))
	shots(t, ctx, "review-edit")
	do(t, ctx, "to no step", chromedp.SetValue(`textarea[name="text"]`, "only words", chromedp.ByQuery), presses(kb.Enter, input.ModifierCtrl), chromedp.WaitVisible(`.step [role="alert"]`))
	var kept string
	do(t, ctx, "what was typed is there", chromedp.Value(`textarea[name="text"]`, &kept, chromedp.ByQuery))
	if kept != "only words" {
		t.Errorf("the text is %q", kept)
	}
	shots(t, ctx, "review-refused")
	written := strings.Join([]string{"### 2. Send them", "", "**needs:** write-the-notes", "**target:** script", "**task:**", "```shell", "cp notes.md sent.md", "```", "**contract:** `cmp notes.md sent.md`", ""}, "\n")
	do(t, ctx, "to another step", chromedp.SetValue(`textarea[name="text"]`, written, chromedp.ByQuery), presses(kb.Enter, input.ModifierCtrl), chromedp.WaitNotPresent(`textarea[name="text"]`))
	if !strings.Contains(text(), written) {
		t.Errorf("the file has\n%s", text())
	}

	do(t, ctx, "before what it needs it does not go", presses(kb.ArrowUp, input.ModifierAlt), chromedp.WaitVisible(`#s-send-them [role="alert"]`), wants(a, b, c))
	do(t, ctx, "nor by hand", drags("#s-send-them .grip", "#s-write-the-notes .grip"), polls(`document.querySelector("#s-send-them [role=alert]")`), wants(a, b, c))
	do(t, ctx, "the third goes by hand", drags("#s-count-the-readers .grip", "#s-write-the-notes .grip"), wants(c, a, b), polls(`document.activeElement.textContent === "`+c+`"`))
	if at := slices.IndexFunc(strings.Split(text(), "\n"), func(l string) bool { return l == "### 3. "+c }); at < 0 || at > 14 {
		t.Errorf("the file has\n%s", text())
	}
	var same bool
	do(t, ctx, "it was never loaded anew", chromedp.Evaluate(`window.same === true`, &same))
	if !same {
		t.Error("the page was loaded anew")
	}

	// An editor saves while the person types: nothing of either is lost.
	do(t, ctx, "edit again", taps(`#s-send-them [data-hotkey="e"]`), chromedp.WaitVisible(`textarea[name="text"]`))
	other := strings.Replace(text(), "cp notes.md sent.md", "cp -p notes.md sent.md", 1)
	if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "save over it", chromedp.SetValue(`textarea[name="text"]`, written+"**timeout:** 1m\n", chromedp.ByQuery), presses(kb.Enter, input.ModifierCtrl), chromedp.WaitVisible(`.step.sel [role="alert"]`))
	if text() != other {
		t.Errorf("the other's text is lost:\n%s", text())
	}
	do(t, ctx, "what was typed is there", chromedp.Value(`textarea[name="text"]`, &kept, chromedp.ByQuery))
	if !strings.Contains(kept, "**timeout:** 1m") {
		t.Errorf("the text is %q", kept)
	}
	shots(t, ctx, "review-changed")
	do(t, ctx, "leave it", presses(kb.Escape), chromedp.WaitNotPresent(`textarea[name="text"]`))
	do(t, ctx, "start", taps(`#start [value="start"]`), chromedp.WaitVisible("#asks .btn"))
}

// drags drags an element onto another one by hand, and lets go once it lies before it.
func drags(from, to string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var at [4]float64
		script := `(() => { const m = (s) => { const r = document.querySelector(s).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; };
			document.querySelector("` + to + `").scrollIntoView({block: "center"}); return [...m("` + from + `"), ...m("` + to + `")]; })()`
		if err := chromedp.Evaluate(script, &at).Do(ctx); err != nil {
			return err
		}
		x, y := at[0], at[1]
		acts := chromedp.Tasks{chromedp.MouseEvent(input.MouseMoved, x, y), chromedp.MouseEvent(input.MousePressed, x, y, chromedp.ButtonLeft)}
		for n := 1; n <= 10; n++ {
			part := float64(n) / 10
			acts = append(acts, chromedp.MouseEvent(input.MouseMoved, x+(at[2]-x)*part, y+(at[3]-4-y)*part, chromedp.ButtonLeft))
		}
		acts = append(acts, polls(`document.querySelector("`+from+`").closest("[data-step]").nextElementSibling === document.querySelector("`+to+`").closest("[data-step]")`))
		return append(acts, chromedp.MouseEvent(input.MouseReleased, at[2], at[3]-4, chromedp.ButtonLeft)).Do(ctx)
	})
}

// Keys lead through the pages: to find, to the list of keys, from row to row; and none of them
// does anything while a person types, or once they are turned off.
func TestKeys(t *testing.T) {
	t.Parallel()
	ctx, ws := browser(t)
	if err := os.WriteFile(filepath.Join(ws, "plans", "call.md"), []byte(call), 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "find", ready(), presses("/"), shows("#palette[open] input"))
	shots(t, ctx, "find")
	do(t, ctx, "words", chromedp.SendKeys("#palette input", "readers n", chromedp.ByQuery), polls(`document.querySelector("#palette .hits a .q")?.textContent === "Count the readers"`))
	do(t, ctx, "open what was found", presses(kb.Enter), shows("#s-count-the-readers"))
	do(t, ctx, "plans", presses("g"), presses("p"), shows(".drafts"))
	do(t, ctx, "the list of keys", presses("?"), shows("#keys[open]"))
	shots(t, ctx, "keys")
	do(t, ctx, "turned off", taps("#keys-on"), presses(kb.Escape), polls(`!document.querySelector("#keys").open`), presses("/"))
	var open bool
	do(t, ctx, "nothing", chromedp.Evaluate(`document.querySelector("#palette").open`, &open))
	if open {
		t.Error("a key that was turned off does something")
	}
	do(t, ctx, "turned on", chromedp.Evaluate(`document.getElementById("keys").showModal()`, nil), taps("#keys-on"), presses(kb.Escape), polls(`!document.querySelector("#keys").open`))
	shots(t, ctx, "plans")
	do(t, ctx, "a new plan", presses("n"), shows("main .note.t-warn"))
	shots(t, ctx, "new")

	do(t, ctx, "the words", taps(`footer a[href$="/words"]`), shows(".words"))
	shots(t, ctx, "words")

	do(t, ctx, "a row", presses("g"), presses("p"), shows(".drafts"), presses("j"), presses("j"), polls(`document.activeElement.textContent === "Calls"`))
	do(t, ctx, "open it", presses(kb.Enter), shows(`#start [value="start"]`))
	do(t, ctx, "start it", presses(kb.Enter, input.ModifierCtrl), shows("#asks .btn"))
	do(t, ctx, "the inbox", presses("g"), presses("i"), shows(`[name="args.path"]`))
	var icon string
	do(t, ctx, "its sign", chromedp.AttributeValue("#icon", "href", &icon, nil, chromedp.ByQuery))
	if !strings.HasSuffix(icon, "icon-waiting.svg") {
		t.Errorf("the sign is %s", icon)
	}
	shots(t, ctx, "inbox-call")
	do(t, ctx, "enter answers nothing", chromedp.Evaluate(`(() => { const f = document.getElementsByName("args.path")[0]; f.focus(); f.value = "../out.txt"; })()`, nil), presses(kb.Enter), shows(`[name="args.path"]`))
	do(t, ctx, "a wrong value", chromedp.Evaluate(`document.getElementsByName("args")[0].value = '{"path": 3, "content": "planned"}'`, nil), presses(kb.Enter, input.ModifierCtrl), shows(`main [role="alert"]`))
	shots(t, ctx, "inbox-wrong")
	do(t, ctx, "another one", chromedp.Evaluate(`(() => { const f = document.getElementsByName("args.path")[0]; f.value = "other.txt"; f.blur(); })()`, nil), presses("a"), shows(`#run .st[data-st="warn"]`))
	if body, err := os.ReadFile(filepath.Join(ws, "other.txt")); err != nil || string(body) != "planned" {
		t.Errorf("the call wrote %q, %v", body, err)
	}
}

const call = "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# Calls\n\n## Steps\n\n### 1. Write\n\n**tool:** write_file\n**approval:** look at it first\n**args:**\n```json\n{\"path\": \"out.txt\", \"content\": \"planned\"}\n```\n"
