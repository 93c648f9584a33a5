//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// endpoint is model VAR openai|anthropic ANSWER...: a model on this machine's loopback,
// whose address it puts into VAR. It answers the nth question with the text of the nth
// file beside the workspace, the last one for ever; refuse refuses the key. Questions
// are kept as asked/N, with the key.
func endpoint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: model VAR openai|anthropic ANSWER...")
	}
	work, protocol, answers := ts.Getenv("WORK"), args[1], args[2:]
	ts.Check(os.MkdirAll(filepath.Join(work, "asked"), 0o755))
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(asked.Add(1))
		body, _ := io.ReadAll(r.Body)
		text := fmt.Sprintf("%s %s%s\n%s\n", r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), body)
		os.WriteFile(filepath.Join(work, "asked", strconv.Itoa(n)), []byte(text), 0o644) //nolint:errcheck,gosec // for the script to read
		w.Header().Set("Content-Type", "application/json")
		name := answers[min(n, len(answers))-1]
		if name == "refuse" {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error":{"message":"wrong key"}}`)
			return
		}
		answer, _ := os.ReadFile(filepath.Join(work, name))
		json.NewEncoder(w).Encode(spoken(protocol, string(answer))) //nolint:errcheck // the client is gone then
	}))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

// spoken is an answer in the words of a protocol.
func spoken(protocol, text string) any {
	type m = map[string]any
	if protocol == "anthropic" {
		return m{
			"id": "1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
			"content": []m{{"type": "text", "text": text}}, "usage": m{"input_tokens": 100, "output_tokens": 10},
		}
	}
	return m{
		"id": "1", "object": "chat.completion", "usage": m{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
		"choices": []m{{"index": 0, "finish_reason": "stop", "message": m{"role": "assistant", "content": text}}},
	}
}
