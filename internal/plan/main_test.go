package plan_test

import (
	"flag"
	"os"
	"testing"

	"github.com/piton-dev/piton/internal/tier"
)

func TestMain(m *testing.M) {
	flag.Parse()
	tier.Rapid(25, 100)
	os.Exit(m.Run())
}
