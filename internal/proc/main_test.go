package proc_test

import (
	"os"
	"testing"
)

// roleVar makes this program, started again, play a harness instead of testing.
const roleVar = "PROC_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		os.Exit(playHarness(role))
	}
	os.Exit(m.Run())
}
