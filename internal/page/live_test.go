package page

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/piton-dev/piton/internal/api"
)

// A page that cannot be kept up to date says why, for as long as that is so.
func TestStreamTellsTrouble(t *testing.T) {
	s := workspace(t, nil)
	s.has(t, "000001")
	open := s.Open
	var opened atomic.Int64
	s.Open = func(ctx context.Context) (*Workspace, func() error, error) {
		if opened.Add(1) == 2 { // once the stream has begun
			return nil, nil, &api.Problem{Message: "the disk is gone", Hint: "plug it in"}
		}
		return open(ctx)
	}
	at := httptest.NewServer(s)
	defer at.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.URL+s.base+"/runs/000001/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = s.at
	r.Header.Set("Cookie", cookie+"="+s.key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	until := func(texts ...string) {
		t.Helper()
		for lines.Scan() {
			all := true
			for _, text := range texts {
				all = all && strings.Contains(lines.Text(), text)
			}
			if all {
				return
			}
		}
		t.Fatalf("the stream never has %q: %d, %v", texts, res.StatusCode, lines.Err())
	}
	until("the disk is gone", "plug it in")
	until(`<div id="trouble"></div>`, `<h1>Run 000001</h1>`)
}
