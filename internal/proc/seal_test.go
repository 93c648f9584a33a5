package proc

import (
	"os"
	"slices"
	"testing"
)

// A seal without a directory of its own reads nothing from where the process happens to be.
func TestFixedOfNoSeal(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("fixed", []byte("of somebody else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := (&Seal{}).fixed(); got != nil {
		t.Errorf("%q", got)
	}
}

func TestPresentKeepsItsList(t *testing.T) {
	all := []string{"/nowhere", "/dev", "/nowhere", "/"}
	was := slices.Clone(all)
	if got := present(all); !slices.Equal(got, []string{"/dev", "/"}) || !slices.Equal(all, was) {
		t.Errorf("%q, and %q of %q", got, all, was)
	}
}
