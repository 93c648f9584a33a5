//go:build unix

package model_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
	"github.com/piton-dev/piton/internal/proc"
)

// through asks an agent whose program is a script.
func through(t *testing.T, script string) model.Agent {
	t.Helper()
	pool, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	roles := map[string]agent.Config{"coder": {
		Kind: agent.Exec, Command: []string{"sh", "-c", script, "sh", "{mode}"}, Modes: map[string]string{"read": "look", "edit": "touch"},
	}}
	return model.Agent{
		Roles: agent.New(roles, pool), Role: "coder", Environ: []string{"PATH=" + os.Getenv("PATH")}, Time: time.Minute,
		Scratch: func() (string, func(), error) {
			dir, err := os.MkdirTemp(t.TempDir(), "")
			return dir, func() {}, err
		},
	}
}

func TestAgent(t *testing.T) {
	t.Parallel()
	a := through(t, `echo "$1 $PITON_RUN $(pwd -P) $(cat)"`)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	got, err := a.Ask(t.Context(), model.Question{Prompt: "Plan it.", Dir: dir, Log: log})
	if want := "look question " + dir + " Plan it.\n"; err != nil || got.Text != want {
		t.Errorf("%q, %v", got.Text, err)
	}
	text, _ := os.ReadFile(log)
	if want := "--- question ---\nPlan it.\n" + got.Text; string(text) != want {
		t.Errorf("the log has %q", text)
	}
}

func TestAgentHasSchema(t *testing.T) {
	t.Parallel()
	a := through(t, "cat")
	got, err := a.Ask(t.Context(), model.Question{Prompt: "Judge.", Dir: t.TempDir(), Schema: json.RawMessage(`{"type":"object"}`)})
	if err != nil || !strings.HasPrefix(got.Text, "Judge.\n\nAnswer with one JSON value") || !strings.Contains(got.Text, `{"type":"object"}`) {
		t.Errorf("%q, %v", got.Text, err)
	}
}

func TestAgentGivesNoAnswer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script string
		how    engine.How
		reason string
	}{
		"nothing":  {"cat >/dev/null", engine.Exited, `agent "coder" answered nothing`},
		"fails":    {"echo no login; exit 3", engine.Exited, `agent "coder" ended with exit code 3: no login`},
		"blocked":  {`echo '{"type":"blocked","text":"which database?"}' >>"$PITON_REPORT"; exit 1`, engine.Exited, `agent "coder" ended with exit code 1: which database?`},
		"too long": {"head -c 2000000 /dev/zero | tr '\\0' x", engine.Exited, `agent "coder" answered more than 1048576 bytes, the most that an answer may have`},
		"too long a file": {
			`head -c 2000000 /dev/zero | tr '\0' x >"$PITON_OUTPUT"`, engine.Exited,
			`agent "coder" answered more than 1048576 bytes, the most that an answer may have`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := through(t, tt.script).Ask(t.Context(), model.Question{Prompt: "?", Dir: t.TempDir()})
			checkFailure(t, got, err, tt.how, tt.reason)
		})
	}
}

func TestAgentHangs(t *testing.T) {
	t.Parallel()
	a := through(t, "sleep 100")
	a.Time = 50 * time.Millisecond
	got, err := a.Ask(t.Context(), model.Question{Prompt: "?", Dir: t.TempDir()})
	checkFailure(t, got, err, engine.TimedOut, `agent "coder" gave no answer: it did not end within 50ms`)
}

func TestNoSuchAgent(t *testing.T) {
	t.Parallel()
	a := through(t, "true")
	a.Role = "nobody"
	got, err := a.Ask(t.Context(), model.Question{Prompt: "?", Dir: t.TempDir()})
	checkFailure(t, got, err, engine.NoStart, `no agent is configured for the role "nobody"`)
}
