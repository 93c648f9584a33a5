package proc_test

import (
	"os"
	"testing"

	"github.com/piton-dev/piton/internal/proc"
)

// roleVar makes this program, started again, play a harness instead of testing.
const roleVar = "PROC_TEST_ROLE"

func TestMain(m *testing.M) {
	proc.HoldIfAsked()
	if role := os.Getenv(roleVar); role != "" {
		os.Exit(playHarness(role))
	}
	os.Exit(m.Run())
}
