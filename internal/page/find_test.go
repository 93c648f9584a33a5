package page

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Plans are found by their titles, paths and steps; of very many not all are shown.
func TestFind(t *testing.T) {
	s := workspace(t, nil)
	get := func(query string) string {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.at+s.base+"/find?q="+query, nil)
		r.Header.Set("Cookie", cookie+"="+s.key)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("%s gets %d\n%s", query, w.Code, w.Body)
		}
		_, body, _ := strings.Cut(w.Body.String(), `id="found"`)
		return body[:strings.Index(body, "</main>")]
	}
	ws, closed, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := ws.Product.Place.Dir
	if err := closed(); err != nil {
		t.Fatal(err)
	}
	var many strings.Builder
	many.WriteString("# Many\n\n## Steps\n\n")
	for range 20 {
		many.WriteString("### 1. Paint it\n\n**contract:** `true`\n\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "plans", "many.md"), []byte(many.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{"FIX": `/plans/plans/fix.md"`, "do+it": `/plans/plans/fix.md#s-do-it"`, "many.md": `/plans/plans/many.md"`} {
		if found := get(query); !strings.Contains(found, want) {
			t.Errorf("%s finds\n%s", query, found)
		}
	}
	if n := strings.Count(get("paint"), "<li>"); n != mostHits {
		t.Errorf("%d steps are shown", n)
	}
	if found := get("nothing+like+it"); !strings.Contains(found, "Nothing has these words.") {
		t.Errorf("nothing is\n%s", found)
	}
}
