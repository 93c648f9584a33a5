package agent

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
)

// TestPage wants a row of docs/isolation.md for each program.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/isolation.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		list := func(names []string) string { return strings.TrimSuffix("`"+strings.Join(names, "`, `")+"`", "``") }
		if row := "\n| `" + p.Name + "` | " + list(p.Login) + " | " + list(p.Obeyed) + " |\n"; !strings.Contains(string(page), row) {
			t.Errorf("docs/isolation.md has no row %s", row)
		}
	}
}

// TestKeyThatWasRefused names the variable that the program got, and not one that it is known
// to read.
func TestKeyThatWasRefused(t *testing.T) {
	environ := []string{"MOCK_API_KEY=x", "OPENAI_API_KEY=", "OPENAI_BASE_URL=y"}
	r := Result{How: engine.Exited, Exit: 1, Fault: Fault{Text: "unexpected status 401 Unauthorized: Incorrect API key provided."}}
	r.Keys = KeysSet([]string{"OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL", "MOCK_API_KEY"}, environ)
	if got := Why("codex", r).Next; got != "the key in MOCK_API_KEY was refused: set another one" {
		t.Error(got)
	}
	r.Keys = nil
	if got := Why("codex", r).Next; got != "piton gave it none: set OPENAI_API_KEY where you start piton, and name it under `env_pass:` of the agent in .piton/config.yaml; or change the one that the program has" {
		t.Error(got)
	}
}

// TestRefusedOrMissing: a login that the model refused is the key that was passed, unless the
// program says that it sent none.
func TestRefusedOrMissing(t *testing.T) {
	for text, want := range map[string]engine.CauseKind{
		"authentication_failed (HTTP 401), again and again":                                             engine.KeyRefused,
		"unexpected status 401 Unauthorized: Missing bearer or basic authentication in header":          engine.NoLogin,
		"Not logged in · Please run /login":                                                             engine.NoLogin,
		"Missing environment variable: `OPENAI_API_KEY`.":                                               engine.NoKey,
		"Authentication failed with provider (HTTP 401). Check your COPILOT_PROVIDER_API_KEY, or login": engine.KeyRefused,
	} {
		r := Result{How: engine.Exited, Exit: 1, Fault: Fault{Text: text}, Keys: []string{"OPENAI_API_KEY"}}
		if got := Why("codex", r).Kind; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestObeyedOf follows the places of a login, and leaves what is known of a program as it is.
func TestObeyedOf(t *testing.T) {
	before := strings.Join(ProgramOf([]string{"codex"}).Obeyed, " ")
	if got := ObeyedOf([]string{"bash", "-lc", "codex"}, []string{".codex"}); !slices.Contains(got, codexConfig) {
		t.Errorf("behind a shell: %q", got)
	}
	if got := ObeyedOf([]string{"codex-acp"}, nil); slices.Contains(got, codexConfig) || len(got) == 0 {
		t.Errorf("codex-acp: %q", got)
	}
	if got := ObeyedOf([]string{"codex"}, []string{".elsewhere"}); len(got) > 0 {
		t.Errorf("with another login it sees %q", got)
	}
	if got := ObeyedOf(nil, []string{".codex"}); !slices.Contains(got, codexConfig) {
		t.Errorf("without a command: %q", got)
	}
	if after := strings.Join(ProgramOf([]string{"codex"}).Obeyed, " "); after != before {
		t.Errorf("%s became %s", before, after)
	}
}
