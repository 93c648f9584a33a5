package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/engine"
)

// API is the protocol of an endpoint.
type API string

const (
	OpenAI    API = "openai"    // chat completions, which many servers speak
	Anthropic API = "anthropic" // messages
)

// Endpoint asks a model over HTTP.
type Endpoint struct {
	API     API
	BaseURL string // "" is that of the company
	Model   string
	Key     string // "" is none
	KeyName string // of the variable that held it, for people
	Price   *agent.Price
	Time    time.Duration
}

const (
	retries = 2 // of a request that was refused for a moment, each a little later

	// maxBody bounds the bytes of a response: an answer may be escaped, and has company.
	maxBody = 8 << 20

	// maxTokens is what Anthropic's protocol has to be told. What is longer is cut off,
	// and no answer.
	maxTokens = 16_000

	// maxCount is more than any model uses. A count beyond it is nonsense, and counts as it.
	maxCount = 1_000_000_000_000
)

// Ask sends the question, and again where the endpoint asks for that.
func (e Endpoint) Ask(ctx context.Context, q Question) (Answer, error) {
	limit := cmp.Or(e.Time, DefaultTime)
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	keep(q.Log, "question", q.Prompt)
	ask := e.openai
	if e.API == Anthropic {
		ask = e.anthropic
	}
	text, used, err := ask(within, q)
	used = e.Price.Charge(used)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = failure(engine.Stopped, "stopped by Piton")
	case within.Err() != nil:
		err = failure(engine.TimedOut, "%s gave no answer within %s", e.who(), limit)
	default:
		err = e.failed(err)
	}
	if err != nil {
		keep(q.Log, "no answer", err.Error())
		return Answer{Usage: used}, err
	}
	a, err := taken(e.who(), text, used)
	keep(q.Log, "answer", a.Text)
	return a, err
}

func (e Endpoint) who() string { return fmt.Sprintf("model %q", e.Model) }

// openai asks by chat completion, as its reference says:
// platform.openai.com/docs/api-reference/chat/create.
func (e Endpoint) openai(ctx context.Context, q Question) (string, engine.Usage, error) {
	question := map[string]any{
		"model": e.Model, "messages": []any{map[string]any{"role": "user", "content": q.Prompt}},
	}
	if len(q.Schema) > 0 {
		question["response_format"] = map[string]any{
			"type": "json_schema", "json_schema": map[string]any{"name": "answer", "schema": q.Schema},
		}
	}
	header := http.Header{}
	if e.Key != "" {
		header.Set("Authorization", "Bearer "+e.Key)
	}
	var r struct {
		Choices []struct {
			FinishReason string `json:"finish_reason"`
			Message      struct {
				Content, Refusal string
			}
		}
		Usage *struct {
			In  int64 `json:"prompt_tokens"`
			Out int64 `json:"completion_tokens"`
		}
	}
	if err := e.post(ctx, "https://api.openai.com/v1", "chat/completions", header, question, &r); err != nil {
		return "", engine.Usage{}, err
	}
	var used engine.Usage
	if r.Usage != nil {
		used = usage(r.Usage.In, r.Usage.Out)
	}
	if len(r.Choices) == 0 {
		return "", used, nil
	}
	c := r.Choices[0]
	switch {
	case c.Message.Refusal != "":
		return "", used, failure(engine.Exited, "%s refuses: %s", e.who(), words(c.Message.Refusal))
	case c.FinishReason == "length":
		return "", used, e.cutOff()
	}
	return c.Message.Content, used, nil
}

// anthropic asks by message, as its reference says: docs.claude.com/en/api/messages.
func (e Endpoint) anthropic(ctx context.Context, q Question) (string, engine.Usage, error) {
	question := map[string]any{
		"model": e.Model, "max_tokens": maxTokens,
		"messages": []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": q.Prompt}}}},
	}
	if len(q.Schema) > 0 {
		question["output_config"] = map[string]any{"format": map[string]any{"type": "json_schema", "schema": q.Schema}}
	}
	header := http.Header{"Anthropic-Version": {"2023-06-01"}}
	if e.Key != "" {
		header.Set("X-Api-Key", e.Key)
	}
	var r struct {
		StopReason string `json:"stop_reason"`
		Content    []struct{ Type, Text string }
		Usage      *struct {
			In      int64 `json:"input_tokens"`
			Written int64 `json:"cache_creation_input_tokens"`
			Read    int64 `json:"cache_read_input_tokens"`
			Out     int64 `json:"output_tokens"`
		}
	}
	if err := e.post(ctx, "https://api.anthropic.com", "v1/messages", header, question, &r); err != nil {
		return "", engine.Usage{}, err
	}
	var used engine.Usage
	if r.Usage != nil {
		// What was written to a cache or read from it was given to the model like the rest.
		used = usage(sum(r.Usage.In, r.Usage.Written, r.Usage.Read), r.Usage.Out)
	}
	switch r.StopReason {
	case "max_tokens":
		return "", used, e.cutOff()
	case "refusal":
		return "", used, failure(engine.Exited, "%s refuses to answer", e.who())
	}
	var text strings.Builder
	for _, block := range r.Content {
		if block.Type == "text" {
			text.WriteString(block.Text)
		}
	}
	return text.String(), used, nil
}

// refused is an answer with a status that is no success.
type refused struct {
	status int
	body   []byte
}

func (r *refused) Error() string { return http.StatusText(r.status) }

// post sends a question as JSON and decodes the answer into answer. A request that was
// refused for a moment, or not taken at all, is sent again. The environment of this
// process says nothing to it but for the proxy.
func (e Endpoint) post(ctx context.Context, base, path string, header http.Header, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("write the question: %w", err)
	}
	to, err := url.JoinPath(cmp.Or(e.BaseURL, base), path)
	if err != nil {
		return err
	}
	request, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, to, body)
	if err != nil {
		return err
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	c := client()
	defer c.HTTPClient.CloseIdleConnections()
	res, err := c.Do(request)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(http.MaxBytesReader(nil, res.Body, maxBody))
	switch {
	case err != nil:
		return err
	case res.StatusCode != http.StatusOK:
		return &refused{res.StatusCode, got}
	}
	if err := json.Unmarshal(got, answer); err != nil {
		return failure(engine.Exited, "the endpoint of %s gave an answer that is not in its protocol: %s", e.who(), words(err.Error()))
	}
	return nil
}

// client follows no redirection, and tries again what the endpoint has no time for:
// after as long as it asks for, or a little longer each time.
func client() *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.Logger = nil
	c.RetryMax = retries
	c.RetryWaitMin, c.RetryWaitMax = time.Second/2, 8*time.Second
	c.ErrorHandler = retryablehttp.PassthroughErrorHandler
	c.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.CheckRetry = func(ctx context.Context, res *http.Response, err error) (bool, error) {
		if err == nil && (res.StatusCode == http.StatusRequestTimeout || res.StatusCode == http.StatusConflict) {
			return true, nil
		}
		return retryablehttp.DefaultRetryPolicy(ctx, res, err)
	}
	return c
}

func (e Endpoint) cutOff() *Failure {
	return failure(engine.Exited, "the answer of %s was cut off: it is longer than it may be", e.who())
}

// failed says for people why the endpoint has no answer. What it says of a key is
// repeated as far as it goes: the key itself is in no message of ours.
func (e Endpoint) failed(err error) error {
	if _, ours := errors.AsType[*Failure](err); ours {
		return err
	}
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return tooLong(e.who())
	}
	if r, ok := errors.AsType[*refused](err); ok {
		said := words(message(r.body))
		if r.status == http.StatusUnauthorized || r.status == http.StatusForbidden {
			return failure(engine.NoStart, "the endpoint of %s refuses %s: %s", e.who(), e.key(), said)
		}
		return failure(engine.NoStart, "the endpoint of %s answered %d %s: %s", e.who(), r.status, http.StatusText(r.status), said)
	}
	return failure(engine.NoStart, "the endpoint of %s did not answer: %s", e.who(), words(err.Error()))
}

func (e Endpoint) key() string {
	if e.Key == "" {
		return "a question without a key (key_env names the variable that has it)"
	}
	return "the key in " + e.KeyName
}

// message is what the error of either protocol says, or all of the body.
func message(body []byte) string {
	var e struct{ Error struct{ Message string } }
	_ = json.Unmarshal(body, &e) // what is no such error is shown as it is
	return cmp.Or(e.Error.Message, string(body))
}

// usage is what an endpoint says was used.
func usage(in, out int64) engine.Usage {
	if in < 0 || out < 0 {
		return engine.Usage{}
	}
	return engine.Usage{In: new(min(in, maxCount)), Out: new(min(out, maxCount))}
}

// sum adds counts from outside; one that makes no sense makes the sum senseless.
func sum(counts ...int64) (total int64) {
	for _, n := range counts {
		if n < 0 {
			return math.MinInt64
		}
		total += min(n, maxCount)
	}
	return total
}
