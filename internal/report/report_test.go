package report

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/view"
)

var update = flag.Bool("update", false, "write the golden files")

// ledger is a run in which one step passed at once, one after a retry, one failed, one was
// never begun, and one is carried out by a run of its own.
func ledger() *Report {
	contract := func(command string) []Check { return []Check{{"contract", command, "", 0, true}} }
	said := func(v engine.Verdict, text, stderr string) []Answer {
		return []Answer{{"contract", "verifying", text, v == engine.Pass, v, "", stderr}}
	}
	return &Report{
		ID: "7f3a21", Title: "Make capture <safe>", Path: "plans/capture.md", By: "ann", Version: 2, Status: engine.Failed, State: stateOf(engine.Failed, ""),
		Reason: `step 3 "Backfill" is failed: exit 1`, Begun: "2026-11-21 14:02:00 +0000", Ended: "2026-11-21 14:35:02 +0000", Exact: "2026-11-21T14:02:00", Made: "2026-11-22 09:00:00 +0000",
		Took: 1_982_000, Sums: []string{"2 proven", "1 unproven"}, Spent: []string{"$8.12", "2.06M tokens"}, Proven: 2, Total: 5, Cost: "2.06M tokens, $8.12", Isolation: "sealed",
		Branch: "piton/7f3a21", Context: "Captures were counted twice.", Plan: "# Make capture <safe>\n\n## Steps\n",
		Steps: []Step{
			{
				Number: "1", ID: "callers", Title: "Map every caller", Agent: "coder", Status: engine.Done, Verdict: engine.Pass, State: stateOf(engine.Done, ""), Counts: true, Took: 108_000, Used: "1.0k tokens",
				Task: "List them.", Checks: contract("test -s docs/callers.md"), Attempts: []Attempt{{N: 1, Agent: "coder", At: "2026-11-21 14:02:01 +0000", How: "exit 0", Took: 100_000, Answers: said(engine.Pass, "pass: exit 0, wanted 0, 0.1s", ""), Became: "done", Passed: true, Over: true}},
				Files: []File{{"docs/callers.md", 3, 1}, {"logo.png", -1, -1}}, Diff: "diff --git a/docs/callers.md b/docs/callers.md\n@@ -1 +1,3 @@\n-old\n+a\n+b\n+c\n",
			},
			{
				Number: "2", ID: "tests", Title: "Tests for a | pipe", Agent: "coder", Status: engine.Done, Verdict: engine.Pass, State: stateOf(view.DoneUnproven, ""), Counts: true, Unproven: true, Reason: "nothing failed before", Needs: []string{"callers"}, Took: 84_500,
				Checks: append(contract("go test ./payments 2>&1 |\n  tee `tty`"), Check{"lint", "golint", "", 1, false}),
				Attempts: []Attempt{
					{N: 1, Agent: "coder", How: "exit 0", Words: "done!", Answers: said(engine.Fail, "fail: exit 1, wanted 0, 9.4s", "capture_test.go:41:12: undefined: ErrReplayed\n"), Became: "fail", Reason: "contract exited 1, wanted 0", Over: true},
					{N: 2, Agent: "coder", How: "exit 0", Answers: said(engine.Pass, "pass: exit 0, wanted 0, 9.0s", ""), Became: "done", Passed: true, Over: true},
				},
			},
			{
				Number: "3", ID: "backfill", Title: "Backfill", Agent: "codex", Status: engine.Failed, Verdict: engine.Fail, State: stateOf(engine.Failed, ""), Reason: "exit 1", Took: 900, Checks: contract("make backfill"),
				Before:   []Answer{{"contract", "baseline", "fail: exit 1, wanted 0, 0.1s", false, engine.Fail, "", "none yet"}},
				Attempts: []Attempt{{N: 1, How: "exit 0", Answers: said(engine.Fail, "fail: exit 1, wanted 0, 0.2s", "41 captures without key"), Became: "fail", Reason: "exit 1", Over: true}},
			},
			{Number: "4", ID: "load", Title: "Load", State: stateOf(engine.Blocked, ""), Status: engine.Blocked, Reason: `needs "backfill", which is failed`, Needs: []string{"backfill"}},
			{
				Number: "5", ID: "sub", Title: "A plan of its own", Status: engine.Failed, Verdict: engine.Infra, State: stateOf(engine.Failed, ""), Run: "99aa00", Attempts: []Attempt{{N: 1, How: "no_start"}},
				Under: []Step{{Number: "1", ID: "leaf", Title: "Leaf", Status: engine.Pending, State: stateOf(engine.Pending, "")}},
			},
		},
		Log:       []Line{{At: "2026-11-21 14:02:01 +0000", Text: "start 1 callers"}, {At: "2026-11-21 14:05:12 +0000", Tone: "bad", Text: "fail  2 tests", More: []string{"| undefined: ErrReplayed"}}},
		Revisions: []Revision{{Version: 1, At: "2026-11-21 14:00:00 +0000", By: "ann", Answer: "approved by ann"}, {Version: 2, At: "2026-11-21 14:10:00 +0000", By: "bob", Answer: "approved by ann", Why: "typo", What: "1 step changed", Weakened: []string{"contract of step 2"}}},
		Retro:     []string{"run 7f3a21 failed", "what happened"},
	}
}

func TestForms(t *testing.T) {
	for _, f := range Forms() {
		got, err := ledger().Write(f)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "ledger."+string(f))
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil { //nolint:gosec // a file of the repository
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	if got, err := ledger().Write("pdf"); err == nil {
		t.Errorf("pdf: %q", got)
	}
}

// filled gives every text of a value the same words.
func filled(v reflect.Value, words string, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(words)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Struct:
		for _, field := range v.Fields() {
			filled(field, words, depth)
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			filled(v.Index(0), words, depth-1)
			filled(v.Index(1), words, depth-1)
		}
	}
}

// nasty is what an agent might print.
var nasty = []string{
	"\x1b[31m\x1b]8;;http://evil\x07<script>alert(1)</script>", "\"'`<!--\u202e\x00{{.}}", "]]></failure><failure>", "``` \n# a\n````", "| a | b\n|--|--\n", "<br>![x](http://evil/x.png)", "[x](javascript:alert(1))",
	"https://evil.example www.evil.example a@evil.example @acme #12", "- [ ] a\n1. b\n> c\n---\n", "\ufffe\uffff\x01\xff&amp;&#0;", "**a** __b__ ~~c~~ $d$ \\", "<details open><style>*{}</style>", "</style></title><base href=//evil>", "    code", "=====", "[^1]: a\n[x]: http://evil",
}

// What others wrote stays text: it makes no element that plain words would not make.
func TestTextStaysText(t *testing.T) {
	shape := func(f Form, words string) map[string]int {
		var r Report
		filled(reflect.ValueOf(&r).Elem(), words, 3)
		proc.PlainIn(&r)
		body, err := r.Write(f)
		if err != nil {
			t.Fatal(err)
		}
		if f == Markdown {
			var b strings.Builder
			if err := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Convert(body, &b); err != nil {
				t.Fatal(err)
			}
			body = []byte(strings.NewReplacer("<!-- raw HTML omitted -->", "<raw/>", ` style="text-align:right"`, "").Replace(b.String()))
		}
		if f != JUnit && f != Badge { // XML may not hold these, and pages may
			body = []byte(strings.NewReplacer("\ufffe", "", "\uffff", "").Replace(string(body)))
		}
		count, err := elements(string(body))
		if err != nil {
			t.Errorf("%s of %q: %v", f, words, err)
		}
		return count
	}
	for _, f := range Forms() {
		want := shape(f, "plain")
		for _, words := range nasty {
			if got := shape(f, words); !maps.Equal(got, want) {
				t.Errorf("%s of %q (-want +got):\n%s", f, words, cmp.Diff(want, got))
			}
		}
	}
}

// remote is what would make a reader load something, or lead it elsewhere.
var remote = regexp.MustCompile(`^(href|src|srcset|action|data|poster|background|style|on.*)$`)

// elements counts the elements of a document that is well formed, refuses what leads out of it,
// and leaves out those that a text has as many of as it has lines.
func elements(text string) (map[string]int, error) {
	count := map[string]int{}
	d := xml.NewDecoder(strings.NewReader("<all>" + strings.Replace(text, `<?xml version="1.0" encoding="UTF-8"?>`, "", 1) + "</all>"))
	d.Entity = xml.HTMLEntity
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return count, nil
		case err != nil:
			return nil, err
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range start.Attr {
			if remote.MatchString(strings.ToLower(a.Name.Local)) && !strings.HasPrefix(a.Value, "#") {
				return nil, errors.New("it leads to " + a.Name.Local + "=" + a.Value)
			}
		}
		if name := start.Name.Local; name != "span" {
			count[name]++
		}
	}
}

// A page allows its own style and nothing else, and has a title, a language and one first heading.
func TestPage(t *testing.T) {
	body, err := ledger().Write(HTML)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<html lang="en">`, "default-src &#39;none&#39;; style-src &#39;sha256-", "prefers-color-scheme: dark", "undefined: ErrReplayed", "&#43;a", "Make capture &lt;safe&gt;"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("it lacks %q", want)
		}
	}
	count, err := elements(string(body))
	if err != nil || count["h1"] != 1 || count["script"]+count["link"]+count["img"] > 0 {
		t.Error(count, err)
	}
	if strings.Contains(pageCSS, "url(") || strings.Contains(pageCSS, "@import") {
		t.Error("the style sheet loads something")
	}
}

// The attributes that the schema for Ant's reports has; all of a suite are required but skipped.
type suites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Attrs   []xml.Attr `xml:",any,attr"`
	Suites  []struct {
		ID         int        `xml:"id,attr"`
		Package    string     `xml:"package,attr"`
		Name       string     `xml:"name,attr"`
		Timestamp  string     `xml:"timestamp,attr"`
		Host       string     `xml:"hostname,attr"`
		Tests      int        `xml:"tests,attr"`
		Failures   int        `xml:"failures,attr"`
		Errors     int        `xml:"errors,attr"`
		Skipped    int        `xml:"skipped,attr"`
		Time       string     `xml:"time,attr"`
		Attrs      []xml.Attr `xml:",any,attr"`
		Properties []struct {
			Name  string `xml:"name,attr"`
			Value string `xml:"value,attr"`
		} `xml:"properties>property"`
		Cases []struct {
			Name   string     `xml:"name,attr"`
			Class  string     `xml:"classname,attr"`
			Time   string     `xml:"time,attr"`
			Attrs  []xml.Attr `xml:",any,attr"`
			Faults []struct {
				XMLName xml.Name
				Message string `xml:"message,attr"`
				Type    string `xml:"type,attr"`
				Text    string `xml:",chardata"`
			} `xml:",any"`
		} `xml:"testcase"`
		SystemOut *string `xml:"system-out"`
		SystemErr *string `xml:"system-err"`
	} `xml:"testsuite"`
}

func TestJUnit(t *testing.T) {
	r := ledger()
	r.Steps[2].Attempts[0].Answers[0].Stderr = "a ]]> b \x00\x1b[31m\ufffe & <c>"
	proc.PlainIn(r)
	body, err := r.Write(JUnit)
	if err != nil {
		t.Fatal(err)
	}
	var x suites
	if err := xml.Unmarshal(body, &x); err != nil {
		t.Fatal(err)
	}
	s := x.Suites[0]
	if len(x.Attrs)+len(s.Attrs) > 0 || s.Tests != 6 || s.Failures != 1 || s.Errors != 1 || s.Skipped != 2 || s.Time != "1982.000" || s.Timestamp != "2026-11-21T14:02:00" || s.SystemErr == nil {
		t.Errorf("%+v", s)
	}
	counts := map[string]int{}
	for _, c := range s.Cases {
		if _, err := strconv.ParseFloat(c.Time, 64); err != nil || len(c.Attrs) > 0 || len(c.Faults) > 1 || c.Class != r.Title {
			t.Errorf("%+v", c)
		}
		for _, f := range c.Faults {
			counts[f.XMLName.Local]++
			if f.XMLName.Local == "failure" && (f.Type != "fail" || !strings.Contains(f.Text, "a ]]> b \ufffd & <c>") || f.Message != "exit 1") {
				t.Errorf("%+v", f)
			}
		}
	}
	if counts["failure"] != 1 || counts["error"] != 1 || counts["skipped"] != 2 {
		t.Error(counts)
	}
	if !strings.Contains(*s.SystemOut, "2 tests, attempt 1, fail: contract exited 1") || !strings.Contains(*s.SystemOut, "undefined: ErrReplayed") {
		t.Error(*s.SystemOut)
	}
}

// The words of a badge say how the run stands, whoever cannot see its colour.
func TestBadge(t *testing.T) {
	for status, tone := range map[engine.Status]string{engine.Done: "#17784a", view.DoneUnproven: "#8a5a00", engine.Failed: "#c02c27", engine.Waiting: "#7038c8", engine.Running: "#1d5fd1", engine.Cancelled: "#6b6b62"} {
		r := ledger()
		r.Status, r.State = status, stateOf(status, "")
		body, err := r.Write(Badge)
		if err != nil || !strings.Contains(string(body), `aria-label="piton: `+string(status)+`: 2 of 5 steps proven"`) || !strings.Contains(string(body), tone) {
			t.Errorf("%s: %v\n%s", status, err, body)
		}
	}
}
