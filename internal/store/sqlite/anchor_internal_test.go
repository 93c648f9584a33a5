package sqlite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var anyHash = strings.Repeat("0a", len(sum{}))

// TestAnchorPace counts the writings of the anchor while time passes.
func TestAnchorPace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "anchor")
	synctest.Test(t, func(t *testing.T) {
		var writes atomic.Int64
		a := &anchorer{path: path, point: func(name string) {
			if name == PointAnchorDone {
				writes.Add(1)
			}
		}}
		expect := func(when string, want, id int64) {
			t.Helper()
			synctest.Wait()
			if got := writes.Load(); got != want {
				t.Errorf("%s: %d writings, want %d", when, got, want)
			}
			if want > 0 && anchorIn(t, path).ID != id {
				t.Errorf("%s: the anchor names %d, want %d", when, anchorIn(t, path).ID, id)
			}
		}
		for id := range int64(100) {
			a.note(anchor{ID: id + 1, Stream: "s", Hash: anyHash, Seq: uint64(id + 1)})
		}
		expect("after the commits", 0, 0)
		time.Sleep(anchorEvery)
		expect("a second later", 1, 100)
		time.Sleep(time.Hour)
		expect("an idle hour later", 1, 100)
		a.note(anchor{ID: 101, Stream: "s", Hash: anyHash, Seq: 101})
		time.Sleep(anchorEvery / 2)
		expect("soon after one more", 1, 100)
		if err := a.close(); err != nil {
			t.Error(err)
		}
		expect("at the end", 2, 101)
		a.note(anchor{ID: 102, Stream: "s", Hash: anyHash, Seq: 102})
		time.Sleep(time.Hour)
		expect("after the end", 2, 101)
	})
}

func anchorIn(t *testing.T, path string) anchor {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := decodeAnchor(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnchorText(t *testing.T) {
	t.Parallel()
	want := anchor{ID: 7, Stream: "a \"b\"", Seq: 3, Epoch: 2, Hash: anyHash}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeAnchor(text); got != want || err != nil {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"", "{}", "null", `{"id":1}`, `{"id":1,"hash":"00"}`, string(text[:len(text)/2]), `{"id":-1,"hash":"` + string(make([]byte, 64)) + `"}`} {
		if a, err := decodeAnchor([]byte(bad)); err == nil {
			t.Errorf("anchor %q was read as %+v", bad, a)
		}
	}
}
