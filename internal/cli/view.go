package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/verify"
)

// A view shows one run as its records arrive.
type view interface {
	past([]engine.Record)    // what the journal held when the view began
	records([]engine.Record) // what became durable now
	close()
}

func (a *app) newView(_ *session, _ api.Opened) view { return &stopgap{a: a} }

type stopgap struct {
	a     *app
	state engine.State
}

func (v *stopgap) past(rs []engine.Record) {
	for _, r := range rs {
		v.state.Apply(r)
	}
}

func (v *stopgap) records(rs []engine.Record) {
	for _, r := range rs {
		v.state.Apply(r)
		v.a.event(v.state.Run().Run, r)
	}
}

func (v *stopgap) close() {}

// event prints one record for programs.
func (a *app) event(run string, r engine.Record) {
	body, _ := engine.Encode(r.Event)
	fields := map[string]any{}
	json.Unmarshal(body, &fields)
	delete(fields, "compiled")
	fields["run"], fields["seq"], fields["at"], fields["actor"], fields["type"] = run, r.Seq, r.At.Format("2006-01-02T15:04:05.000Z"), r.Actor, r.Event.Type()
	a.document("event", fields)
}

func (a *app) showFindings(w io.Writer, fs []verify.Finding) {
	for _, f := range fs {
		fmt.Fprintln(w, f)
	}
}

func findingsDoc(doc *api.Document) any {
	return map[string]any{"ok": doc.OK(), "findings": doc.Findings}
}

func (a *app) showPlan(doc *api.Document) error {
	for _, s := range doc.Plan.Steps {
		fmt.Fprintf(a.out, "%s. %s (%s)\n", s.Number, s.Title.Value, s.ID.Value)
	}
	return nil
}

func (a *app) showEnd(_ context.Context, _ *session, head engine.HeadRow) error {
	fmt.Fprintf(a.out, "%s %s exit %d: %s\n", head.Run, head.Status, head.Exit, head.Reason)
	return nil
}

func (a *app) showStatus(ctx context.Context, s *session, head engine.HeadRow) error {
	steps, err := s.store.Steps(ctx, head.Stream)
	if err != nil {
		return err
	}
	a.document("run", map[string]any{"id": head.Run, "status": head.Status, "steps": steps})
	return nil
}

func (a *app) showList(heads []engine.HeadRow) error { a.document("list", heads); return nil }

func (a *app) showInbox(items []engine.ItemRow, plans []*engine.Revision) error {
	a.document("inbox", map[string]any{"items": items, "plans": plans})
	return nil
}

func (a *app) showLog(head engine.HeadRow, step string, records []engine.Record) error {
	for _, r := range records {
		a.event(head.Run, r)
	}
	return nil
}

func (a *app) showDoctor(lines any) error { a.document("doctor", lines); return nil }

// plainWriter keeps escape sequences from the terminal.
type plainWriter struct{ w io.Writer }

func (p plainWriter) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.w, proc.Plain(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

var _ = store.ErrFull
