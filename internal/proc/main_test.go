package proc_test

import (
	"os"
	"testing"

	"github.com/piton-dev/piton/internal/proc"
)

// TestMain lets this program be started again in other roles: as a holder, or as
// what a test needs another process for.
func TestMain(m *testing.M) {
	proc.HoldIfAsked()
	os.Exit(m.Run())
}
