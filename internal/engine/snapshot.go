package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// snapshotVersion changes with the shape or the meaning of a snapshot, so that
// one from another version is thrown away and the journal is replayed instead.
const snapshotVersion = 27

// snapshotHead is the first line of a snapshot: what one must know before the
// rest is worth reading.
type snapshotHead struct {
	Version int    `json:"version"`
	Program string `json:"program"` // hash
	Sum     string `json:"sum"`     // SHA-256 of the rest
}

type snapshot struct {
	Task  string    `json:"task"`
	Seq   uint64    `json:"seq"`
	Last  time.Time `json:"last"`
	Epoch uint64    `json:"epoch"`
	Pipe  pipeline  `json:"pipe"`
	Run   run       `json:"run"`
	Steps []step    `json:"steps"`
	Items []ItemRow `json:"items"`
}

// ErrSnapshot says that a snapshot is of another version, or for another
// program: replay instead.
var ErrSnapshot = errors.New("snapshot of another version or program")

// Snapshot returns the state as bytes that [Restore] takes. It is a shortcut
// past a long replay and never the truth; it costs a pass over all steps.
func (s *State) Snapshot() ([]byte, error) {
	snap := snapshot{Task: s.task, Seq: s.seq, Last: s.last, Epoch: s.epoch, Pipe: s.pipe, Run: s.run, Steps: s.steps}
	for _, name := range slices.Sorted(maps.Keys(s.items)) {
		snap.Items = append(snap.Items, s.items[name])
	}
	body, err := json.Marshal(snap)
	if err != nil {
		return nil, fmt.Errorf("write snapshot: %w", err)
	}
	head, err := json.Marshal(snapshotHead{Version: snapshotVersion, Program: s.run.Opened.Program, Sum: digest(body)})
	if err != nil {
		return nil, fmt.Errorf("write snapshot: %w", err)
	}
	return slices.Concat(head, []byte("\n"), body), nil
}

// SnapshotProgram returns the hash of the program a snapshot needs. It reads no
// more than the first line.
func SnapshotProgram(body []byte) (string, error) {
	head, _, err := openSnapshot(body)
	return head.Program, err
}

func openSnapshot(body []byte) (snapshotHead, []byte, error) {
	line, rest, _ := bytes.Cut(body, []byte("\n"))
	var head snapshotHead
	if err := json.Unmarshal(line, &head); err != nil {
		return head, nil, fmt.Errorf("read snapshot: %w", err)
	}
	if head.Version != snapshotVersion {
		return head, nil, ErrSnapshot
	}
	return head, rest, nil
}

// Restore returns the state that [State.Snapshot] saw, for the same program.
// Bytes that are not what Snapshot wrote are an error.
func Restore(body []byte, p *Program) (*State, error) {
	head, rest, err := openSnapshot(body)
	if err != nil {
		return nil, err
	}
	if head.Sum != digest(rest) {
		return nil, errors.New("read snapshot: it is not what was written")
	}
	var snap snapshot
	if err := json.Unmarshal(rest, &snap); err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	if head.Program != p.Hash() {
		return nil, ErrSnapshot
	}
	base := p.compiled()
	if p, err = regrow(base, snap.Run.Expanded); err != nil || len(snap.Steps) != p.Len() {
		return nil, ErrSnapshot
	}
	s := &State{task: snap.Task, seq: snap.Seq, last: snap.Last, epoch: snap.Epoch, pipe: snap.Pipe, run: snap.Run, steps: snap.Steps, prog: p}
	s.run.Opened.Compiled = base
	s.items = map[string]ItemRow{}
	for _, row := range snap.Items {
		s.items[row.Item] = row
	}
	s.rebuild()
	return s, nil
}
