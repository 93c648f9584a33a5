package view_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/piton-dev/piton/internal/view"
)

type entry struct {
	Step string `json:"step"`
	N    int    `json:"n"`
}

type whole struct {
	Step string `json:"step"`
	N    int    `json:"n"`
	Text string `json:"text"`
}

// A long document is the one that would be written at once, in whatever pieces its texts
// come.
func TestLongIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.OneOf(
			rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }), rapid.Just([]byte("<é\u2028\xe2\x82")),
		), 0, 4).Draw(t, "texts")
		list := []whole{}
		var once, long bytes.Buffer
		doc := view.Long{W: &long}
		doc.Begin("log", "attempts")
		for n, text := range texts {
			list = append(list, whole{"a<b", n, string(text)})
			size := rapid.IntRange(1, 5).Draw(t, "size")
			if err := doc.Add(entry{"a<b", n}, "text", func(to io.Writer) error {
				for rest := text; len(rest) > 0; rest = rest[min(size, len(rest)):] {
					if _, err := to.Write(rest[:min(size, len(rest))]); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		doc.End(map[string]any{"run": "r", "step": "s"})
		view.Write(&once, "log", map[string]any{"attempts": list, "run": "r", "step": "s"})
		if once.String() != long.String() {
			t.Fatalf("got  %s\nwant %s", long.String(), once.String())
		}
	})
}

// Nothing of a text is kept once it is written, and what fails is said.
func TestLongStreams(t *testing.T) {
	var out strings.Builder
	doc := view.Long{W: &out}
	doc.Begin("log", "attempts")
	failed := fmt.Errorf("gone")
	err := doc.Add(entry{}, "text", func(to io.Writer) error {
		io.WriteString(to, "first piece") //nolint:errcheck // it never fails
		if !strings.HasSuffix(out.String(), `"text":"first piece`) {
			t.Errorf("it is held back: %s", out.String())
		}
		return failed
	})
	if err != failed { //nolint:errorlint // this very one
		t.Error(err)
	}
}
