package view

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// Schema is the version of what programs read. New keys do not change it.
const Schema = 1

// stampLayout is RFC 3339 with milliseconds, for UTC.
const (
	StampLayout = "2006-01-02T15:04:05.000Z"
	quotedStamp = `"` + StampLayout + `"`
)

// envelope is the form of every JSON document: one object on one line.
type envelope struct {
	Schema int    `json:"schema"`
	Kind   string `json:"kind"`
	Data   any    `json:"data"`
}

// Write writes one document. A reader that is gone is no error.
func Write(w io.Writer, kind string, data any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.Encode(envelope{Schema, kind, data}) //nolint:errcheck // nobody reads: nothing to do
}

// Stamp is a time for programs, null where it is unknown.
type Stamp time.Time

func (s Stamp) MarshalJSON() ([]byte, error) {
	if time.Time(s).IsZero() {
		return []byte("null"), nil
	}
	return time.Time(s).UTC().AppendFormat(make([]byte, 0, len(quotedStamp)), quotedStamp), nil
}

// Opening is the place in a task's records where its newest run begins: with the
// task, for the first one.
func Opening(rs []engine.Record) int {
	first, runs := 0, 0
	for i, r := range rs {
		if e, ok := r.Event.(engine.RunOpened); ok && e.Revises == "" {
			if runs++; runs > 1 {
				first = i
			}
		}
	}
	return first
}

func EventOf(run string, r engine.Record, value json.RawMessage) map[string]any {
	fields, err := eventFields(r.Event)
	if err != nil {
		fields = map[string]any{"error": err.Error()}
	}
	if value != nil {
		fields["value"] = value
	}
	fields["run"], fields["seq"], fields["at"], fields["actor"], fields["type"] = run, r.Seq, Stamp(r.At), r.Actor, r.Event.Type()
	return fields
}

func eventFields(e engine.Event) (map[string]any, error) {
	body, err := engine.Encode(e)
	if err != nil {
		return nil, err
	}
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, fmt.Errorf("read %s: %w", e.Type(), err)
	}
	fields := make(map[string]any, len(raw)+5)
	for k, v := range raw {
		fields[k] = v
	}
	inUnits(fields, e)
	return fields, nil
}

// inUnits puts what the journal counts in units of its own into those of all
// documents: dollars, milliseconds, times with milliseconds.
func inUnits(fields map[string]any, e engine.Event) {
	switch e := e.(type) {
	case engine.StepSettled:
		if e.RetryAt != nil {
			fields["retry_at"] = Stamp(*e.RetryAt)
		}
	case engine.RunOpened:
		if e.Grant != (engine.Amount{}) {
			fields["grant"] = limitsDocument(e.Grant)
		}
	case engine.WorkDispatched:
		if e.Reserve != (engine.Amount{}) {
			fields["reserve"] = limitsDocument(e.Reserve)
		}
	case engine.ArbiterRuled:
		fields["usage"] = usageDocument(e.Usage)
	case engine.JudgeVoted:
		fields["usage"] = usageDocument(e.Usage)
	case engine.WorkEnded:
		fields["usage"] = usageDocument(e.Usage)
		if e.Ending != nil {
			fields["ending"] = endingDoc{e.Ending, limitsDocument(e.Ending.Spent)}
		}
	case engine.ItemOpened:
		if e.Shortage != nil {
			fields["shortage"] = shortageDocument(*e.Shortage)
		}
	}
}

// endingDoc is the end of a run that carried out a step.
type endingDoc struct {
	*engine.Ending
	Spent limitsDoc `json:"spent"`
}
