//go:build linux

package cli_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// web is a browser without scripts, at the page of a workspace.
type web struct {
	t        testing.TB
	ws, base string
	env      []string
	client   *http.Client
}

// serve begins a server of the workspace, which ends with the test, and returns what it prints.
func (b *web) serve(args ...string) io.Reader {
	b.t.Helper()
	serve := exec.Command("piton", append([]string{"serve"}, args...)...)
	serve.Dir, serve.Env, serve.Stderr = b.ws, b.env, os.Stderr
	out, err := serve.StdoutPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		serve.Process.Signal(os.Interrupt) //nolint:errcheck // it has ended then
		if err := serve.Wait(); err != nil {
			b.t.Errorf("piton serve ended with %v", err)
		}
	})
	return out
}

// newWeb serves the page of a new workspace with some files. Those below agents/ are what agents do.
func newWeb(t testing.TB, files map[string]string) *web {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &web{t: t, ws: filepath.Join(dir, "ws"), env: append(os.Environ(), "PITON_STATE="+filepath.Join(dir, "state"), "HOME="+filepath.Join(dir, "home"))}
	files["home/.keep"] = ""
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		b.write(name, text)
	}
	if err := share(filepath.Join(b.ws, ".piton", "config.yaml"), dir); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if pid := ownerOf(b.ws); pid != 0 && t.Failed() {
			syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // it has ended then
		}
		unowned(t, b.ws, 0)
	})
	line, err := bufio.NewReader(b.serve()).ReadString('\n')
	enter := regexp.MustCompile(`http://\S+`).FindString(line)
	if err != nil || enter == "" {
		t.Fatalf("piton serve printed %q, %v", line, err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b.client = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	b.base = enter[:strings.Index(enter, "/enter/")]
	if status, _, _ := b.send(http.MethodGet, enter[len(b.base):], nil); status != http.StatusSeeOther {
		t.Fatalf("the URL gets %d", status)
	}
	return b
}

func (b *web) write(file, text string) {
	b.t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *web) send(method, path string, fields url.Values) (status int, to, body string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(fields.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if fields != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	_, to, _ = strings.Cut(res.Header.Get("Location"), b.base[strings.LastIndex(b.base, "/"):])
	_, main, is := strings.Cut(string(text), `<main id="main">`)
	if !is {
		main = string(text)
	}
	return res.StatusCode, to, main
}

// get is a page that must be there.
func (b *web) get(path string) string {
	b.t.Helper()
	status, _, body := b.send(http.MethodGet, path, nil)
	if status != http.StatusOK {
		b.t.Fatalf("%s: %d\n%s", path, status, body)
	}
	return body
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"/>`)

// filledIn is the first form of a page with more fields.
func filledIn(page string, more ...string) url.Values {
	_, page, _ = strings.Cut(page, `<form method="post"`)
	if !strings.Contains(page, "</form>") {
		_, page, _ = strings.Cut(page, `<form class="`)
	}
	page, _, _ = strings.Cut(page, "</form>")
	fields := url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(page, -1) {
		fields.Set(m[1], html.UnescapeString(m[2]))
	}
	for i := 0; i < len(more); i += 2 {
		fields.Set(more[i], more[i+1])
	}
	return fields
}

// start approves the plan of a file as its page shows it, and is the path of its run.
func (b *web) start(file string, more ...string) string {
	b.t.Helper()
	page := b.get("/plans/" + file)
	if !strings.Contains(page, `value="start"`) {
		b.t.Fatalf("%s cannot be started:\n%s", file, page)
	}
	form := page[strings.Index(page, `id="start"`):]
	form = strings.Replace(form, `<form class="pad stack" method="post"`, `<form method="post"`, 1)
	status, to, body := b.send(http.MethodPost, "/plans/"+file, filledIn(form, append(more, "say", "start")...))
	if status != http.StatusSeeOther {
		b.t.Fatalf("start %s: %d\n%s", file, status, body)
	}
	return to
}

// stream is what a page of a run hears.
type stream struct {
	*bufio.Reader
	t    testing.TB
	id   int
	data string // of the newest event
}

func (b *web) follow(run string, last int) *stream {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*patience)
	b.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+run+"/events", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", strconv.Itoa(last))
	res, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { res.Body.Close() })
	if kind := res.Header.Get("Content-Type"); kind != "text/event-stream" {
		b.t.Fatalf("the stream is %q", kind)
	}
	return &stream{Reader: bufio.NewReader(res.Body), t: b.t}
}

// next reads an event.
func (s *stream) next() {
	s.t.Helper()
	s.data = ""
	for {
		line, err := s.ReadString('\n')
		switch {
		case err != nil:
			s.t.Fatalf("the stream ended after event %d: %v", s.id, err)
		case line == "\n":
			return
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(id))
			if err != nil || n < s.id {
				s.t.Fatalf("event %q follows %d", id, s.id)
			}
			s.id = n
		}
		s.data += strings.TrimPrefix(line, "data: ")
	}
}

// until reads events until one has a text.
func (s *stream) until(text string) {
	s.t.Helper()
	for s.next(); !strings.Contains(s.data, text); s.next() {
	}
}

// The signs of a run's head.
const (
	runIs    = `<hx-partial hx-target="#run" hx-swap="outerMorph">`
	done     = `data-st="ok"><svg class="i" aria-hidden="true"><use href="#i-ok"/></svg>done</span><span>`
	unproven = `data-st="warn"><svg class="i" aria-hidden="true"><use href="#i-ok"/></svg>done, unproven</span><span>`
)

const plansHead = "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n"

// A yes is for the text that was shown and for no other. The arguments of a call are changed
// before it is allowed, and the journal has who said so, and where.
func TestPageApproves(t *testing.T) {
	t.Parallel()
	text := plansHead + "# Calls\n\n## Steps\n\n### 1. Write\n\n**tool:** write_file\n**args:**\n```json\n{\"path\": \"out.txt\", \"content\": \"planned\"}\n```\n"
	b := newWeb(t, map[string]string{"ws/plans/calls.md": text, "ws/out.txt": "before\n"})
	if home := b.get("/"); !strings.Contains(home, "/plans/plans/calls.md") {
		t.Errorf("the page of plans lacks the file:\n%s", home)
	}
	page := b.get("/plans/plans/calls.md")
	b.write(filepath.Join(b.ws, "plans", "calls.md"), strings.Replace(text, "planned", "swapped", 1))
	form := page[strings.Index(page, `<form class="pad stack" method="post"`):]
	shown := filledIn(strings.Replace(form, `<form class="pad stack"`, "<form", 1), "say", "start")
	if shown.Get("hash") == "" || shown.Get("settings") == "" {
		t.Fatalf("the form has %v", shown)
	}
	if status, _, body := b.send(http.MethodPost, "/plans/plans/calls.md", shown); status != http.StatusConflict {
		t.Errorf("a yes to another text gets %d\n%s", status, body)
	}
	if home := b.get("/"); strings.Contains(home, `/runs/`) {
		t.Errorf("something was started:\n%s", home)
	}
	run := b.start("plans/calls.md")
	s := b.follow(run, 0)
	s.until(`#asks" hx-swap="outerMorph"><div id="asks" class="stack"><div class="note`)
	inbox := b.get("/inbox")
	for _, want := range []string{"write_file", "&#34;content&#34;: &#34;swapped&#34;", "approve", "deny", "the step runs"} {
		if !strings.Contains(inbox, want) {
			t.Errorf("the inbox lacks %q:\n%s", want, inbox)
		}
	}
	if status, _, body := b.send(http.MethodPost, "/inbox", filledIn(inbox, "choice", "approve", "args", "{no")); status != http.StatusUnprocessableEntity || !strings.Contains(body, "{no</textarea>") || !strings.Contains(body, "The value is no JSON") {
		t.Errorf("arguments that are no JSON get %d\n%s", status, body)
	}
	if status, _, body := b.send(http.MethodPost, "/inbox", filledIn(inbox, "choice", "approve", "args", `{"path": 3, "content": "x"}`)); status != http.StatusUnprocessableEntity || !strings.Contains(body, `id="args.path-no" role="alert"`) {
		t.Errorf("arguments that do not fit get %d\n%s", status, body)
	}
	answer := filledIn(inbox, "choice", "approve", "args", `{"path": "out.txt", "content": "edited"}`, "text", "better so")
	if status, to, body := b.send(http.MethodPost, "/inbox", answer); status != http.StatusSeeOther || to != run {
		t.Fatalf("the answer gets %d %s\n%s", status, to, body)
	}
	s.until(unproven)
	if status, _, _ := b.send(http.MethodPost, "/inbox", answer); status != http.StatusNotFound {
		t.Errorf("a second answer gets %d", status)
	}
	if out, err := os.ReadFile(filepath.Join(b.ws, "out.txt")); err != nil || string(out) != "edited" {
		t.Errorf("the file has %q, %v", out, err)
	}
	log := b.piton("log", "--json")
	if !regexp.MustCompile(`"choice":"approve".*"via":"page"|"via":"page".*"choice":"approve"`).MatchString(log) {
		t.Errorf("the journal does not say where the answer was given:\n%s", log)
	}
	after := regexp.MustCompile(`\?after=(\d+)`).FindStringSubmatch(b.get(run))
	for after != nil && strconv.Itoa(s.id) != after[1] { // the head may be ahead of the log
		s.next()
	}
}

func (b *web) command(args ...string) *exec.Cmd {
	c := exec.Command("piton", args...)
	c.Dir, c.Env = b.ws, b.env
	return c
}

func (b *web) piton(args ...string) string {
	b.t.Helper()
	out, err := b.command(args...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("piton %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// An agent asks in the middle of its work; a yes on the page lets it go on. What it says is text.
func TestPageAllows(t *testing.T) {
	t.Parallel()
	b := newWeb(t, map[string]string{
		"ws/.piton/config.yaml": "agents:\n  coder: {kind: acp, command: [acpagent], permissions: ask}\ndefault_agent: coder\npolicy: {permission_wait: 1h}\n",
		"agents/once":           "say <script>alert(1)</script>\nask execute touch once.txt\ndo touch once.txt\nsay Done.\n",
		"ws/plans/once.md":      plansHead + "# Once `<b>`\n\n## Steps\n\n### 1. Once `<img src=x>`\n\n**id:** once\n**target:** coder\n**task:** Do it\n**contract:** `test -e once.txt`\n**on_fail:** escalate\n",
	})
	run := b.start("plans/once.md")
	s := b.follow(run, 0)
	s.until("permission:")
	if strings.Contains(s.data, "<img") || strings.Contains(s.data, "<script>") {
		t.Errorf("text became markup: %s", s.data)
	}
	inbox := b.get("/inbox")
	for _, want := range []string{"touch once.txt", `value="allow"`, `value="allow-run"`, `value="deny"`, "the agent is told no; the text above goes with it", "Refused, unless answered by"} {
		if !strings.Contains(inbox, want) {
			t.Errorf("the inbox lacks %q:\n%s", want, inbox)
		}
	}
	if status, _, body := b.send(http.MethodPost, "/inbox", filledIn(inbox, "choice", "allow")); status != http.StatusSeeOther {
		t.Fatalf("the answer gets %d\n%s", status, body)
	}
	s.until(done)
	step := b.get(run + "/steps/once")
	if strings.Contains(step, "<img") || !strings.Contains(step, "Once `&lt;img") || !strings.Contains(step, `id="f-once.txt"`) {
		t.Errorf("the step:\n%s", step)
	}
	if files := b.get(run + "/files"); !strings.Contains(files, run+`/steps/once#f-once.txt`) || !strings.Contains(files, "<code>once.txt</code>") {
		t.Errorf("the changed files:\n%s", files)
	}
}

// The owner is killed while the page is open. The page says so, the person resumes the run, and
// whoever was away in between misses nothing.
func TestPageOwnerKilled(t *testing.T) {
	t.Parallel()
	b := newWeb(t, map[string]string{
		"ws/plans/long.md": plansHead + "# Long\n\n## Steps\n\n### 1. Long\n\n**target:** script\n**task:**\n```shell\nuntil test -e go; do sleep 0.05; done\n```\n**contract:** `test -e go`\n",
	})
	run := b.start("plans/long.md")
	s := b.follow(run, 0)
	s.until(`data-since=`)
	if err := syscall.Kill(ownerOf(b.ws), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.until(`value="resume"`)
	if !strings.Contains(s.data, "Nobody carries this run on.") {
		t.Errorf("the page does not say what happened: %s", s.data)
	}
	if status, to, body := b.send(http.MethodPost, run, url.Values{"verb": {"resume"}}); status != http.StatusSeeOther || to != run {
		t.Fatalf("resume gets %d %s\n%s", status, to, body)
	}
	s.until(`value="pause"`)
	b.write(filepath.Join(b.ws, "go"), "")
	s.until(done)
	page := b.get(run)
	if !strings.Contains(page, fmt.Sprintf("?after=%d", s.id)) {
		t.Errorf("the stream ended at %d, and the page says\n%s", s.id, page)
	}
	away := b.follow(run, 3)
	away.next()
	if away.id != s.id || !strings.Contains(away.data, `hx-target="#log" hx-swap="outerHTML"`) || !strings.Contains(away.data, done) || strings.Count(away.data, "long attempt=") != strings.Count(page, "long attempt=") {
		t.Errorf("who was away gets event %d, not %d: %s", away.id, s.id, away.data)
	}
	now := b.follow(run, s.id)
	now.next()
	if now.id != s.id || strings.Contains(now.data, `hx-target="#log"`) || strings.Contains(now.data, `hx-target="#steps"`) {
		t.Errorf("who has read everything gets event %d with what does not change by the clock: %s", now.id, now.data)
	}
}

// A text that asks less needs one more yes, and a step that failed is tried again with a reason.
func TestPageWeaker(t *testing.T) {
	t.Parallel()
	text := plansHead + "# Check\n\n## Steps\n\n### 1. Check\n\n**target:** script\n**task:** `true`\n**contract:** `grep -q strict a && grep -q all a`\n**on_fail:** abort\n"
	b := newWeb(t, map[string]string{"ws/plans/check.md": text, "ws/a": "none\n"})
	run := b.start("plans/check.md")
	s := b.follow(run, 0)
	s.until(`data-st="bad"><svg class="i" aria-hidden="true"><use href="#i-bad"/></svg>failed</span>`)
	log := func(part string) int { return strings.Count(part, `<div><span>`) + strings.Count(part, `<div class="`) }
	_, found, _ := strings.Cut(b.get(run+"?q=EXIT%3D1"), `<div id="log"`)
	if found, _, _ = strings.Cut(found, "</aside>"); strings.Count(found, "<time") != 1 || !strings.Contains(found, "exit=1") {
		t.Errorf("the lines with exit=1 are %s", found)
	}
	if part := b.get(run + "/log?before=2"); log(part) != 2 || strings.Contains(part, "<html") || strings.Contains(part, "exit=1") {
		t.Errorf("the first two lines are %s", part)
	}
	if page := b.get(run + "?step=check"); !strings.Contains(page, `<g class="n" data-key="check" data-st="bad" aria-current="true"`) || !strings.Contains(page, "A retry runs the same script") {
		t.Errorf("the step that is looked at:\n%s", page)
	}
	if page := b.get(run + "/files"); !strings.Contains(page, "What 1 step changed is not recorded") {
		t.Errorf("the changed files:\n%s", page)
	}
	b.write(filepath.Join(b.ws, "a"), "strict, all\n")
	if status, _, body := b.send(http.MethodPost, run, url.Values{"verb": {"retry"}, "step": {"check"}, "why": {"a is complete"}}); status != http.StatusSeeOther {
		t.Fatalf("retry gets %d\n%s", status, body)
	}
	if status, _, body := b.send(http.MethodPost, run, url.Values{"verb": {"resume"}}); status != http.StatusSeeOther {
		t.Fatalf("resume gets %d\n%s", status, body)
	}
	s.until(unproven)
	if status, _, _ := b.send(http.MethodPost, run, url.Values{"verb": {"waive"}, "step": {"check"}}); status != http.StatusUnprocessableEntity {
		t.Errorf("a verb that the page does not offer gets %d", status)
	}
	b.write(filepath.Join(b.ws, "plans", "check.md"), strings.Replace(text, " && grep -q all a", "", 1))
	page := b.get("/plans/plans/check.md")
	for _, want := range []string{"It proves or guards less than before.", "1 step changed", "Since "} {
		if !strings.Contains(page, want) {
			t.Errorf("the plan lacks %q:\n%s", want, page)
		}
	}
	form := strings.Replace(page, `<form class="pad stack" method="post"`, `<form method="post"`, 1)
	if status, _, body := b.send(http.MethodPost, "/plans/plans/check.md", filledIn(form, "say", "start")); status != http.StatusConflict || !strings.Contains(body, "less than before") {
		t.Errorf("a yes without that to less gets %d\n%s", status, body)
	}
	back := b.get(run + "/retro")
	for _, want := range []string{"By agent", "1 failed, ", "script", "contract exited 1, wanted 0", "approved revision 1 of the plan", "had step 1 Check tried again: a is complete", "/runs/" + run[len("/runs/"):] + "/steps/check"} {
		if !strings.Contains(back, want) {
			t.Errorf("the retrospective lacks %q:\n%s", want, back)
		}
	}
	s = b.follow(b.start("plans/check.md", "weaker", "yes"), 0)
	s.until(unproven)
	texts := b.get("/revisions/plans/check.md")
	for _, want := range []string{"v2 proves or guards less than v1.", "1 step changed", "changed: contract", "<del> &amp;&amp; grep -q all a</del>", `href="?from=1&amp;to=2" aria-current="true"`} {
		if !strings.Contains(texts, want) {
			t.Errorf("the revisions lack %q:\n%s", want, texts)
		}
	}
	if first := b.get("/revisions/plans/check.md?to=1"); !strings.Contains(first, "v1 is the first text") {
		t.Errorf("the first revision:\n%s", first)
	}
	if turned := b.get("/revisions/plans/check.md?from=2&to=1"); !strings.Contains(turned, "<ins> &amp;&amp; grep -q all a</ins>") || strings.Contains(turned, "guards less") {
		t.Errorf("the other way round:\n%s", turned)
	}
}

// The planner is asked once the person has approved the configuration that names it. Nothing
// starts and the file keeps its text, until the person takes the other one.
func TestPageAsksForChanges(t *testing.T) {
	t.Parallel()
	text := plansHead + "# Greet\n\n## Steps\n\n### 1. Greet\n\n**id:** greet\n**target:** script\n**task:** `echo hello > a`\n**contract:** `grep -q hello a`\n"
	drawn := base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(text, "hello", "hi")))
	b := newWeb(t, map[string]string{
		"ws/.piton/config.yaml": "agents:\n  drawer: {kind: exec, command: [sh, -c, \"echo " + drawn + " | base64 -d\"]}\nplanner: {agent: drawer}\n",
		"ws/plans/greet.md":     text,
	})
	if status, to, body := b.send(http.MethodPost, "/plans/plans/greet.md", url.Values{"say": {"comment:greet"}, "text": {"be short\r\n\r\nand kind"}}); status != http.StatusSeeOther || to != "/plans/plans/greet.md#s-greet" {
		t.Fatalf("a comment gets %d %s\n%s", status, to, body)
	}
	if page := b.get("/plans/plans/greet.md"); !strings.Contains(page, "Your comment, not sent yet") || !strings.Contains(page, "1 comment will be sent") {
		t.Errorf("the page lacks the comment:\n%s", page)
	}
	say := url.Values{"say": {"change"}, "why": {"say hi"}}
	status, _, body := b.send(http.MethodPost, "/plans/plans/greet.md", say)
	if status != http.StatusConflict || !strings.Contains(body, "Nobody has approved the configuration") {
		t.Fatalf("the first request gets %d\n%s", status, body)
	}
	status, to, body := b.send(http.MethodPost, "/plans/plans/greet.md", filledIn(strings.Replace(body, `<form class="foot" method="post"`, `<form method="post"`, 1)))
	if status != http.StatusSeeOther || !strings.HasPrefix(to, "/errands/e-") {
		t.Fatalf("with the yes it gets %d %s\n%s", status, to, body)
	}
	var page string
	answered := func() bool { page = b.get(to); return strings.Contains(page, "Your answer") }
	if !comes(t, answered, filepath.Dir(b.ws)) {
		t.Fatalf("nothing came:\n%s\n%s", page, b.piton("log", strings.TrimPrefix(to, "/errands/")))
	}
	if now, err := os.ReadFile(filepath.Join(b.ws, "plans", "greet.md")); err != nil || string(now) != text {
		t.Errorf("the file was changed: %s, %v", now, err)
	}
	for _, want := range []string{"-**task:** `echo hello &gt; a`", "&#43;**task:** `echo hi &gt; a`", "Take this text", "1. Greet</h2>", "be short\nand kind", "say hi"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if page := b.get("/plans/plans/greet.md"); strings.Contains(page, "not sent yet") {
		t.Errorf("the comment was sent, and is there still:\n%s", page)
	}
	take := filledIn(strings.Replace(page, `<form class="foot" method="post"`, `<form method="post"`, 1), "say", "take")
	if status, then, body := b.send(http.MethodPost, to, take); status != http.StatusSeeOther || then != "/plans/plans/greet.md" {
		t.Fatalf("taking it gets %d %s\n%s", status, then, body)
	}
	if now, err := os.ReadFile(filepath.Join(b.ws, "plans", "greet.md")); err != nil || !strings.Contains(string(now), "echo hi") {
		t.Errorf("the file has %s, %v", now, err)
	}
	b.write(filepath.Join(b.ws, "plans", "greet.md"), strings.ReplaceAll(text, "hello", "good day"))
	if status, _, _ := b.send(http.MethodPost, to, take); status != http.StatusConflict {
		t.Errorf("taking it over a changed text gets %d", status)
	}
	if home := b.get("/"); strings.Contains(home, "/runs/") {
		t.Errorf("something was started:\n%s", home)
	}
}

// A plan is asked for in words. It is looked at before there is a file, and taken or not.
func TestPageNewPlan(t *testing.T) {
	t.Parallel()
	text := plansHead + "# Greet\n\n## Steps\n\n### 1. Greet\n\n**target:** script\n**task:** `echo hello > a`\n**contract:** `grep -q hello a`\n"
	drawn := base64.StdEncoding.EncodeToString([]byte(text))
	b := newWeb(t, map[string]string{
		"ws/.piton/config.yaml": "agents:\n  drawer: {kind: exec, command: [sh, -c, \"if grep -q forever; then sleep 600; fi; echo " + drawn + " | base64 -d\"]}\nplanner: {agent: drawer}\n",
	})
	if status, _, body := b.send(http.MethodPost, "/new", url.Values{"request": {" "}}); status != http.StatusUnprocessableEntity || !strings.Contains(body, "Say what you want.") {
		t.Errorf("nothing gets %d\n%s", status, body)
	}
	ask := func(words string) (to string) {
		t.Helper()
		status, to, body := b.send(http.MethodPost, "/new", url.Values{"request": {words}})
		if status == http.StatusConflict {
			status, to, body = b.send(http.MethodPost, "/new", filledIn(strings.Replace(body, `<form class="foot" method="post"`, `<form method="post"`, 1)))
		}
		if status != http.StatusSeeOther || !strings.HasPrefix(to, "/errands/e-") {
			t.Fatalf("%q gets %d %s\n%s", words, status, to, body)
		}
		return to
	}
	until := func(path, text string) (page string) {
		t.Helper()
		if !comes(t, func() bool { page = b.get(path); return strings.Contains(page, text) }, filepath.Dir(b.ws)) {
			t.Fatalf("%s lacks %q:\n%s", path, text, page)
		}
		return page
	}
	first := ask("greet me")
	until(first, "Write it to plans/greet.md")
	if files, err := os.ReadDir(filepath.Join(b.ws, "plans")); err == nil {
		t.Errorf("there are files: %v", files)
	}
	if home := b.get("/"); !strings.Contains(home, first) {
		t.Errorf("the plan that waits leads nowhere:\n%s", home)
	}
	if status, to, body := b.send(http.MethodPost, first, url.Values{"say": {"reject"}}); status != http.StatusSeeOther || to != first {
		t.Fatalf("rejecting it gets %d %s\n%s", status, to, body)
	}
	if page := b.get(first); strings.Contains(page, "Write it to") || !strings.Contains(page, "did not want this text") {
		t.Errorf("the rejected plan is\n%s", page)
	}
	second := ask("greet me once more")
	until(second, "Write it to plans/greet")
	if status, to, body := b.send(http.MethodPost, second, url.Values{"say": {"take"}}); status != http.StatusSeeOther || !strings.HasPrefix(to, "/plans/plans/greet") {
		t.Fatalf("taking it gets %d %s\n%s", status, to, body)
	} else if page := b.get(to); !strings.Contains(page, "Approve and start") {
		t.Errorf("the plan is\n%s", page)
	}
	third := ask("think forever")
	if home := b.get("/"); !strings.Contains(home, third) {
		t.Errorf("what is asked for is not on the page:\n%s", home)
	}
	if status, _, body := b.send(http.MethodPost, third, url.Values{"say": {"withdraw"}}); status != http.StatusSeeOther {
		t.Fatalf("withdrawing gets %d\n%s", status, body)
	}
	until(third, "was withdrawn by")
}

// Without scripts a person fixes, edits, moves, skips, adds and removes steps. What breaks a
// need is refused at the step, and what somebody else writes is never lost.
func TestPageEdits(t *testing.T) {
	t.Parallel()
	step := func(n int, title, more string) string {
		return fmt.Sprintf("### %d. %s\n\n**target:**  script\n%s**task:** `true`\n**contract:** `test -s %s`\n\n", n, title, more, strings.ToLower(title))
	}
	text := plansHead + "# Abc\n\n## Steps\n\n" + step(1, "A", "") + step(2, "B", "**needs:** a\n") + strings.Replace(step(3, "C", "**needs:** none\n"), "test -s c", "test -s c || true", 1)
	b := newWeb(t, map[string]string{"ws/plans/abc.md": text})
	file, path := filepath.Join(b.ws, "plans", "abc.md"), "/plans/plans/abc.md"
	has := func() string {
		t.Helper()
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	seen := func() string { return hiddenField.FindStringSubmatch(b.get(path))[2] }
	send := func(want int, fields ...string) string {
		t.Helper()
		form := url.Values{"seen": {seen()}}
		for i := 0; i < len(fields); i += 2 {
			form.Set(fields[i], fields[i+1])
		}
		status, to, body := b.send(http.MethodPost, path, form)
		if status != want || want == http.StatusSeeOther && !strings.HasPrefix(to, path) {
			t.Fatalf("%v gets %d %s\n%s", fields, status, to, body)
		}
		return body
	}
	steps := func(want string) {
		t.Helper()
		var got []string
		for _, m := range regexp.MustCompile(`(?m)^### \d+\. (\w+)`).FindAllStringSubmatch(has(), -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != want {
			t.Fatalf("the steps are %v, not %s", got, want)
		}
	}
	fix := regexp.MustCompile(`value="(fix:[^"]+)"`).FindStringSubmatch(b.get(path))
	if fix == nil {
		t.Fatal("the error has no fix")
	}
	send(http.StatusSeeOther, "say", fix[1])
	if has() != strings.Replace(text, " || true", "", 1) {
		t.Errorf("fixed, it is\n%s", has())
	}
	fixed := has()
	if body := send(http.StatusUnprocessableEntity, "say", "up:b"); !strings.Contains(body[strings.Index(body, `id="s-b"`):strings.Index(body, `id="s-c"`)], "it needs a") {
		t.Errorf("the refusal is not at the step:\n%s", body)
	}
	send(http.StatusUnprocessableEntity, "say", "move", "step", "a", "place", "1")
	send(http.StatusUnprocessableEntity, "say", "remove:a")
	if has() != fixed {
		t.Errorf("refused edits wrote\n%s", has())
	}
	send(http.StatusSeeOther, "say", "move", "step", "c", "place", "0")
	steps("C A B")
	send(http.StatusSeeOther, "say", "undo")
	if has() != fixed {
		t.Errorf("undone, it is\n%s", has())
	}
	send(http.StatusSeeOther, "say", "skip:c")
	if page := b.get(path); !strings.Contains(page, "left out</span>") || !strings.Contains(has(), "**when:** false\n") {
		t.Errorf("step c is not left out:\n%s", has())
	}
	send(http.StatusSeeOther, "say", "skip:c")
	if has() != fixed {
		t.Errorf("taken in again, it is\n%s", has())
	}
	if page := b.get(path + "?open=add&step=b"); !strings.Contains(page, "### 4. What to do") {
		t.Errorf("there is no new step:\n%s", page)
	}
	send(http.StatusSeeOther, "say", "insert:b", "text", strings.ReplaceAll(step(4, "D", ""), "\n", "\r\n"))
	steps("A B D C")
	send(http.StatusSeeOther, "say", "remove:d")
	steps("A B C")
	if body := send(http.StatusUnprocessableEntity, "say", "save:b", "text", "### 2. B\n\n### 5. E"); !strings.Contains(body, "### 5. E</textarea>") {
		t.Errorf("what was typed is lost:\n%s", body)
	}
	shown := seen()
	b.write(file, strings.Replace(has(), "test -s a", "test -s aa", 1))
	status, _, body := b.send(http.MethodPost, path, url.Values{"seen": {shown}, "say": {"save:b"}, "text": {"### 2. Mine"}})
	if status != http.StatusConflict || !strings.Contains(body, "### 2. Mine</textarea>") || !strings.Contains(body, "changed meanwhile") || !strings.Contains(has(), "test -s aa") || strings.Contains(has(), "Mine") {
		t.Errorf("an edit over another gets %d\n%s\n%s", status, body, has())
	}
	if status, _, _ := b.send(http.MethodPost, path, url.Values{"say": {"undo"}}); status != http.StatusConflict || !strings.Contains(has(), "test -s aa") {
		t.Errorf("an undo over another's text gets %d\n%s", status, has())
	}
	if status, _, _ := b.send(http.MethodPost, path, url.Values{"seen": {seen()}, "say": {"save:nosuch"}}); status != http.StatusNotFound {
		t.Errorf("a step that is not there gets %d", status)
	}
}

// A run that waits goes on under another configuration only with one more yes.
func TestPageReconfigured(t *testing.T) {
	t.Parallel()
	conf := "agents:\n  coder: {kind: exec, command: [agent], limits: {time: 30m}}\n"
	b := newWeb(t, map[string]string{
		"ws/.piton/config.yaml": conf, "agents/work": "if test $PITON_ATTEMPT = 2; then echo done > a; fi\n",
		"ws/plans/work.md": plansHead + "# Work\n\n## Steps\n\n### 1. Work\n\n**id:** work\n**target:** coder\n**task:** Do it\n**contract:** `grep -q done a`\n**on_fail:** escalate\n",
	})
	run := b.start("plans/work.md")
	s := b.follow(run, 0)
	s.until("escalation:")
	file := filepath.Join(b.ws, ".piton", "config.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b.write(file, strings.Replace(string(text), "30m", "20m", 1))
	status, _, ask := b.send(http.MethodPost, "/inbox", filledIn(b.get("/inbox"), "choice", "retry", "text", "go on"))
	if status != http.StatusConflict || !strings.Contains(ask, "agents.coder.limits.time: was 30m, is 20m") {
		t.Fatalf("the answer gets %d\n%s", status, ask)
	}
	status, to, body := b.send(http.MethodPost, "/inbox", filledIn(strings.Replace(ask, `<form class="foot" method="post"`, `<form method="post"`, 1)))
	if status != http.StatusSeeOther || to != run {
		t.Fatalf("with a yes it gets %d %s\n%s", status, to, body)
	}
	s.until("Nobody carries this run on.") // it was let go of for the new settings
	if status, _, body := b.send(http.MethodPost, run, url.Values{"verb": {"resume"}}); status != http.StatusSeeOther {
		t.Fatalf("resume gets %d\n%s", status, body)
	}
	s.until(done)
	back := b.get(run + "/retro")
	for _, want := range []string{"answered: Retry\nStep 1 ", "\ngo on</p>", "let the run go on with the changed configuration"} {
		if !strings.Contains(back, want) {
			t.Errorf("the retrospective lacks %q:\n%s", want, back)
		}
	}
	if strings.Contains(back, "tried again") {
		t.Errorf("one answer is two decisions:\n%s", back)
	}
}

// Who is asked about a script that did not do it sees what it changed, that a retry is the same
// again, and where the script is changed.
func TestPageStuck(t *testing.T) {
	t.Parallel()
	b := newWeb(t, map[string]string{
		"ws/plans/work.md": plansHead + "# Work\n\n## Steps\n\n### 1. Work\n\n**id:** work\n**target:** script\n**task:** `echo half > a`\n**writes:** a\n**contract:** `grep -q whole a`\n**on_fail:** escalate\n",
	})
	run := b.start("plans/work.md")
	b.follow(run, 0).until("escalation:")
	page := b.get("/inbox")
	edit := "/plans/plans/work.md?open=edit&amp;step=work#s-work"
	for _, want := range []string{"What its attempts changed so far", `+1</span> <span class="g t-bad">−0</span> a<`, "runs the same script, unchanged", `<button class="btn " name="choice" value="retry"`, edit} {
		if !strings.Contains(page, want) {
			t.Errorf("the question lacks %q:\n%s", want, page)
		}
	}
	if form := b.get("/plans/plans/work.md?open=edit&step=work"); !strings.Contains(form, "echo half &gt; a") || !strings.Contains(form, "<textarea") {
		t.Errorf("the link leads to\n%s", form)
	}
	b.piton("cancel", strings.TrimPrefix(run, "/runs/"))
}

// The steps of a sub-plan are below the step that it carries out, with why one of them failed. A
// question for a value takes one.
func TestPageBelow(t *testing.T) {
	t.Parallel()
	b := newWeb(t, map[string]string{
		"ws/plans/child.md":  plansHead + "# Child\n\n## Steps\n\n### 1. Inner\n\n**target:** script\n**task:** `echo woe > inner; echo woe >&2; exit 3`\n**contract:** `grep -q out inner`\n**on_fail:** escalate\n",
		"ws/plans/parent.md": plansHead + "# Parent\n\n## Steps\n\n### 1. Below\n\n**plan:** plans/child.md\n**contract:** `grep -q woe inner`\n\n### 2. Ask\n\n**ask:** How many readers?\n**schema:**\n```json\n{\"type\": \"integer\"}\n```\n",
	})
	run := b.start("plans/parent.md")
	s := b.follow(run, 0)
	s.until("escalation:")
	page := b.get(run)
	_, steps, _ := strings.Cut(page, `<li id="s-0-0" class=" under" aria-current="true">`)
	_, panel, _ := strings.Cut(page, `<div id="panel">`)
	if !strings.Contains(steps, "Inner") || !strings.Contains(panel, `aria-label="What the work printed">woe`) {
		t.Errorf("the steps are\n%s\nand the one that failed is\n%s", steps, panel)
	}
	if status, to, body := b.send(http.MethodPost, "/inbox", filledIn(b.get("/inbox"), "choice", "waive", "text", "it is fine")); status != http.StatusSeeOther || to != run {
		t.Fatalf("waive gets %d %s\n%s", status, to, body)
	}
	s.until("question:")
	metrics := b.get("/metrics")
	for _, want := range []string{
		`piton_runs{status="waiting"} 1`, `piton_steps{status="waived"} 1`, `piton_inbox_items{kind="question"} 1`, `piton_attempts_total{agent="script"} 1`,
		`piton_step_seconds_bucket{le="+Inf"} `, "# TYPE piton_tokens_total counter",
	} {
		if !strings.Contains(metrics, want+"\n") && !strings.Contains(metrics, "\n"+want) {
			t.Errorf("the metrics lack %s:\n%s", want, metrics)
		}
	}
	if status, _, body := b.send(http.MethodPost, "/inbox", filledIn(b.get("/inbox"), "choice", "answer", "args", `"many"`)); status != http.StatusUnprocessableEntity {
		t.Errorf("a value that does not fit gets %d\n%s", status, body)
	}
	if status, _, body := b.send(http.MethodPost, "/inbox", filledIn(b.get("/inbox"), "choice", "answer", "args", "3")); status != http.StatusSeeOther {
		t.Fatalf("the value gets %d\n%s", status, body)
	}
	s.until(done)
	if metrics := b.get("/metrics"); !strings.Contains(metrics, "piton_runs{status=\"done\"} 1\n") || !strings.Contains(metrics, "# TYPE piton_inbox_items gauge\n#") {
		t.Errorf("when all is done the metrics are:\n%s", metrics)
	}
}
