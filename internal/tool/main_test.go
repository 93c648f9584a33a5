package tool_test

import (
	"os"
	"testing"

	"github.com/piton-dev/piton/internal/proc"
)

func TestMain(m *testing.M) {
	proc.HoldIfAsked()
	os.Exit(m.Run())
}
