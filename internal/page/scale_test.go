package page

import (
	"fmt"
	"strings"
	"testing"
)

// The page of a plan of a thousand steps has all of them, in a size that grows with the steps
// and no faster; the time is logged.
func TestReviewOfAThousandSteps(t *testing.T) {
	t.Parallel()
	s := workspace(t, nil)
	get := func(steps int) (size int) {
		t.Helper()
		var b strings.Builder
		b.WriteString("# Many\n\n## Steps\n\n")
		for i := range steps {
			fmt.Fprintf(&b, "### %d. Step %d\n\n**target:** script\n**task:** `echo %d > f%d`\n**contract:** `grep -q %d f%d`\n**writes:** f%d\n\n", i+1, i+1, i, i, i, i, i)
		}
		s.writes(t, "many.md", b.String())
		page := s.gets(t, "/plans/plans/many.md")
		if n := strings.Count(page, `<li class="step"`); n != steps {
			t.Fatalf("%d steps: there are %d", steps, n)
		}
		return len(page)
	}
	least, size := get(100), get(1000)
	if size > 12*least {
		t.Errorf("a hundred steps are %d bytes, a thousand are %d", least, size)
	}
}

// tenThousand is a workspace with as many runs.
func tenThousand(t testing.TB) *server {
	s := workspace(t, nil)
	var runs []string
	for i := range 10_000 {
		runs = append(runs, fmt.Sprintf("%06x", i))
	}
	s.has(t, runs...)
	return s
}

// BenchmarkHome shows the newest of ten thousand runs.
func BenchmarkHome(b *testing.B) {
	s := tenThousand(b)
	for b.Loop() {
		s.gets(b, "/")
	}
}

// Of ten thousand runs the newest are on the page, and a link leads to older ones.
func TestHomeOfTenThousandRuns(t *testing.T) {
	t.Parallel()
	s := tenThousand(t)
	for path, want := range map[string]int{"/": recent, "/?show=200": 4 * recent, "/?show=much": recent} {
		if page := s.gets(t, path); strings.Count(page, `href="`+s.base+"/runs/") != want || !strings.Contains(page, "Show older runs") {
			t.Errorf("%s has %d runs, not %d", path, strings.Count(page, `href="`+s.base+"/runs/"), want)
		}
	}
	if page := s.gets(t, "/find?q=002710"); !strings.Contains(page, "Nothing has these words.") {
		t.Errorf("a run that is not there is found:\n%s", page)
	}
	if page := s.gets(t, "/find?q=00270f"); !strings.Contains(page, s.base+"/runs/00270f") {
		t.Errorf("a run is not found:\n%s", page)
	}
}
