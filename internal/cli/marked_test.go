package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is put into a file is taken away again without a trace, and put there twice it is there
// once; the person's own text stays, byte by byte.
func TestRemarked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end")
		var file []byte
		for _, l := range rapid.SliceOf(rapid.StringMatching(`[-a-z# <>!]*`)).Draw(t, "lines") {
			file = append(append(file, l...), line...)
		}
		with, err := remarked(file, "first\n")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(with, file) || !bytes.Contains(with, []byte("first"+line)) && len(file) > 0 {
			t.Fatalf("%q became %q", file, with)
		}
		again, err := remarked(with, "first\n")
		if err != nil || !bytes.Equal(again, with) {
			t.Fatalf("the second time %q, %v", again, err)
		}
		other, err := remarked(append(with[:len(with):len(with)], "mine\n"...), "second\n")
		if err != nil || bytes.Contains(other, []byte("first")) || !bytes.HasSuffix(other, []byte("mine\n")) || bytes.Count(other, []byte("second")) != 1 {
			t.Fatalf("another text: %q, %v", other, err)
		}
		without, err := remarked(with, "")
		if err != nil || !bytes.Equal(without, file) {
			t.Fatalf("%q was left of %q, %v", without, file, err)
		}
	})
}

// What somebody changed between the marks, or of them, is left alone.
func TestRemarkedRefuses(t *testing.T) {
	with := marked("one\ntwo\n")
	for name, file := range map[string]string{
		"changed":         strings.Replace(with, "two", "three", 1),
		"added":           strings.Replace(with, "two\n", "two\nthree\n", 1),
		"twice":           with + with,
		"no end":          strings.SplitAfter(with, "two\n")[0],
		"no beginning":    with[strings.Index(with, "one"):],
		"no hash":         strings.Replace(with, fmt.Sprintf(markEnds, markHash([]byte("one\ntwo\n"))), fmt.Sprintf(markEnds, ""), 1),
		"end within":      strings.Replace(with, "two\n", "<!-- piton setup: ends 00 -->\ntwo\n", 1),
		"beginning twice": strings.Replace(with, "one\n", markBegins+"\none\n", 1),
	} {
		for _, text := range []string{"new\n", ""} {
			if got, err := remarked([]byte(file), text); err == nil {
				t.Errorf("%s: it became %q", name, got)
			}
		}
	}
}

// A skill that is as it was written is brought up to date; any other is somebody's.
func TestRemarkedSkill(t *testing.T) {
	old, err := remarkedSkill(nil, "---\nname: a\n---\nold\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range [][]byte{old, bytes.ReplaceAll(old, []byte("\n"), []byte("\r\n"))} {
		if is, err := remarkedSkill(file, "new\n"); err != nil || !bytes.HasPrefix(is, []byte("new\n<!--")) {
			t.Errorf("%q became %q, %v", file, is, err)
		}
		if is, err := remarkedSkill(file, ""); err != nil || len(is) > 0 {
			t.Errorf("%q was left, %v", is, err)
		}
	}
	for _, file := range []string{"mine\n", strings.Replace(string(old), "old", "mine", 1), string(old) + "mine\n", "<!-- piton setup: ends -->", "-->"} {
		for _, text := range []string{"new\n", ""} {
			if is, err := remarkedSkill([]byte(file), text); err == nil {
				t.Errorf("%q became %q", file, is)
			}
		}
	}
}
