package probe

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/proc"
)

// patience is how long a program may take to tell its version.
const patience = 5 * time.Second

// maxVersion is how much of a version is shown.
const maxVersion = 100

// version is the first line that a program prints when it is asked for its
// version; "" if it does not say. It runs outside of the workspace, without
// input, with the environment of a child of a run.
func version(ctx context.Context, env Env, file string) string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, "--version")
	cmd.Dir = os.TempDir()
	cmd.Env = proc.Environ(env.Environ, nil, nil)
	cmd.WaitDelay = time.Second
	var out limited
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return ""
	}
	for line := range strings.Lines(proc.Plain(out.Bytes())) {
		if line = strings.TrimSpace(line); line != "" {
			return shortened(line)
		}
	}
	return ""
}

func shortened(line string) string {
	runes := []rune(line)
	if len(runes) > maxVersion {
		return string(runes[:maxVersion]) + "…"
	}
	return line
}

// limited keeps the first bytes that are written to it.
type limited struct{ bytes.Buffer }

const kept = 4 << 10

func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:max(0, min(len(p), kept-l.Len()))])
	return len(p), nil
}
