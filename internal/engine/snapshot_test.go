package engine_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
)

// A snapshot that is damaged, cut, of another version or for another program
// is refused: the journal is replayed instead.
func TestRestoreRefuses(t *testing.T) {
	journal := journals(t)[0]
	s, err := replay(journal)
	if err != nil {
		t.Fatal(err)
	}
	body, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if hash, err := engine.SnapshotProgram(body); err != nil || hash != s.Program().Hash() {
		t.Errorf("it is for program %s, %v", hash, err)
	}
	other, err := engine.NewProgram(two())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Restore(body, other); !errors.Is(err, engine.ErrSnapshot) {
		t.Errorf("for another program: %v", err)
	}
	older := bytes.Replace(body, []byte(`{"version":`), []byte(`{"version":99`), 1)
	if _, err := engine.Restore(older, s.Program()); !errors.Is(err, engine.ErrSnapshot) {
		t.Errorf("of another version: %v", err)
	}
	if _, err := engine.SnapshotProgram(older); !errors.Is(err, engine.ErrSnapshot) {
		t.Errorf("of another version: %v", err)
	}
	for n := range body {
		flipped := bytes.Clone(body)
		flipped[n] ^= 1
		if _, err := engine.Restore(flipped, s.Program()); err == nil {
			t.Errorf("a flipped bit in byte %d of %d is not seen", n, len(body))
		}
		if _, err := engine.Restore(body[:n], s.Program()); err == nil {
			t.Errorf("it is whole with %d bytes of %d", n, len(body))
		}
	}
}
