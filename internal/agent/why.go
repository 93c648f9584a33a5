package agent

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/lazy"
)

// Why says why an attempt of a program ended as it did, where the program's own error
// records, its standard error or the end of its process tell. What the model said counts for
// nothing: an agent that did its work badly, and speaks of an error in its words, has no
// cause but its contract.
func Why(program string, r Result) engine.Cause {
	program = filepath.Base(program)
	switch {
	case r.Cause != (engine.Cause{}):
		return r.Cause
	case r.How == engine.NoStart && classify(r.Fault, true).Kind == "":
		return unstarted(r)
	case r.How == engine.Stopped || r.How == engine.Lost:
		return engine.Cause{}
	case r.Fault != (Fault{}):
		c := keyed(classify(r.Fault, true), r.Fault, r.Keys)
		c.Text = cmp.Or(short(oneLine(r.Fault.Text), maxWhy), r.Fault.Code)
		if _, more, ok := strings.Cut(r.Reason, "not logged in: "); ok { // with what it offers
			c.Text = short(oneLine(more), maxWhy)
		}
		c.Next = next(c.Kind, program, c.Text, r.Keys)
		return c
	case r.How == engine.TimedOut && r.Calls == 0: // perhaps it tried again and again
		c, line := fromLines(r.Stderr, r.Keys)
		if c.Kind != "" {
			c.Text, c.Next = short("it tried again and again: "+line, maxWhy), next(c.Kind, program, line, r.Keys)
		}
		return c
	case r.How == engine.Exited && r.Exit != 0:
		return ended(program, r)
	}
	return refused(r)
}

// Outage is what keeps an agent from its model, by an error that it tells; none where that says
// nothing of it. The keys are as in [Result].
func Outage(program string, d Deed, keys []string) engine.Cause {
	f := Fault{Text: d.Text}
	c := keyed(classify(f, true), f, keys)
	if d.Type != Erred || !c.Outside() {
		return engine.Cause{}
	}
	c.Text, c.Next = short(oneLine(d.Text), maxWhy), next(c.Kind, filepath.Base(program), d.Text, keys)
	return c
}

// maxWhy is how many bytes of an agent's words a cause has.
const maxWhy = 300

func unstarted(r Result) engine.Cause {
	c := engine.Cause{Kind: engine.NotStarted, Text: short(oneLine(r.Reason), maxWhy), Lasts: r.Absent}
	if r.Signal != "" {
		c.Kind = engine.Crashed
	}
	return c
}

// ended is the cause of a program that ended badly without a word of its own form.
func ended(program string, r Result) engine.Cause {
	said := strings.TrimSpace(r.Stderr)
	if said == "" && !r.Formed {
		said = strings.TrimSpace(r.Stdout)
	}
	c, line := fromLines(said, r.Keys)
	if c.Kind == "" {
		c.Kind = engine.Crashed
		line = r.Complaint
	}
	if line == "" {
		line = fmt.Sprintf("it ended with exit %d and said nothing", r.Exit)
	}
	c.Text = short(line, maxWhy)
	c.Next = next(c.Kind, program, said, r.Keys)
	if no := refused(r); c.Kind == engine.Crashed && no.Kind != "" {
		return no
	}
	return c
}

// fromLines is the cause that the first line with a known word tells.
func fromLines(said string, keys []string) (engine.Cause, string) {
	for line := range strings.Lines(said) {
		line = oneLine(message(strings.TrimSpace(line)))
		f := Fault{Text: line}
		if m := statusLine().FindStringSubmatch(line); m != nil {
			f.Status, _ = strconv.Atoi(m[1])
		}
		if c := classify(f, false); c.Kind != "" {
			return keyed(c, f, keys), line
		}
	}
	return engine.Cause{}, ""
}

// statusLine is how a program tells the code of HTTP in words.
var statusLine = lazy.Regexp(`(?i)\bstatus:? (?:code:? )?([45]\d\d)\b`)

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// refused is the cause of an agent that was not allowed to do something.
func refused(r Result) engine.Cause {
	if r.No.Type == Refused {
		c := engine.Cause{Kind: engine.WasDenied, Text: refusal(r.No), Next: nextRefused}
		if r.Forbidden {
			c.Next = nextForbidden
		}
		return c
	}
	for line := range strings.Lines(r.Stderr) {
		if line = oneLine(line); denied(line) {
			return engine.Cause{Kind: engine.WasDenied, Text: short(line, maxWhy), Next: nextRefused}
		}
	}
	return engine.Cause{}
}

// refusal says what was not allowed.
func refusal(d Deed) string {
	what := strings.TrimSpace(cmp.Or(d.Name, string(d.Tool)) + " " + oneLine(d.Target))
	return short(strings.TrimSuffix(what+": "+oneLine(d.Text), ": "), maxWhy)
}

const nextForbidden = "allow it when the agent asks again, or add a rule to `permissions:`, such as `allow run make`"

const nextRefused = "set `mode: full` for the step, or change `modes:` or `command:` of the agent in .piton/config.yaml so that it need not ask"

// sign is how errors of one kind are known.
type sign struct {
	kind  engine.CauseKind
	lasts bool // nothing but a person changes it
	words []string
	loose []string // that count in an agent's own error only, and not on a line that it printed
}

// signs are looked through in this order: a key that is missing is told before the login
// that would do instead, and what lasts before what passes.
var signs = []sign{
	{engine.NoQuota, true, []string{
		"credit balance", "insufficient_quota", "exceeded your current quota", "quota exceeded", "out of credits", "insufficient credits",
		"insufficient balance", "usage limit reached", "hit your usage limit",
	}, []string{"billing", "payment required", "usage limit"}},
	{engine.NoModel, true, []string{
		"model_not_found", "issue with the selected model", "modelnotfound", "unknown model", "invalid model", "model not found",
		"not found for api version", "model is not supported", "no such model",
	}, nil},
	{engine.KeyRefused, true, []string{
		"api key not valid", "api_key_invalid", "invalid api key", "invalid_api_key", "incorrect api key", "invalid x-api-key", "api key expired",
	}, nil},
	{engine.NoKey, true, []string{
		"missing environment variable", "no api key", "api key is missing", "api key required", "missing api key", "api key is not set",
		"api_key environment variable", "api key not found",
	}, nil},
	{engine.NoLogin, true, []string{
		"not logged in", "please run /login", "please log in", "please sign in", "login required", "no authentication information", "authentication_failed",
		"authentication_error", "authentication required", "not authenticated", "auth method", "401 unauthorized",
	}, []string{"log in", "login", "sign in", "unauthenticated", "oauth token", "unauthorized", "authentication failed"}},
	{engine.NoQuota, false, []string{"rate limit", "rate_limit", "ratelimit", "too many requests", "resource_exhausted"}, nil},
	{engine.NoNetwork, false, []string{
		"econnrefused", "econnreset", "enotfound", "etimedout", "eai_again", "connection to the api was lost", "lookup address information",
		"name does not resolve", "fetch failed", "stream disconnected", "socket hang up", "error sending request",
	}, []string{
		"connection refused", "connectionrefused", "unable to connect", "connection reset", "connection failed", "connection error", "connection closed", "could not connect", "cannot connect", "failed to connect",
		"no such host", "network error", "transport error", "service unavailable", "bad gateway", "gateway timeout", "overloaded", "high demand",
		"internal server error", "internal error", "the server had an error", "did not answer", "premature close", "timed out", "terminated",
		"unexpected eof", "error decoding response",
	}},
}

// modelGone are the words in which vendors say that there is no such model.
var modelGone = lazy.Regexp(`(?i)\bmodel\b.{0,80}\b(does not exist|not exist|not found|not supported|not available|no access)\b`)

// classify says what kind of error it is; the code of HTTP counts where the words say nothing.
// Own: it is the agent's own record, and no line that it printed.
func classify(f Fault, own bool) engine.Cause {
	text := strings.ToLower(f.Text + "\n" + f.Code)
	if modelGone().MatchString(text) {
		return engine.Cause{Kind: engine.NoModel, Lasts: true}
	}
	for _, s := range signs {
		if says(text, s.words) || own && says(text, s.loose) {
			if s.kind == engine.NoLogin && keyName().MatchString(f.Text) {
				s.kind = engine.NoKey
			}
			return engine.Cause{Kind: s.kind, Lasts: s.lasts}
		}
	}
	switch {
	case f.Status == 401 || f.Status == 403:
		return engine.Cause{Kind: engine.NoLogin, Lasts: true}
	case f.Status == 402:
		return engine.Cause{Kind: engine.NoQuota, Lasts: true}
	case f.Status == 429:
		return engine.Cause{Kind: engine.NoQuota}
	case f.Status >= 500, f.Status == 408:
		return engine.Cause{Kind: engine.NoNetwork}
	}
	return engine.Cause{}
}

// keyed is the cause where the agent was given keys: the model that refused its login refused
// one of these, unless it got none.
func keyed(c engine.Cause, f Fault, keys []string) engine.Cause {
	text := strings.ToLower(f.Text + "\n" + f.Code)
	refused := f.Status == 401 || f.Status == 403 || says(text, []string{"401", "403", "authentication_failed", "authentication_error"})
	if (c.Kind == engine.NoLogin || c.Kind == engine.NoKey) && len(keys) > 0 && refused && !strings.Contains(text, "missing") {
		c.Kind = engine.KeyRefused
	}
	return c
}

func says(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

var keyName = lazy.Regexp(`\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)*_(KEY|TOKEN)\b`)

// next is what to do about a cause.
func next(kind engine.CauseKind, program, said string, keys []string) string {
	known := ProgramOf([]string{program})
	switch kind {
	case engine.NoLogin:
		return strings.TrimSuffix(cmp.Or(known.SignIn, "log in with "+program)+", or set "+cmp.Or(known.key(), "a key")+" where you start piton, and name it under `env_pass:` of the agent in .piton/config.yaml; "+known.Keyed, "; ")
	case engine.NoKey:
		return "set " + cmp.Or(keyName().FindString(said), known.key(), "the variable with its key") + " where you start piton, and name it under `env_pass:` of the agent in .piton/config.yaml"
	case engine.KeyRefused:
		if name := cmp.Or(keyName().FindString(said), strings.Join(keys, " or ")); name != "" {
			return "the key in " + name + " was refused: set another one"
		}
		return "piton gave it none: set " + cmp.Or(known.key(), "the variable with its key") + " where you start piton, and name it under `env_pass:` of the agent in .piton/config.yaml; or change the one that the program has"
	case engine.NoModel:
		return "name a model that you have: `model:` or `command:` of the agent in .piton/config.yaml"
	case engine.NoQuota:
		return "wait, or look at the quota and billing of your account"
	case engine.NoNetwork:
		return "look whether the model's service can be reached from here"
	}
	return ""
}
