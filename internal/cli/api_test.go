//go:build linux

package cli_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/httpapi"
)

// apiUser is a program of a user, at the API of a workspace.
type apiUser struct {
	*web
	token string
	doc   map[string]any // the description of the API, as the server gives it
}

// letIn makes a user with some rights, and a program of theirs.
func (b *web) letIn(name, rights string) *apiUser {
	b.t.Helper()
	c := exec.Command("piton", "serve", "token", name, "--may", rights)
	c.Dir, c.Env = b.ws, b.env
	token, err := c.Output()
	if err != nil {
		b.t.Fatal(err)
	}
	p := &apiUser{web: b, token: strings.TrimSpace(string(token))}
	p.doc = map[string]any{}
	p.want(http.StatusOK, http.MethodGet, "/openapi.json", "", &p.doc)
	return p
}

func (p *apiUser) api() string { return p.base[:strings.LastIndex(p.base, "/")] + httpapi.Base }

func (p *apiUser) ask(method, path, body string) *http.Response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.api()+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	return res
}

// want asks, and reads the answer, which must be what the description says.
func (p *apiUser) want(status int, method, path, body string, answer any) {
	p.t.Helper()
	res := p.ask(method, path, body)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		p.t.Fatalf("%s %s: %s, %v\n%s", method, path, res.Status, err, text)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		p.t.Fatalf("%s %s: %v\n%s", method, path, err, text)
	}
	if len(p.doc) > 0 {
		p.fits(method, path, status, text)
	}
}

// fits checks an answer against its schema in the description.
func (p *apiUser) fits(method, path string, status int, text []byte) {
	p.t.Helper()
	path, _, _ = strings.Cut(path, "?")
	schema := map[string]any{"$ref": "#/components/schemas/Problem"}
	if status == http.StatusOK {
		schema = nil
		for pattern, operations := range p.doc["paths"].(map[string]any) {
			as := regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(pattern), `[^/]+`)
			if pattern == "/plans/{path}" {
				as = "/plans/.+"
			}
			if o, ok := operations.(map[string]any)[strings.ToLower(method)].(map[string]any); ok && regexp.MustCompile("^"+as+"$").MatchString(path) {
				schema = o["responses"].(map[string]any)["200"].(map[string]any)["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)
			}
		}
		if schema == nil {
			p.t.Fatalf("%s %s is not described", method, path)
		}
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("answer.json", map[string]any{"components": p.doc["components"], "allOf": []any{schema}}); err != nil {
		p.t.Fatal(err)
	}
	compiled, err := c.Compile("answer.json")
	if err != nil {
		p.t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err == nil {
		err = compiled.Validate(value)
	}
	if err != nil {
		p.t.Errorf("%s %s: %v\n%s", method, path, err, text)
	}
}

// heard reads a stream of events to its end: their types, and their ids.
func (p *apiUser) heard(path string) (types, ids []string) {
	p.t.Helper()
	res := p.ask(http.MethodGet, path, "")
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		p.t.Fatalf("%s: %s, %s", path, res.Status, kind)
	}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if is, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			types = append(types, is)
		}
		if is, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			ids = append(ids, is)
		}
	}
	return types, ids
}

const apiPlan = "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# Greet\n\n## Steps\n\n### 1. Write it\n\n**id:** write\n**writes:** hello.txt\n**target:** script\n**task:**\n```shell\necho hello >hello.txt; echo written\n```\n**contract:** `grep -q hello hello.txt`\n\n### 2. Ask\n\n**id:** ask\n**ask:** Which colour?\n"

// A program does by the API what a person does at the terminal, under the name of its user.
// Who may not approve does not, at the API and at the page, and the journal knows nothing of it.
func TestAPI(t *testing.T) {
	b := newWeb(t, map[string]string{
		"ws/plans/greet.md": apiPlan, "secret.md": apiPlan, "ws/.piton/config.yaml": "agents:\n  coder: {kind: exec, command: [coder, --key, hush], env: {KEY: hush}}\n",
	})
	anna, ben := b.letIn("anna", "run,answer,approve"), b.letIn("ben", "run,answer")

	var here api.Here
	ben.want(http.StatusOK, http.MethodGet, "/workspace", "", &here)
	if here.User != "ben" || here.Dir != b.ws || len(here.Rights) != 3 {
		t.Errorf("here is %+v", here)
	}
	var plans httpapi.Files
	anna.want(http.StatusOK, http.MethodGet, "/plans", "", &plans)
	if len(plans.Files) != 1 || plans.Files[0] != "plans/greet.md" {
		t.Fatalf("the plans are %v", plans)
	}
	var plan httpapi.Document
	anna.want(http.StatusOK, http.MethodGet, "/plans/plans/greet.md", "", &plan)
	hash, _ := plan.Plan["hash"].(string)
	if hash == "" || !plan.Findings.OK || plan.Source != apiPlan {
		t.Fatalf("the plan is %+v", plan)
	}

	yes := `{"word":"plans/greet.md","yes":true,"hash":"` + hash + `"}`
	var problem httpapi.Problem
	for _, path := range []string{"/approve", "/run"} {
		ben.want(http.StatusForbidden, http.MethodPost, path, yes, &problem)
		if problem.Code != "denied" || !strings.Contains(problem.Detail, `ben may not do that: it needs the right "approve"`) || problem.Hint == "" {
			t.Errorf("%s: %+v", path, problem)
		}
	}
	var runs struct{ Runs, Plans []map[string]any }
	anna.want(http.StatusOK, http.MethodGet, "/runs", "", &runs)
	if len(runs.Runs)+len(runs.Plans) > 0 {
		t.Errorf("after what was refused the journal has %v", runs)
	}
	for path, body := range map[string]string{
		"/run": `{"word":"../secret.md"}`, "/approve": `{"word":"` + strings.TrimSuffix(b.ws, "ws") + `secret.md","yes":true}`, "/restore": `{"path":"../secret.md"}`, "/edit": `{"path":"../secret.md"}`,
	} {
		anna.want(http.StatusForbidden, http.MethodPost, path, body, &problem)
		if !strings.Contains(problem.Detail, "leads out of the workspace") {
			t.Errorf("%s %s: %+v", path, body, problem)
		}
	}
	anna.want(http.StatusConflict, http.MethodPost, "/approve", `{"word":"plans/greet.md","yes":true,"hash":"0123456789abcdef"}`, &problem)

	var said struct {
		Needs    string
		Revision *struct{ Answer *struct{ By, Via string } }
		Opened   struct{ Run, Stream string }
	}
	ben.want(http.StatusOK, http.MethodPost, "/run", `{"word":"plans/greet.md"}`, &said)
	if said.Needs != "yes" {
		t.Errorf("a plan that nobody approved: %+v", said)
	}
	anna.want(http.StatusOK, http.MethodPost, "/approve", yes, &said)
	ben.want(http.StatusOK, http.MethodPost, "/run", `{"word":"plans/greet.md"}`, &said)
	run := said.Opened.Run
	if run == "" {
		t.Fatalf("it was not opened: %+v", said)
	}
	// The stream comes as far as the question, and goes on behind it.
	res := anna.ask(http.MethodGet, "/runs/"+run+"/events", "")
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && lines.Text() != "event: item.opened" {
	}
	res.Body.Close()
	var inbox struct {
		Items []struct{ ID, Question string }
	}
	ben.want(http.StatusOK, http.MethodGet, "/inbox", "", &inbox)
	if len(inbox.Items) != 1 {
		t.Fatalf("the inbox: %+v", inbox)
	}
	var ordered map[string]any
	ben.want(http.StatusOK, http.MethodPost, "/answer", `{"item":"`+inbox.Items[0].ID+`","choice":"answer","text":"blue"}`, &ordered)
	types, ids := anna.heard("/runs/" + run + "/events")
	if types[0] != "run.opened" || types[len(types)-1] != "run.ended" {
		t.Errorf("heard %v", types)
	}
	if again, _ := anna.heard("/runs/" + run + "/events?after=" + ids[0]); len(again) != len(types)-1 {
		t.Errorf("behind the first of %d events are %d", len(types), len(again))
	}
	if res := anna.ask(http.MethodGet, "/runs/"+run+"/events?after="+ids[len(ids)-1], ""); res.StatusCode != http.StatusNoContent {
		t.Errorf("behind the last event: %s", res.Status)
	}

	var status, why, changes, history, tasks, agents, settings, compared map[string]any
	anna.want(http.StatusOK, http.MethodGet, "/runs/"+run, "", &status)
	if status["status"] != "done" || status["approved_by"] != "anna" {
		t.Errorf("the run is %v", status)
	}
	var log httpapi.Log
	anna.want(http.StatusOK, http.MethodGet, "/runs/"+run+"/log", "", &log)
	answered := ""
	for _, e := range log.Events {
		if e["type"] == "item.answered" {
			answered, _ = e["by"].(string)
		}
	}
	if answered != "ben" {
		t.Errorf("the log says that %q answered: %v", answered, log)
	}
	anna.want(http.StatusOK, http.MethodGet, "/runs/"+run+"/steps/write", "", &why)
	anna.want(http.StatusOK, http.MethodGet, "/runs/"+run+"/steps/write/diff", "", &changes)
	if text, _ := changes["text"].(string); !strings.Contains(text, "+hello") {
		t.Errorf("the difference is %v", changes)
	}
	out := anna.ask(http.MethodGet, "/runs/"+run+"/steps/write/output", "")
	text, err := io.ReadAll(out.Body)
	if out.Body.Close(); err != nil || string(text) != "written\n" {
		t.Errorf("the output is %q, %v", text, err)
	}
	anna.want(http.StatusOK, http.MethodGet, "/history?of=plans/greet.md", "", &history)
	if by := history["revisions"].([]any)[0].(map[string]any)["answered_by"]; by != "anna" {
		t.Errorf("the revision was approved by %v", by)
	}
	anna.want(http.StatusOK, http.MethodGet, "/tasks", "", &tasks)
	anna.want(http.StatusOK, http.MethodGet, "/tasks/"+tasks["tasks"].([]any)[0].(map[string]any)["task"].(string), "", &tasks)
	anna.want(http.StatusOK, http.MethodGet, "/agents", "", &agents)
	anna.want(http.StatusOK, http.MethodGet, "/settings", "", &settings)
	if text := fmt.Sprint(agents, settings); strings.Contains(text, "hush") || !strings.Contains(text, "coder") {
		t.Errorf("the configuration tells a secret, or nothing: %s", text)
	}
	anna.want(http.StatusOK, http.MethodGet, "/compare?from="+run, "", &compared)
	anna.want(http.StatusOK, http.MethodGet, "/runs?status=done&recent=1", "", &runs)
	if len(runs.Runs) != 1 {
		t.Errorf("the runs are %v", runs)
	}
	for _, path := range []string{"/runs/zzz", "/nothing", "/plans/none.md", "/tasks/t-x"} {
		anna.want(http.StatusNotFound, http.MethodGet, path, "", &problem)
	}
	anna.want(http.StatusUnprocessableEntity, http.MethodGet, "/compare", "", &problem)
	anna.want(http.StatusUnprocessableEntity, http.MethodPost, "/order", `{"run":7}`, &problem)

	revoke := exec.Command("piton", "serve", "revoke", "ben")
	revoke.Dir, revoke.Env = b.ws, b.env
	if out, err := revoke.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ben.want(http.StatusUnauthorized, http.MethodGet, "/runs", "", &problem)
}

// Who may only say no, or only yes, does, also where a run waits whose text has changed; and what
// needs another right as well is refused before the journal knows of it.
func TestYesAndNo(t *testing.T) {
	b := newWeb(t, map[string]string{"ws/plans/greet.md": apiPlan})
	anna, carl, dora := b.letIn("anna", "run,answer,approve"), b.letIn("carl", "answer"), b.letIn("dora", "approve")
	var plan httpapi.Document
	var problem httpapi.Problem
	var said struct {
		Proposal bool
		Opened   struct{ Run string }
	}
	about := func() string {
		plan = httpapi.Document{}
		dora.want(http.StatusOK, http.MethodGet, "/plans/plans/greet.md", "", &plan)
		return `{"word":"plans/greet.md","yes":true,"weaker":true,"hash":"` + plan.Plan["hash"].(string) + `"}`
	}
	answered := func(who string) {
		t.Helper()
		var history map[string]any
		dora.want(http.StatusOK, http.MethodGet, "/history?of=plans/greet.md", "", &history)
		all := history["revisions"].([]any)
		if by := all[len(all)-1].(map[string]any)["answered_by"]; !said.Proposal || by != who {
			t.Errorf("%v answered, not %s; it was said to %+v", by, who, said)
		}
	}
	var runs struct{ Runs, Plans []map[string]any }
	dora.want(http.StatusForbidden, http.MethodPost, "/run", about(), &problem)
	dora.want(http.StatusOK, http.MethodGet, "/runs", "", &runs)
	if len(runs.Runs)+len(runs.Plans) > 0 {
		t.Errorf("after what was refused the journal has %v", runs)
	}
	anna.want(http.StatusOK, http.MethodPost, "/run", about(), &said)
	res := anna.ask(http.MethodGet, "/runs/"+said.Opened.Run+"/events", "")
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && lines.Text() != "event: item.opened" {
	}
	res.Body.Close()
	b.write(filepath.Join(b.ws, "plans", "greet.md"), strings.Replace(apiPlan, "Which colour?", "Which size?", 1))
	carl.want(http.StatusForbidden, http.MethodPost, "/approve", about(), &problem)
	carl.want(http.StatusOK, http.MethodPost, "/reject", `{"word":"plans/greet.md","why":"not now"}`, &said)
	answered("carl")
	dora.want(http.StatusForbidden, http.MethodPost, "/reject", `{"word":"plans/greet.md"}`, &problem)
	dora.want(http.StatusOK, http.MethodPost, "/approve", about(), &said)
	answered("dora")
	anna.want(http.StatusOK, http.MethodPost, "/order", `{"run":"`+said.Opened.Run+`","verb":"cancel"}`, &map[string]any{})
}

// A verb with --server does what it does in the workspace, for the user of the token.
func TestServer(t *testing.T) {
	drawn := base64.StdEncoding.EncodeToString([]byte(strings.Replace(apiPlan, "# Greet", "# Greet again", 1)))
	b := newWeb(t, map[string]string{
		"ws/plans/greet.md": apiPlan, "away/.keep": "",
		"ws/.piton/config.yaml": "agents:\n  drawer: {kind: exec, command: [sh, -c, \"echo " + drawn + " | base64 -d\"]}\nplanner: {agent: drawer}\n",
	})
	anna, ben := b.letIn("anna", "run,answer,approve"), b.letIn("ben", "")
	at := strings.TrimSuffix(anna.api(), httpapi.Base)
	as := func(u *apiUser, code int, words ...string) string {
		t.Helper()
		c := exec.Command("piton", append(words, "--server", at)...)
		c.Dir, c.Env = filepath.Join(filepath.Dir(b.ws), "away"), append(b.env, "PITON_TOKEN="+u.token)
		out, err := c.CombinedOutput()
		if is := c.ProcessState.ExitCode(); is != code {
			t.Fatalf("piton %q: exit %d, %v, want %d\n%s", words, is, err, code, out)
		}
		return string(out)
	}
	says := func(out string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("there is no %q in\n%s", want, out)
			}
		}
	}
	says(as(ben, 0, "list"), "No runs yet")
	says(as(ben, 0, "verify", "plans/greet.md"), "no errors")
	says(as(ben, 0, "show", "plans/greet.md"), "Greet", "hello.txt")
	says(as(ben, 2, "approve", "plans/greet.md", "--yes"), `ben may not do that: it needs the right "approve"`)
	says(as(ben, 2, "run", "plans/greet.md", "--yes"), "ben may not do that")
	says(as(ben, 0, "list"), "No runs yet")
	says(as(anna, 3, "plan", "Greet them"), "nobody has approved the configuration .* the planner is agent \"drawer\"\n")
	says(as(anna, 0, "approve", "plans/greet.md", "--yes"), "approved")
	says(as(anna, 3, "run", "plans/greet.md"), "pass +1 write", `ask +2 ask`)
	says(as(ben, 0, "status"), "Greet", "Which colour")
	var inbox struct {
		Data struct{ Items []struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(as(ben, 0, "inbox", "--json")), &inbox); err != nil || len(inbox.Data.Items) != 1 {
		t.Fatalf("the inbox: %+v, %v", inbox, err)
	}
	says(as(ben, 2, "answer", inbox.Data.Items[0].ID, "--text", "blue"), "ben may not do that")
	says(as(anna, 0, "answer", inbox.Data.Items[0].ID, "--text", "blue"), "answer")
	run, _, _ := strings.Cut(inbox.Data.Items[0].ID, "/")
	as(ben, 0, "watch") // the run goes on by itself
	says(as(ben, 0, "status"), "done")
	says(as(ben, 0, "log"), "write", "blue")
	says(as(ben, 0, "log", "--json"), `"type":"item.answered"`, `"by":"anna"`)
	says(as(ben, 0, "log", "write", "--transcript"), "written")
	says(as(ben, 0, "diff", "write"), `\+hello`)
	says(as(ben, 0, "why", "write"), "proven|contract")
	says(as(ben, 0, "history", "plans/greet.md"), "approved by anna")
	says(as(ben, 0, "export", "plans/greet.md", "--to", "yaml"), "task: Greet")
	says(as(ben, 0, "watch", "--json"), `"run.ended"`)
	says(as(ben, 2, "archive", run), "ben may not do that")
	as(anna, 0, "archive", run)
	says(as(ben, 2, "verify", "../home/x.md"), "leads out of the workspace|no such file")
	says(as(ben, 2, "doctor"), "piton doctor is about this machine")
	says(as(anna, 0, "plan", "Greet them again"), "# Greet again")
	says(as(anna, 2, "plan", "Greet them", "--yes", "-o", "plans/greet.md"), "exists already")
	says(as(ben, 2, "plan", "Greet them", "--yes"), "ben may not do that")
	says(as(anna, 0, "plan", "Greet them again", "--yes", "-o", "plans/again.md"), `wrote .*plans/again\.md`)
	says(as(ben, 0, "verify", "plans/again.md"), "no errors")
	anna.token = "piton_nobody"
	says(as(anna, 2, "list"), "no token of a user")
	anna.token = ""
	says(as(anna, 2, "list"), "PITON_TOKEN_FILE")
}

// Each verb either asks a server or says that it is about this machine.
func TestEveryVerbKnowsServers(t *testing.T) {
	help, err := exec.Command("piton", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(help), "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	verbs := regexp.MustCompile(`(?m)^  ([a-z-]+)`).FindAllStringSubmatch(list, -1)
	if len(verbs) < 40 {
		t.Fatalf("the help lists %q", list)
	}
	tries := [][]string{{"config", "show"}, {"tools", "show", "x"}, {"agents", "test"}, {"plan", "undo", "x"}}
	usual := map[string]string{"force-agent": "x y", "export": "x --to yaml"}
	for bare := range strings.FieldsSeq("agents config doctor fsck gc init list mcp prime serve tools version") {
		usual[bare] = ""
	}
	for _, v := range verbs {
		words, other := usual[v[1]]
		if !other {
			words = "x"
		}
		tries = append(tries, append([]string{v[1]}, strings.Fields(words)...))
	}
	for _, words := range tries {
		c := exec.Command("piton", append(words, "--server", "http://192.0.2.1:1")...)
		c.Dir, c.Env = t.TempDir(), append(os.Environ(), "PITON_TOKEN=piton_x")
		out, _ := c.CombinedOutput()
		if text := string(out); c.ProcessState.ExitCode() != 2 || !regexp.MustCompile("is about this machine|only over TLS").MatchString(text) {
			t.Errorf("piton %s: exit %d\n%s", words, c.ProcessState.ExitCode(), text)
		}
	}
}

// What a server answers reaches the terminal as text, whatever it does to terminals.
func TestServerCannotDrive(t *testing.T) {
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"code": "denied", "detail": "no\u001b]0;pwn\u0007 way", "hint": "\u001b[2Jask"}`)
	}))
	defer evil.Close()
	c := exec.Command("piton", "status", "--server", evil.URL)
	c.Env = append(os.Environ(), "PITON_TOKEN=piton_x")
	out, err := c.CombinedOutput()
	if text := string(out); err == nil || strings.ContainsAny(text, "\x1b\x07") || !strings.Contains(text, "no way") {
		t.Errorf("%v: %q", err, text)
	}
}

// certificate is a certificate for an address of this machine, and perhaps for names of it, and its
// key, as files; and what trusts it.
func certificate(t *testing.T, names ...string) (cert, key string, trust *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: names, IsCA: true, BasicConstraintsValid: true}
	body, err := x509.CreateCertificate(rand.Reader, is, is, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: body}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust = x509.NewCertPool()
	trust.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: body}))
	return cert, key, trust
}

// Over TLS a user without the right to approve is refused at the page, and the journal knows
// nothing of it; the name of one who has it stands there.
func TestPageOfUsers(t *testing.T) {
	b := newWeb(t, map[string]string{"ws/plans/greet.md": apiPlan})
	anna, ben := b.letIn("anna", "run,answer,approve"), b.letIn("ben", "run,answer")
	cert, key, trust := certificate(t)
	var said struct{ Data struct{ URL string } }
	if err := json.NewDecoder(b.serve("--tls-cert", cert, "--tls-key", key, "--json")).Decode(&said); err != nil || !strings.HasPrefix(said.Data.URL, "https://127.0.0.1:") {
		t.Fatalf("it says %+v, %v", said, err)
	}
	signIn := func(u *apiUser) *web {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		w := &web{t: t, ws: b.ws, env: b.env, base: strings.TrimSuffix(said.Data.URL, "/")}
		w.client = &http.Client{
			Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}},
		}
		if status, _, _ := w.send(http.MethodGet, "/", nil); status != http.StatusSeeOther {
			t.Fatalf("before signing in: %d", status)
		}
		if status, _, body := w.send(http.MethodPost, "/sign-in", url.Values{"token": {u.token}}); status != http.StatusSeeOther {
			t.Fatalf("sign in: %d\n%s", status, body)
		}
		return w
	}
	approves := func(w *web) (int, string) {
		page := w.get("/plans/plans/greet.md")
		form := strings.Replace(page[strings.Index(page, `id="start"`):], `<form class="pad stack" method="post"`, `<form method="post"`, 1)
		status, _, body := w.send(http.MethodPost, "/plans/plans/greet.md", filledIn(form, "say", "start"))
		return status, body
	}
	if status, body := approves(signIn(ben)); status != http.StatusForbidden || !strings.Contains(body, "ben may not do that") {
		t.Errorf("ben: %d\n%s", status, body)
	}
	var runs struct{ Runs, Plans []map[string]any }
	ben.want(http.StatusOK, http.MethodGet, "/runs", "", &runs)
	if len(runs.Runs)+len(runs.Plans) > 0 {
		t.Errorf("after what was refused the journal has %v", runs)
	}
	if status, body := approves(signIn(anna)); status != http.StatusSeeOther {
		t.Errorf("anna: %d\n%s", status, body)
	}
	ben.want(http.StatusOK, http.MethodGet, "/runs", "", &runs)
	if len(runs.Runs) != 1 || runs.Runs[0]["approved_by"] != "anna" {
		t.Fatalf("the runs are %v", runs)
	}
	var ordered map[string]any
	anna.want(http.StatusOK, http.MethodPost, "/order", `{"run":"`+runs.Runs[0]["id"].(string)+`","verb":"cancel"}`, &ordered)
}
