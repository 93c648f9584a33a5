package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

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
		err = failure(engine.Stopped, "stopped by the harness")
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

// openai asks by chat completion. The environment of this process says nothing to it:
// a service by itself does not read it, as a whole client does.
func (e Endpoint) openai(ctx context.Context, q Question) (string, engine.Usage, error) {
	options := []option.RequestOption{
		option.WithEnvironmentProduction(), option.WithHTTPClient(httpClient()), option.WithMaxRetries(retries),
	}
	if e.BaseURL != "" {
		options = append(options, option.WithBaseURL(e.BaseURL))
	}
	if e.Key != "" {
		options = append(options, option.WithAPIKey(e.Key))
	}
	params := openai.ChatCompletionNewParams{
		Model: e.Model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(q.Prompt)},
	}
	if len(q.Schema) > 0 {
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Schema: q.Schema},
		}
	}
	service := openai.NewChatCompletionService(options...)
	r, err := service.New(ctx, params)
	if err != nil {
		return "", engine.Usage{}, err
	}
	used := usage(r.JSON.Usage.Valid(), r.Usage.PromptTokens, r.Usage.CompletionTokens)
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

// anthropic asks by message. As for openai, the environment says nothing to it.
func (e Endpoint) anthropic(ctx context.Context, q Question) (string, engine.Usage, error) {
	options := []anthropicoption.RequestOption{
		anthropicoption.WithEnvironmentProduction(), anthropicoption.WithHTTPClient(httpClient()),
		anthropicoption.WithMaxRetries(retries), anthropicoption.WithoutOpenTelemetry(),
	}
	if e.BaseURL != "" {
		options = append(options, anthropicoption.WithBaseURL(e.BaseURL))
	}
	if e.Key != "" {
		options = append(options, anthropicoption.WithAPIKey(e.Key))
	}
	params := anthropic.MessageNewParams{
		Model: e.Model, MaxTokens: maxTokens,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(q.Prompt))},
	}
	if len(q.Schema) > 0 {
		if err := json.Unmarshal(q.Schema, &params.OutputConfig.Format.Schema); err != nil {
			return "", engine.Usage{}, fmt.Errorf("read the schema of the answer: %w", err)
		}
	}
	service := anthropic.NewMessageService(options...)
	m, err := service.New(ctx, params)
	if err != nil {
		return "", engine.Usage{}, err
	}
	// What was written to a cache or read from it was given to the model like the rest.
	in := sum(m.Usage.InputTokens, m.Usage.CacheCreationInputTokens, m.Usage.CacheReadInputTokens)
	used := usage(m.JSON.Usage.Valid(), in, m.Usage.OutputTokens)
	switch m.StopReason {
	case anthropic.StopReasonMaxTokens:
		return "", used, e.cutOff()
	case anthropic.StopReasonRefusal:
		return "", used, failure(engine.Exited, "%s refuses to answer", e.who())
	}
	var text strings.Builder
	for _, block := range m.Content {
		if block.Type == "text" {
			text.WriteString(block.Text)
		}
	}
	return text.String(), used, nil
}

func (e Endpoint) cutOff() *Failure {
	return failure(engine.Exited, "the answer of %s was cut off at the most that it may say", e.who())
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
	status, said := 0, ""
	if its, ok := errors.AsType[*openai.Error](err); ok {
		status, said = its.StatusCode, cmp.Or(its.Message, its.RawJSON())
	}
	if its, ok := errors.AsType[*anthropic.Error](err); ok {
		status, said = its.StatusCode, message(its.RawJSON())
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return failure(engine.NoStart, "%s is not to be had with %s: %s", e.who(), e.key(), words(said))
	case status != 0:
		return failure(engine.NoStart, "the endpoint of %s answered %d %s: %s", e.who(), status, http.StatusText(status), words(said))
	}
	return failure(engine.NoStart, "the endpoint of %s did not answer: %s", e.who(), words(err.Error()))
}

func (e Endpoint) key() string {
	if e.Key == "" {
		return "no key; key_env names the variable that has it"
	}
	return "the key in " + e.KeyName
}

// message is what Anthropic's error says, or all of it.
func message(raw string) string {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(raw), &body) // what is no such error is shown as it is
	return cmp.Or(body.Error.Message, raw)
}

// usage is what an endpoint says was used.
func usage(told bool, in, out int64) engine.Usage {
	if !told || in < 0 || out < 0 {
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

// httpClient follows no redirection, and takes no response without end.
func httpClient() *http.Client {
	return &http.Client{
		Transport:     bounded{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded takes at most [maxBody] bytes of a response.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = http.MaxBytesReader(nil, res.Body, maxBody)
		if res.StatusCode == http.StatusOK {
			res.Header.Set("X-Should-Retry", "false") // an answer that is too long comes once
		}
	}
	return res, err
}
