package page

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// What is sent compressed is what is sent to others, and a file that a browser has is not sent again.
func TestZips(t *testing.T) {
	s := workspace(t, nil)
	ask := func(path string, header ...string) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.at+s.base+path, nil)
		r.Header.Set("Cookie", cookie+"="+s.key)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	sum := 0
	for _, path := range []string{"/words", "/plans/none.md", "/static/app.css", "/static/page.js", "/static/keys.js", "/static/htmx.min.js", "/static/hx-sse.min.js", "/static/sortable.min.js", "/static/icon.svg"} {
		plain, small := ask(path), ask(path, "Accept-Encoding", "br, gzip")
		if small.Header().Get("Content-Encoding") != "gzip" || plain.Header().Get("Content-Encoding") != "" || small.Code != plain.Code {
			t.Fatalf("%s: %d %v, and %d %v", path, small.Code, small.Header(), plain.Code, plain.Header())
		}
		sum += small.Body.Len()
		z, err := gzip.NewReader(small.Body)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(z); err != nil || string(body) != plain.Body.String() {
			t.Errorf("%s: %v, %d bytes, want %d", path, err, len(body), plain.Body.Len())
		}
	}
	if sum > 100_000 {
		t.Errorf("the first page needs %d bytes", sum)
	}
	t.Logf("%d bytes in all", sum)
	is, plain := ask("/static/app.css", "Accept-Encoding", "gzip").Header().Get("Etag"), ask("/static/app.css").Header().Get("Etag")
	for tag, want := range map[string]int{is: http.StatusNotModified, plain: http.StatusOK, `"other"`: http.StatusOK} {
		if again := ask("/static/app.css", "If-None-Match", tag, "Accept-Encoding", "gzip"); again.Code != want || again.Code == http.StatusNotModified && again.Body.Len() > 0 {
			t.Errorf("who has %s gets %d, %d bytes", tag, again.Code, again.Body.Len())
		}
	}
	for _, refuses := range []string{"", "br", "gzip;q=0", "gzip; q=0.000", "x-gzip"} {
		if plain := ask("/words", "Accept-Encoding", refuses); plain.Header().Get("Content-Encoding") != "" {
			t.Errorf("%q gets %v", refuses, plain.Header())
		}
	}
	if zipped := ask("/words", "Accept-Encoding", "gzip;q=0.5"); zipped.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("who takes it gets %v", zipped.Header())
	}
	if to := ask("/enter/x", "Accept-Encoding", "gzip"); to.Header().Get("Content-Encoding") != "" {
		t.Errorf("who is refused gets %v", to.Header())
	}
}
