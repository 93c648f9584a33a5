package proc_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/proc"
)

func TestRunOnWindows(t *testing.T) {
	p, err := proc.NewPool(proc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	run := func(timeout time.Duration, argv ...string) proc.Result {
		return p.Run(context.Background(), proc.Spec{Argv: argv, Env: proc.Environ(os.Environ(), nil, nil), Timeout: timeout})
	}
	if r := run(0, "cmd", "/c", "echo out& exit 3"); r.Exit != 3 || strings.TrimSpace(r.Stdout.String()) != "out" || r.Level != proc.Group {
		t.Errorf("%+v", r)
	}
	if r := run(100*time.Millisecond, "cmd", "/c", "start /b ping -n 1000 127.0.0.1 & ping -n 1000 127.0.0.1"); !r.TimedOut {
		t.Errorf("%+v", r)
	}
	if r := run(0, "no-such-program"); !errors.Is(r.Err, proc.ErrNotStarted) || errors.Is(r.Err, fs.ErrPermission) {
		t.Errorf("%+v", r)
	}
}
