package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
)

// request is what an endpoint was sent.
type request struct {
	Path, Key string
	Body      map[string]any
}

// serve answers every request with a status and a body, and keeps the requests.
func serve(t *testing.T, answer func(n int, w http.ResponseWriter)) (url string, got *[]request) {
	t.Helper()
	got = new([]request)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		q := request{Path: r.URL.Path, Key: r.Header.Get("X-Api-Key") + r.Header.Get("Authorization")}
		if err := json.Unmarshal(body, &q.Body); err != nil {
			t.Errorf("request %q: %v", body, err)
		}
		*got = append(*got, q)
		w.Header().Set("Content-Type", "application/json")
		answer(len(*got), w)
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func says(status int, body string) func(int, http.ResponseWriter) {
	return func(_ int, w http.ResponseWriter) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func openaiSays(text, finish string) string {
	return fmt.Sprintf(`{"id":"1","object":"chat.completion","choices":[{"index":0,"finish_reason":%q,"message":{"role":"assistant","content":%q}}],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}`, finish, text)
}

func anthropicSays(text, stop string) string {
	return fmt.Sprintf(`{"id":"1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%q}],"stop_reason":%q,"usage":{"input_tokens":10,"cache_read_input_tokens":2,"cache_creation_input_tokens":0,"output_tokens":3}}`, text, stop)
}

// used is the usage of both, at the price of the tests.
func used() engine.Usage {
	return engine.Usage{In: new(int64(12)), Out: new(int64(3)), CostMicros: new(int64(18))}
}

func TestEndpoints(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`)
	tests := []struct {
		api    model.API
		base   string
		answer string
		want   []request
	}{
		{model.OpenAI, "/v1", openaiSays("# A plan", "stop"), []request{{"/v1/chat/completions", "Bearer sesame", map[string]any{
			"model": "m", "messages": []any{map[string]any{"role": "user", "content": "Plan it."}},
			"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{
				"name": "answer", "schema": map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}},
			}},
		}}}},
		{model.Anthropic, "", anthropicSays("# A plan", "end_turn"), []request{{"/v1/messages", "sesame", map[string]any{
			"model": "m", "max_tokens": 16000.0, "messages": []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "Plan it."}}}},
			"output_config": map[string]any{"format": map[string]any{
				"type": "json_schema", "schema": map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}},
			}},
		}}}},
	}
	for _, tt := range tests {
		t.Run(string(tt.api), func(t *testing.T) {
			t.Setenv("OPENAI_API_KEY", "of the harness")
			t.Setenv("ANTHROPIC_API_KEY", "of the harness")
			url, got := serve(t, says(200, tt.answer))
			e := model.Endpoint{
				API: tt.api, BaseURL: url + tt.base, Model: "m", Key: "sesame", KeyName: "KEY",
				Price: &agent.Price{In: 1_000_000, Out: 2_000_000},
			}
			log := filepath.Join(t.TempDir(), "deep", "log")
			a, err := e.Ask(t.Context(), model.Question{Prompt: "Plan it.", Schema: schema, Log: log})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(model.Answer{Text: "# A plan", Usage: used()}, a); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Error(diff)
			}
			text, _ := os.ReadFile(log)
			if want := "--- question ---\nPlan it.\n--- answer ---\n# A plan\n"; string(text) != want {
				t.Errorf("the log has %q", text)
			}
		})
	}
}

// TestNoKey has no key of the harness's own environment sent anywhere.
func TestNoKey(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "of the harness")
	t.Setenv("ANTHROPIC_API_KEY", "of the harness")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	for api, answer := range map[model.API]string{model.OpenAI: openaiSays("x", "stop"), model.Anthropic: anthropicSays("x", "end_turn")} {
		url, got := serve(t, says(200, answer))
		if _, err := (model.Endpoint{API: api, BaseURL: url, Model: "m"}).Ask(t.Context(), model.Question{Prompt: "?"}); err != nil {
			t.Error(api, err)
		}
		for _, r := range *got {
			if r.Key != "" {
				t.Errorf("%s is sent the key %q", api, r.Key)
			}
		}
	}
}

// TestNoAnswer has what stands in the place of an answer.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 10<<20)
	tests := map[string]struct {
		api    model.API
		answer func(int, http.ResponseWriter)
		how    engine.How
		reason string
		asked  int
	}{
		"refused key":      {model.OpenAI, says(401, `{"error":{"message":"Incorrect API key provided"}}`), engine.NoStart, `the endpoint of model "m" refuses the key in KEY: Incorrect API key provided`, 1},
		"refused key, too": {model.Anthropic, says(401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`), engine.NoStart, `the endpoint of model "m" refuses the key in KEY: invalid x-api-key`, 1},
		"no such model":    {model.OpenAI, says(404, `{"error":{"message":"model \"m\" not found"}}`), engine.NoStart, `the endpoint of model "m" answered 404 Not Found: model "m" not found`, 1},
		"trouble":          {model.Anthropic, says(500, `{"error":{"message":"oh"}}`), engine.NoStart, `the endpoint of model "m" answered 500 Internal Server Error: oh`, 3},
		"nothing":          {model.OpenAI, says(200, openaiSays("  ", "stop")), engine.Exited, `model "m" answered nothing`, 1},
		"no choice":        {model.OpenAI, says(200, `{"choices":[]}`), engine.Exited, `model "m" answered nothing`, 1},
		"cut off":          {model.OpenAI, says(200, openaiSays("# A pl", "length")), engine.Exited, `the answer of model "m" was cut off: it is longer than it may be`, 1},
		"cut off, too":     {model.Anthropic, says(200, anthropicSays("# A pl", "max_tokens")), engine.Exited, `the answer of model "m" was cut off: it is longer than it may be`, 1},
		"refusal":          {model.OpenAI, says(200, `{"choices":[{"message":{"refusal":"No."}}]}`), engine.Exited, `model "m" refuses: No.`, 1},
		"refusal, too":     {model.Anthropic, says(200, anthropicSays("", "refusal")), engine.Exited, `model "m" refuses to answer`, 1},
		"too long":         {model.OpenAI, says(200, openaiSays(big, "stop")), engine.Exited, `model "m" answered more than 1048576 bytes, the most that an answer may have`, 1},
		"too long, too":    {model.Anthropic, says(200, anthropicSays(big, "end_turn")), engine.Exited, `model "m" answered more than 1048576 bytes, the most that an answer may have`, 1},
		"no JSON":          {model.OpenAI, says(200, `<html>`), engine.Exited, `the endpoint of model "m" gave an answer that is not in its protocol: invalid character '<' looking for beginning of value`, 1},
		"a little too long": {
			model.Anthropic, says(200, anthropicSays(big[:1<<20+1], "end_turn")), engine.Exited,
			`model "m" answered more than 1048576 bytes, the most that an answer may have`, 1,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, got := serve(t, tt.answer)
			e := model.Endpoint{API: tt.api, BaseURL: url, Model: "m", Key: "sesame", KeyName: "KEY"}
			a, err := e.Ask(t.Context(), model.Question{Prompt: "?"})
			checkFailure(t, a, err, tt.how, tt.reason)
			if len(*got) != tt.asked {
				t.Errorf("asked %d times", len(*got))
			}
		})
	}
}

func checkFailure(t *testing.T, a model.Answer, err error, how engine.How, reason string) {
	t.Helper()
	f, ok := errors.AsType[*model.Failure](err)
	if !ok {
		t.Fatalf("answer of %d bytes, %v", len(a.Text), err)
	}
	if f.How != how || f.Reason != reason || a.Text != "" {
		t.Errorf("%s: %s; answer %q", f.How, f.Reason, a.Text)
	}
	if strings.Contains(f.Reason, "sesame") {
		t.Error("the key is told")
	}
}

// TestAgain asks once more where the endpoint has no time.
func TestAgain(t *testing.T) {
	url, got := serve(t, func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.Header().Set("Retry-After", "0")
			says(429, `{"error":{"message":"slow down"}}`)(n, w)
			return
		}
		says(200, openaiSays("yes", "stop"))(n, w)
	})
	a, err := model.Endpoint{API: model.OpenAI, BaseURL: url, Model: "m"}.Ask(t.Context(), model.Question{Prompt: "?"})
	if err != nil || a.Text != "yes" || len(*got) != 2 {
		t.Errorf("%+v, %v, asked %d times", a, err, len(*got))
	}
}

// TestNoRedirect sends a question, and a key, nowhere else.
func TestNoRedirect(t *testing.T) {
	other, got := serve(t, says(200, openaiSays("yes", "stop")))
	url, _ := serve(t, func(_ int, w http.ResponseWriter) {
		w.Header().Set("Location", other)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	a, err := model.Endpoint{API: model.OpenAI, BaseURL: url, Model: "m", Key: "sesame"}.Ask(t.Context(), model.Question{Prompt: "?"})
	if err == nil || len(*got) != 0 {
		t.Errorf("%+v, %v, the other was asked %d times", a, err, len(*got))
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nil)
	s.Close()
	a, err := model.Endpoint{API: model.OpenAI, BaseURL: s.URL, Model: "m"}.Ask(t.Context(), model.Question{Prompt: "?"})
	f, ok := errors.AsType[*model.Failure](err)
	if !ok || f.How != engine.NoStart || !strings.HasPrefix(f.Reason, `the endpoint of model "m" did not answer: `) {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestHangs ends a question that nobody answers, by its time and by its context.
func TestHangs(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	asked := make(chan struct{}, 9)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-hang
	}))
	defer s.Close()
	defer close(hang)
	e := model.Endpoint{API: model.OpenAI, BaseURL: s.URL, Model: "m", Time: 50 * time.Millisecond}
	a, err := e.Ask(t.Context(), model.Question{Prompt: "?"})
	checkFailure(t, a, err, engine.TimedOut, `model "m" gave no answer within 50ms`)
	ctx, cancel := context.WithCancel(t.Context())
	<-asked
	go func() { <-asked; cancel() }()
	e.Time = 0
	a, err = e.Ask(ctx, model.Question{Prompt: "?"})
	checkFailure(t, a, err, engine.Stopped, "stopped by Piton")
}
