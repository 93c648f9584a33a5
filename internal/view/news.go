package view

import (
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
)

// News takes apart the records of a run that somebody asked for at a time: what
// happened before, and what nobody has shown yet: what came since, and what came of an
// answer with which nobody has gone on.
func News(records []engine.Record, o api.Opened, asked time.Time) (past, news []engine.Record) {
	own := func(r engine.Record) bool { return r.Stream == o.Stream }
	after, at := o.After, asked
	for _, r := range records {
		e, opens := r.Event.(engine.RunOpened)
		switch {
		case opens && own(r) && !o.Resumed && e.Run == o.Run:
			after, at = r.Seq, r.At // the view tells of it
		case !own(r) || r.Seq > o.After:
			continue
		}
		switch e := r.Event.(type) {
		case engine.ItemAnswered, engine.RunConfigured:
			if r.Seq <= after {
				after, at = r.Seq-1, r.At
			}
		case engine.EpochBegan, engine.WorkDispatched, engine.WorkEnded, engine.CheckEnded:
			after, at = o.After, asked
		case engine.Command:
			if e.Verb == engine.DoResume || e.Verb == engine.DoLand { // somebody went on with the same owner
				after, at = o.After, asked
			}
		}
	}
	for _, r := range records {
		if own(r) && r.Seq > after || !own(r) && !r.At.Before(at) {
			news = append(news, r)
		} else {
			past = append(past, r)
		}
	}
	return past, news
}

// Notable reports a record that a person may want to hear of at once: something waits for
// them, or a run has ended that carries out no step of another.
func Notable(r engine.Record) bool {
	switch e := r.Event.(type) {
	case engine.ItemOpened:
		return true
	case engine.RunEnded:
		return e.Status != engine.Superseded && !strings.Contains(r.Stream, "/")
	}
	return false
}

// Unanswered are the items that wait and that the records do not answer.
func (f *Fold) Unanswered(news []engine.Record) []engine.ItemRow {
	return slices.DeleteFunc(f.Waiting(), func(it engine.ItemRow) bool {
		return slices.ContainsFunc(news, func(r engine.Record) bool {
			a, ok := r.Event.(engine.ItemAnswered)
			return ok && a.Item == it.Item
		})
	})
}
