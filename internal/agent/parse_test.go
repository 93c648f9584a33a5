package agent

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

var update = flag.Bool("update", false, "write the golden files anew")

func presets() []Preset {
	return []Preset{Codex, Claude, Gemini, OpenCode, Copilot, Qwen, Pi, Cline}
}

// outcome is what a golden file says of an agent's output.
type outcome struct {
	Text  string       `json:"text"`
	Usage engine.Usage `json:"usage"`
	Notes []string     `json:"notes,omitempty"`
}

// captured is out with at most keep bytes of its end.
func captured(out []byte, keep int) proc.Capture {
	return proc.Capture{Tail: out[max(0, len(out)-keep):], Total: int64(len(out))}
}

// hear hands pieces of a size to a transcript that is finished then.
func hear(t *testing.T, p Preset, out []byte, size, keep int) outcome {
	t.Helper()
	tr, err := newTranscript(p)
	if err != nil {
		t.Fatal(err)
	}
	for rest := out; len(rest) > 0; rest = rest[min(size, len(rest)):] {
		tr.write(rest[:min(size, len(rest))])
	}
	s, notes := tr.finish(captured(out, keep))
	return outcome{string(s.text), s.usage, notes}
}

// TestPresets: each file of testdata/parse is what an agent prints, named after
// its preset and what is special about it.
func TestPresets(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/parse/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Preset]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
			word, _, _ := strings.Cut(name, "-")
			seen[Preset(word)] = true
			out, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := hear(t, Preset(word), out, len(out), MaxOutput)
			golden(t, strings.TrimSuffix(file, ".jsonl")+".golden", got)
			if streamed := hear(t, Preset(word), out, 7, 0); name != "gemini-object" && !cmp.Equal(got, streamed) {
				t.Errorf("as it comes it is another: %s", cmp.Diff(got, streamed))
			}
		})
	}
	for _, p := range presets() {
		if !seen[p] {
			t.Errorf("no file is for %s", p)
		}
	}
}

func golden(t *testing.T, file string, got outcome) {
	t.Helper()
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTranscriptOfMuch(t *testing.T) {
	t.Parallel()
	call := `{"type":"step_finish","sessionID":"s","part":{"tokens":{"input":3},"cost":0.5}}` + "\n"
	long := `{"type":"text","part":{"text":"` + strings.Repeat("x", MaxLine) + `"}}` + "\n"
	words := `{"type":"step_start"}` + "\n" + `{"type":"text","part":{"text":"the end"}}`
	calls := MaxOutput/len(call) + 1 // more than is kept
	out := []byte(strings.Repeat(call, calls) + long + words)
	want := outcome{
		Text: "the end", Usage: engine.Usage{In: new(int64(3 * calls)), CostMicros: new(int64(500_000 * calls))},
		Notes: []string{"what it used may not be known in full; lines of the output that were too long to be read: 1"},
	}
	if diff := cmp.Diff(want, hear(t, OpenCode, out, 32<<10, MaxOutput)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTranscriptSaysLittle(t *testing.T) {
	t.Parallel()
	if tr, err := newTranscript(NoPreset); tr != nil || err != nil {
		t.Errorf("%v, %v", tr, err)
	}
	if diff := cmp.Diff(outcome{}, hear(t, "", []byte(`{"type":"result","result":"x"}`), 9, MaxOutput)); diff != "" {
		t.Errorf("of text: %s", diff)
	}
	for _, p := range presets() {
		if diff := cmp.Diff(outcome{}, hear(t, p, nil, 1, MaxOutput)); diff != "" {
			t.Errorf("%s of nothing: %s", p, diff)
		}
		got := hear(t, p, []byte("done\n"+strings.Repeat(`{"a":`, 100_000)), 5000, MaxOutput)
		if len(got.Notes) == 0 || got.Usage != (engine.Usage{}) || got.Text != "" {
			t.Errorf("%s of garbage: %+v", p, got)
		}
	}
	big := `{"type":"result","result":"` + strings.Repeat("x", 2*MaxLine) + `","usage":{"output_tokens":3}}`
	if got := hear(t, Claude, []byte(big), 5000, MaxOutput); len(got.Text) != 2*MaxLine || got.Usage.Out == nil {
		t.Errorf("of one long object: %d bytes, %+v", len(got.Text), got.Usage)
	}
}

// TestLineAmidStandardError: what stands before an object does not hide it.
func TestLineAmidStandardError(t *testing.T) {
	t.Parallel()
	out := []byte("10% … 20% … " + `{"type":"item.completed","item":{"type":"agent_message","text":"t"}}` + "\n")
	if got := hear(t, Codex, out, 10, 0); got.Text != "t" {
		t.Errorf("%+v", got)
	}
}

// FuzzTranscript: whatever an agent prints and however it arrives, the outcome
// is the same and within its bounds.
func FuzzTranscript(f *testing.F) {
	files, err := filepath.Glob("testdata/parse/*.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		out, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(out, 9)
	}
	f.Fuzz(func(t *testing.T, out []byte, size int) {
		for _, p := range presets() {
			whole := hear(t, p, out, max(1, len(out)), 0)
			pieces := hear(t, p, out, min(max(1, size), 1000), 0)
			if diff := cmp.Diff(whole, pieces); diff != "" {
				t.Fatalf("%s: it depends on how the output arrives:\n%s", p, diff)
			}
			got := hear(t, p, out, 4096, MaxOutput)
			if len(got.Text) > MaxOutput {
				t.Errorf("%s: %d bytes", p, len(got.Text))
			}
			for _, n := range []*int64{got.Usage.In, got.Usage.Out, got.Usage.CostMicros} {
				if n != nil && (*n < 0 || *n > maxTokens) {
					t.Errorf("%s: a usage of %d", p, *n)
				}
			}
		}
	})
}
