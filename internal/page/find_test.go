package page

import (
	"strings"
	"testing"
)

// Plans are found by their titles, paths and steps; of very many not all are shown.
func TestFind(t *testing.T) {
	s := workspace(t, nil)
	get := func(query string) string {
		t.Helper()
		_, body, _ := strings.Cut(s.gets(t, "/find?q="+query), `id="found"`)
		return body[:strings.Index(body, "</main>")]
	}
	var many strings.Builder
	many.WriteString("# Many\n\n## Steps\n\n")
	for range 20 {
		many.WriteString("### 1. Paint it\n\n**contract:** `true`\n\n")
	}
	s.writes(t, "many.md", many.String())
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
