package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/mcp"
)

// Over HTTP only who has the token gets an answer, and no page of a browser does.
func TestServeHTTP(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	address, secret, ended := make(chan string, 1), make(chan string, 1), make(chan error, 1)
	c := mcp.Config{Version: "1.0", Open: func(context.Context) (*mcp.Workspace, func() error, error) {
		return nil, nil, errors.New("no workspace")
	}}
	go func() {
		ended <- mcp.ServeHTTP(ctx, c, "127.0.0.1:0", func(url, token string) { address <- url; secret <- token })
	}()
	var url, token string
	select {
	case url = <-address:
		token = "Bearer " + <-secret
	case err := <-ended:
		t.Fatal(err)
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	for _, q := range []struct {
		what, host, origin, token, body string
		want                            int
	}{
		{"with the token", "", "", token, list, http.StatusOK},
		{"of its own origin", "", "http://" + host, token, list, http.StatusOK},
		{"without a token", "", "", "", list, http.StatusUnauthorized},
		{"with another token", "", "", token + "A", list, http.StatusUnauthorized},
		{"with half of it", "", "", token[:len(token)-4], list, http.StatusUnauthorized},
		{"with the token alone", "", "", strings.TrimPrefix(token, "Bearer "), list, http.StatusUnauthorized},
		{"to a name that leads here", "evil.example", "", token, list, http.StatusMisdirectedRequest},
		{"to localhost", "localhost" + host[strings.LastIndex(host, ":"):], "", token, list, http.StatusMisdirectedRequest},
		{"of a page elsewhere", "", "http://evil.example", token, list, http.StatusForbidden},
		{"of a sandboxed page", "", "null", token, list, http.StatusForbidden},
		{"of a page over TLS", "", "https://" + host, token, list, http.StatusForbidden},
		{"too long", "", "", token, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"` + strings.Repeat("a", 2<<20) + `"}}`, http.StatusRequestEntityTooLarge},
		{"no JSON", "", "", token, "hello", http.StatusBadRequest},
	} {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(q.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = q.host
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for name, value := range map[string]string{"Origin": q.origin, "Authorization": q.token} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != q.want {
			t.Errorf("%s: %s %.200s, want %d", q.what, res.Status, body, q.want)
		}
		if strings.Contains(string(body), "plan_run") != (q.want == http.StatusOK) {
			t.Errorf("%s: %.300s", q.what, body)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// An address that others could reach is refused.
func TestServeHTTPNowhereElse(t *testing.T) {
	for _, addr := range []string{"", ":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "localhost:0", "example.org:80", "127.0.0.1", "127.0.0.1:99999", "[fe80::1%lo]:0"} {
		err := mcp.ServeHTTP(t.Context(), mcp.Config{}, addr, func(string, string) { t.Errorf("%s is served", addr) })
		if err == nil {
			t.Errorf("%q is taken", addr)
		}
	}
}

// until does something when a word was written.
type until struct {
	strings.Builder
	word string
	do   func()
}

func (u *until) Write(p []byte) (int, error) {
	if strings.Contains(string(p), u.word) {
		u.do()
	}
	return u.Builder.Write(p)
}

// A line that is no message is answered with an error, and the next one is heard.
func TestServeGoesOn(t *testing.T) {
	const (
		noJSON, noMessage = -32700, -32600
		hello             = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
		ready             = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		list              = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
	)
	for line, want := range map[string]int{
		"":      0,
		" \t\r": 0,
		"hello": noJSON,
		`{"jsonrpc":"2.0","id":7,"method":"tools/list"`: noJSON,
		`{"jsonrpc":"2.0","id":7,"method":"ping"} more`: noJSON,
		`{"a":"` + strings.Repeat("a", 1<<20) + `"}`:    noJSON,
		strings.Repeat("[", 100_000):                    noJSON,
		"\x00\xff":                                      noJSON,
		`[]`:                                            noMessage,
		`[` + list + `]`:                                noMessage,
		`7`:                                             noMessage,
		`null`:                                          noMessage,
		`{}`:                                            noMessage,
		`{"jsonrpc":"1.0","id":7,"method":"ping"}`:  noMessage,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`: noMessage,
		`{"jsonrpc":"2.0","id":7,"method":3}`:       noMessage,
		`{"jsonrpc":"2.0","id":99,"result":{}}`:     0, // an answer to nothing
	} {
		in, typed := io.Pipe()
		out := &until{word: `"id":2,"result"`, do: func() { typed.Close() }}
		go io.WriteString(typed, strings.Join([]string{line, hello, line, ready, line, list, ""}, "\n")) //nolint:errcheck // who hears nothing answers nothing
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		err := mcp.Serve(ctx, mcp.Config{Version: "1.0"}, in, out)
		stop()
		if err != nil {
			t.Errorf("%.80q: %v", line, err)
		}
		wrong, listed := 0, false
		for answer := range strings.Lines(out.String()) {
			var a struct {
				ID     *int
				Result json.RawMessage
				Error  struct{ Code int }
			}
			if err := json.Unmarshal([]byte(answer), &a); err != nil {
				t.Errorf("%.80q: the answer %q: %v", line, answer, err)
			}
			listed = listed || a.ID != nil && *a.ID == 2 && a.Result != nil
			if a.ID == nil && a.Error.Code == want {
				wrong++
			}
		}
		if !listed || want != 0 && wrong != 3 {
			t.Errorf("%.80q: %.2000s", line, out.String())
		}
	}
}

// A call that is under way when the server is to stop ends before the server does.
func TestServeHTTPWaitsForCalls(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	began, goOn, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	c := mcp.Config{Version: "1.0", Open: func(context.Context) (*mcp.Workspace, func() error, error) {
		close(began)
		<-goOn
		close(over)
		return nil, nil, errors.New("no workspace")
	}}
	asked, ended := make(chan *http.Request, 1), make(chan error, 1)
	go func() {
		ended <- mcp.ServeHTTP(ctx, c, "127.0.0.1:0", func(url, token string) {
			r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plan_list","arguments":{}}}`))
			if err != nil {
				t.Error(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("Authorization", "Bearer "+token)
			asked <- r
		})
	}()
	r := <-asked
	go func() {
		if res, err := http.DefaultClient.Do(r); err == nil {
			res.Body.Close()
		}
	}()
	<-began
	stop()
	time.AfterFunc(200*time.Millisecond, func() { close(goOn) })
	if err := <-ended; err != nil {
		t.Error(err)
	}
	select {
	case <-over:
	default:
		t.Error("the server ended before the call")
	}
}
