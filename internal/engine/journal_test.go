package engine_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/piton-dev/piton/internal/engine"
)

// update writes the samples anew. Once a version is released none of its samples
// may be rewritten: they must replay to the same state for ever.
var update = flag.Bool("update", false, "write the sample journals anew, from the stories")

// sampleLine is a line of a sample: a record, or a program that one names.
type sampleLine struct {
	Program json.RawMessage `json:"program,omitempty"`
	Stream  string          `json:"stream,omitempty"`
	Seq     uint64          `json:"seq,omitempty"`
	At      time.Time       `json:"at,omitzero"`
	Actor   string          `json:"actor,omitempty"`
	Epoch   uint64          `json:"epoch,omitempty"`
	Type    string          `json:"type,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
}

// sampleState is what a sample replays to, in words that outlive the code.
type sampleState struct {
	Head    engine.HeadRow   `json:"head"`
	Steps   []engine.StepRow `json:"steps"`
	Pending []string         `json:"pending"`
	Wake    *time.Time       `json:"wake,omitempty"`
	Idle    bool             `json:"idle"`
}

// TestJournals replays every sample and compares the state with the one that
// is written beside it.
func TestJournals(t *testing.T) {
	if *update {
		updateSamples(t)
	}
	for name, journal := range samples(t) {
		s, err := replay(journal)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := audit(journal); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(name, ".jsonl") + ".json")
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(want), string(portrait(t, s))); diff != "" {
			t.Errorf("%s replays to another state:\n%s", name, diff)
		}
	}
}

// samples reads every sample there is. None is a failure: a test over nothing
// passes always.
func samples(t testing.TB) map[string][]engine.Record {
	names, err := filepath.Glob("testdata/journals/*/*.jsonl")
	if err != nil || len(names) == 0 {
		t.Fatalf("no sample journals: %v", err)
	}
	all := map[string][]engine.Record{}
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if all[name], err = readSample(body); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return all
}

func readSample(body []byte) ([]engine.Record, error) {
	programs := map[string]*engine.Program{}
	var journal []engine.Record
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var l sampleLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, err
		}
		if l.Program != nil {
			p, err := engine.DecodeProgram(l.Program)
			if err != nil {
				return nil, err
			}
			programs[p.Hash()] = p
			continue
		}
		e, err := engine.Decode(l.Type, l.Body)
		if err != nil {
			return nil, err
		}
		if open, ok := e.(engine.RunOpened); ok {
			open.Compiled = programs[open.Program]
			e = open
		}
		journal = append(journal, engine.Record{Stream: l.Stream, Seq: l.Seq, At: l.At, Actor: l.Actor, Epoch: l.Epoch, Event: e})
	}
	return journal, lines.Err()
}

// portrait is the state in words.
func portrait(t testing.TB, s *engine.State) []byte {
	p := sampleState{Head: s.Head(), Pending: keys(s.Effects()), Idle: s.Idle()}
	for i := range s.Program().Len() {
		p.Steps = append(p.Steps, s.StepRow(i))
	}
	if at, ok := s.Wake(); ok {
		p.Wake = &at
	}
	body, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	return append(body, '\n')
}

// updateSamples makes a sample of every story.
func updateSamples(t *testing.T) {
	stories, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(stories) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, path := range stories {
		name := filepath.Join("testdata/journals/v1", strings.TrimSuffix(filepath.Base(path), ".txt")+".jsonl")
		journal := retell(t, path)
		s, err := replay(journal)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, writeSample(t, journal), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(strings.TrimSuffix(name, ".jsonl")+".json", portrait(t, s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func writeSample(t testing.TB, journal []engine.Record) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	put := func(l sampleLine) {
		if err := enc.Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range journal {
		if open, ok := r.Event.(engine.RunOpened); ok {
			put(sampleLine{Program: open.Compiled.Encode()})
		}
		body, err := engine.Encode(r.Event)
		if err != nil {
			t.Fatal(err)
		}
		put(sampleLine{Stream: r.Stream, Seq: r.Seq, At: r.At, Actor: r.Actor, Epoch: r.Epoch, Type: r.Event.Type(), Body: body})
	}
	return b.Bytes()
}

// TestJournalsCoverEveryEvent: an event of a task that no sample holds could
// change its wire form unseen.
func TestJournalsCoverEveryEvent(t *testing.T) {
	seen := map[string]bool{}
	for _, journal := range samples(t) {
		for _, r := range journal {
			seen[fmt.Sprintf("%T", r.Event)] = true
		}
	}
	for _, name := range cases(sources(t), "State", "apply") {
		if !seen["engine."+name] {
			t.Errorf("no sample holds %s", name)
		}
	}
}
