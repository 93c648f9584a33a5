package tree_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/piton-dev/piton/internal/tree"
)

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Whatever is put is there for this opening at once, and for every other after a
// flush; what a pack that was cut short still has whole is there too, and nothing
// else ever comes out.
func TestKeep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir := filepath.Join(t.TempDir(), "keep")
		mine, theirs := openKeep(t, dir), openKeep(t, dir)
		contents := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 40), 1, 20).Draw(rt, "contents")
		for _, c := range contents {
			if err := mine.Put(sumOf(c), c); err != nil {
				rt.Fatal(err)
			}
			wantKept(rt, mine, c)
			if rapid.Bool().Draw(rt, "flush") {
				if err := mine.Flush(); err != nil {
					rt.Fatal(err)
				}
				wantKept(rt, theirs, c)
			}
		}
		if err := mine.Flush(); err != nil {
			rt.Fatal(err)
		}
		packs, err := filepath.Glob(filepath.Join(dir, "pack-*"))
		if err != nil || len(packs) != 1 {
			rt.Fatalf("packs: %v, %v", packs, err)
		}
		info, err := os.Stat(packs[0])
		if err != nil {
			rt.Fatal(err)
		}
		if err := os.Truncate(packs[0], rapid.Int64Range(0, info.Size()).Draw(rt, "cut")); err != nil {
			rt.Fatal(err)
		}
		later := openKeep(t, dir)
		for _, c := range contents {
			if got, err := later.Get(sumOf(c)); err == nil && !bytes.Equal(got, c) {
				rt.Errorf("after a cut %q comes out as %q", c, got)
			}
			if err := later.Put(sumOf(c), c); err != nil {
				rt.Fatal(err)
			}
			wantKept(rt, later, c)
		}
	})
}

// What could not be made safe on disk waits on: no later flush says that it is safe.
func TestKeepOnADiskThatFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "keep")
	k := openKeep(t, dir)
	fails, synced := true, []string{}
	k.Syncs(func(name string) error {
		if fails && name != dir {
			return errFull
		}
		synced = append(synced, filepath.Base(name)[:4])
		return nil
	})
	content := []byte("content")
	if err := k.Put(sumOf(content), content); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := k.Flush(); !errors.Is(err, errFull) {
			t.Fatalf("flushed: %v", err)
		}
		if got, err := k.Get(sumOf(content)); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("Get = %q, %v", got, err)
		}
	}
	packs, err := filepath.Glob(filepath.Join(dir, "pack-*"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("packs: %v, %v", packs, err)
	}
	ok(t, os.Truncate(packs[0], 0)) // what a failed sync may have lost
	fails = false
	ok(t, k.Flush())
	if got := strings.Join(synced, " "); got != "keep pack" {
		t.Errorf("made safe: %s", got)
	}
	if got, err := openKeep(t, dir).Get(sumOf(content)); err != nil || !bytes.Equal(got, content) {
		t.Errorf("a later one has %q, %v", got, err)
	}
}

func openKeep(t *testing.T, dir string) *tree.Keep {
	t.Helper()
	k, err := tree.OpenKeep(dir)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func wantKept(t *rapid.T, k *tree.Keep, content []byte) {
	t.Helper()
	if got, err := k.Get(sumOf(content)); err != nil || !bytes.Equal(got, content) {
		t.Errorf("Get = %q, %v; want %q", got, err, content)
	}
}
