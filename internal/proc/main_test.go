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

// need leaves a test out on a machine that lacks what it needs. The gate sets PITON_TEST_ALL: there it fails.
func need(t testing.TB, err error) {
	t.Helper()
	if err != nil && os.Getenv("PITON_TEST_ALL") != "" {
		t.Fatal("no test is left out here: ", err)
	}
	if err != nil {
		t.Skip("this machine lacks what the test needs: ", err)
	}
}
