package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// The page of a plan of a thousand steps has all of them, in a size that grows with the steps
// and no faster; the time is logged.
func TestReviewOfAThousandSteps(t *testing.T) {
	s := workspace(t, nil)
	ws, closed, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := ws.Product.Place.Dir
	if err := closed(); err != nil {
		t.Fatal(err)
	}
	get := func(steps int) (size int, took time.Duration) {
		t.Helper()
		var b strings.Builder
		b.WriteString("# Many\n\n## Steps\n\n")
		for i := range steps {
			fmt.Fprintf(&b, "### %d. Step %d\n\n**target:** script\n**task:** `echo %d > f%d`\n**contract:** `grep -q %d f%d`\n**writes:** f%d\n\n", i+1, i+1, i, i, i, i, i)
		}
		if err := os.WriteFile(filepath.Join(dir, "plans", "many.md"), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.at+s.base+"/plans/plans/many.md", nil)
		r.Header.Set("Cookie", cookie+"="+s.key)
		w := httptest.NewRecorder()
		began := time.Now()
		s.ServeHTTP(w, r)
		took = time.Since(began)
		if n := strings.Count(w.Body.String(), `<li class="step"`); w.Code != http.StatusOK || n != steps {
			t.Fatalf("%d steps: %d, with %d", steps, w.Code, n)
		}
		return w.Body.Len(), took
	}
	least, _ := get(100)
	size, took := get(1000)
	t.Logf("%d bytes in %s", size, took)
	if size > 12*least {
		t.Errorf("a hundred steps are %d bytes, a thousand are %d", least, size)
	}
}

// Of ten thousand runs the newest are on the page, and a link leads to older ones.
func TestHomeOfTenThousandRuns(t *testing.T) {
	s := workspace(t, nil)
	ws, closed, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	epoch, release, err := ws.Store.Own(t.Context(), ws.Product.Place.ID)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC().Truncate(time.Microsecond)
	var batches []store.Batch
	for i := range 10_000 {
		id := fmt.Sprintf("%06x", i)
		head := engine.HeadRow{Stream: "t-" + id, Run: id, Title: "Run " + id, Path: "plans/fix.md", Status: engine.Done, Ended: true, Version: 1, Started: at.Add(time.Duration(i) * time.Second)}
		batches = append(batches, store.Batch{Stream: "t-" + id, Epoch: epoch, Rows: engine.Rows{Head: &head}})
	}
	if err := ws.Store.Append(t.Context(), batches...); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if err := closed(); err != nil {
		t.Fatal(err)
	}
	get := func(path string) string {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.at+s.base+path, nil)
		r.Header.Set("Cookie", cookie+"="+s.key)
		w := httptest.NewRecorder()
		began := time.Now()
		s.ServeHTTP(w, r)
		t.Logf("%s: %d bytes in %s", path, w.Body.Len(), time.Since(began))
		return w.Body.String()
	}
	for path, want := range map[string]int{"/": recent, "/?show=200": 4 * recent, "/?show=much": recent} {
		if page := get(path); strings.Count(page, `href="`+s.base+"/runs/") != want || !strings.Contains(page, "Show older runs") {
			t.Errorf("%s has %d runs, not %d", path, strings.Count(page, `href="`+s.base+"/runs/"), want)
		}
	}
	if page := get("/find?q=002710"); !strings.Contains(page, "Nothing has these words.") {
		t.Errorf("a run that is not there is found:\n%s", page)
	}
	if page := get("/find?q=00270f"); !strings.Contains(page, s.base+"/runs/00270f") {
		t.Errorf("a run is not found:\n%s", page)
	}
}
