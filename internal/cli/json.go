package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/verify"
)

// schema is the version of what programs read. New keys do not change it.
const schema = 1

// stampLayout is RFC 3339 with milliseconds, for UTC.
const (
	stampLayout = "2006-01-02T15:04:05.000Z"
	quotedStamp = `"` + stampLayout + `"`
)

// envelope is the form of every JSON document: one object on one line.
type envelope struct {
	Schema int    `json:"schema"`
	Kind   string `json:"kind"`
	Data   any    `json:"data"`
}

// writeDocument writes one document. A reader that is gone is no error.
func writeDocument(w io.Writer, kind string, data any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.Encode(envelope{schema, kind, data}) //nolint:errcheck // nobody reads: nothing to do
}

// stamp is a time for programs, null where it is unknown.
type stamp time.Time

func (s stamp) MarshalJSON() ([]byte, error) {
	if time.Time(s).IsZero() {
		return []byte("null"), nil
	}
	return time.Time(s).UTC().AppendFormat(make([]byte, 0, len(quotedStamp)), quotedStamp), nil
}

// orNull is null for a zero value, which stands for what is not known.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// list is never null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// jsonView writes each record as an event, and what attempts say of themselves
// between them.
type jsonView struct {
	mu       sync.Mutex
	fold     fold
	progress progress
	out      *spool
}

func newJSONView(w io.Writer, state string) *jsonView {
	return &jsonView{out: newSpool(w), progress: progress{state: state}}
}

// past writes what happened in the run before, and nothing of earlier runs of
// the task, nor of those that carry out its steps. The first record is its own.
func (v *jsonView) past(rs []engine.Record, _ time.Time) {
	rs = slices.DeleteFunc(slices.Clone(rs), func(r engine.Record) bool { return r.Stream != rs[0].Stream })
	first := opening(rs)
	for _, r := range rs[:first] {
		v.fold.apply(r) //nolint:errcheck // nothing of it is shown
	}
	v.records(rs[first:])
}

// opening is the place in a task's records where its newest run begins: with the
// task, for the first one.
func opening(rs []engine.Record) int {
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

func (v *jsonView) records(rs []engine.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range rs {
		if v.fold.isBelow(r.Stream) {
			continue // piton watch of that run has its events
		}
		v.fold.apply(r) //nolint:errcheck // events are shown all the same
		run := v.fold.state.Run().Run
		writeSaid(v.out, v.progress.take(run, r.Event))
		writeEvent(v.out, run, r)
	}
	writeSaid(v.out, v.progress.look())
}

func (v *jsonView) close() { v.out.close() }

// writeEvent writes one record as an event: the event's own fields, and where
// it stands in the journal.
func writeEvent(w io.Writer, run string, r engine.Record) { writeEventWith(w, run, r, nil) }

// writeEventWith does so with the value that the event tells of, if there is one.
func writeEventWith(w io.Writer, run string, r engine.Record, value json.RawMessage) {
	writeDocument(w, "event", eventDocument(run, r, value))
}

func eventDocument(run string, r engine.Record, value json.RawMessage) map[string]any {
	fields, err := eventFields(r.Event)
	if err != nil {
		fields = map[string]any{"error": err.Error()}
	}
	if value != nil {
		fields["value"] = value
	}
	fields["run"], fields["seq"], fields["at"], fields["actor"], fields["type"] = run, r.Seq, stamp(r.At), r.Actor, r.Event.Type()
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
			fields["retry_at"] = stamp(*e.RetryAt)
		}
	case engine.RunOpened:
		if e.Grant != (engine.Amount{}) {
			fields["grant"] = limitsDocument(e.Grant)
		}
	case engine.WorkDispatched:
		if e.Reserve != (engine.Amount{}) {
			fields["reserve"] = limitsDocument(e.Reserve)
		}
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

// runDoc is a run for programs.
type runDoc struct {
	ID         string        `json:"id"`
	Status     engine.Status `json:"status"`
	Reason     string        `json:"reason"`
	Plan       planRef       `json:"plan"`
	Workspace  string        `json:"workspace"`
	Isolation  *string       `json:"isolation"`
	ApprovedBy *string       `json:"approved_by"`
	StartedAt  stamp         `json:"started_at"`
	FinishedAt stamp         `json:"finished_at"`
	Exit       *int          `json:"exit"`
	Proven     int           `json:"proven"`
	Unproven   int           `json:"unproven"`
	Waived     int           `json:"waived"`
	Skipped    int           `json:"skipped"`
	Usage      usageDoc      `json:"usage"`
	Budget     *spendDoc     `json:"budget,omitempty"` // left out where nothing is limited
	Steps      []stepDoc     `json:"steps,omitzero"`   // left out of lists
	Total      int           `json:"total"`
	Satisfied  int           `json:"satisfied"`
	Waiting    int           `json:"waiting"`            // open items, of it and of the runs that carry out its steps
	Changed    bool          `json:"changed,omitzero"`   // lists: its plan document is another text now
	Carried    *bool         `json:"carried,omitempty"`  // status and list: a process carries the run on
	Proposal   *changeDoc    `json:"proposal,omitzero"`  // what that proposes
	Parent     *parentDoc    `json:"parent,omitempty"`   // the step that it carries out
	Worktree   *workplace    `json:"worktree,omitempty"` // that it works in, or left behind unmerged
}

// parentDoc is the step that a run carries out.
type parentDoc struct {
	Run  string `json:"run"`
	Step string `json:"step"`
	Item string `json:"item,omitempty"` // that the step is for
}

func parentDocument(p engine.Parent) *parentDoc {
	if p.Run == "" {
		return nil
	}
	return &parentDoc{p.Run, p.Step, p.Item}
}

// childDoc is how far the run is that carries out a step, with its own steps.
type childDoc struct {
	Run       string        `json:"run"`
	Status    engine.Status `json:"status"`
	Total     int           `json:"total"`
	Satisfied int           `json:"satisfied"`
	Waiting   int           `json:"waiting"`
	Steps     []stepDoc     `json:"steps"`
}

// stepDocuments are the steps of a run, with what the attempts under way say of
// themselves, and with the runs that carry them out.
func stepDocuments(s standing) []stepDoc {
	docs := []stepDoc{}
	for _, row := range s.steps {
		d := rowDocument(row)
		if now, ok := s.said[row.ID]; ok {
			d.Progress = &saidDoc{now.Percent, now.Text, stamp(now.At)}
		}
		if c, ok := s.below[row.ID]; ok {
			d.Child = &childDoc{c.head.Run, s.by.told(c.head), c.head.Total, c.head.Settled, s.by.open(c.head), stepDocuments(c)}
		}
		docs = append(docs, d)
	}
	return docs
}

// changeDoc is what a plan document proposes for its run.
type changeDoc struct {
	File     string   `json:"file"`
	Revision int      `json:"revision"` // that it would be
	Hash     string   `json:"hash"`
	OK       bool     `json:"ok"` // it verifies
	Changes  string   `json:"changes"`
	Weakened []string `json:"weakened"`
}

func proposalDocument(pr *api.Proposal) *changeDoc {
	if pr == nil {
		return nil
	}
	d := &changeDoc{File: pr.Head.Path, Revision: pr.Revision, Hash: pr.Doc.Plan.Hash(), OK: pr.Doc.OK(), Changes: pr.Summary(), Weakened: []string{}}
	for _, w := range pr.Diff.Weaker {
		d.Weakened = append(d.Weakened, api.Weakened(w))
	}
	return d
}

type planRef struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
	Title   string `json:"title"`
	Hash    string `json:"hash"`
}

type usageDoc struct {
	In   *int64   `json:"tokens_in"`
	Out  *int64   `json:"tokens_out"`
	Cost *float64 `json:"cost_usd"`
}

func usageDocument(u engine.Usage) usageDoc {
	d := usageDoc{In: u.In, Out: u.Out}
	if u.CostMicros != nil {
		d.Cost = new(float64(*u.CostMicros) / 1e6)
	}
	return d
}

// spendDoc is a budget with what was used of it: attempts that did not say what
// they used count as what was set aside for them.
type spendDoc struct {
	Limit     budgetDoc `json:"limit"`
	Used      budgetDoc `json:"used"`
	Reserved  budgetDoc `json:"reserved"` // for what is under way
	Left      budgetDoc `json:"left"`
	Unmetered int       `json:"unmetered"` // attempts that did not say what they used, with nothing set aside
}

// limitsDoc are amounts of which those that are none are left out.
type limitsDoc struct {
	Tokens  int64   `json:"tokens,omitempty"`
	CostUSD float64 `json:"cost_usd,omitempty"`
	WallMs  int64   `json:"wall_ms,omitempty"`
}

func limitsDocument(a engine.Amount) limitsDoc {
	return limitsDoc{a.Tokens, float64(a.CostMicros) / 1e6, a.Wall.Milliseconds()}
}

// shortageDoc is why a budget is to be raised.
type shortageDoc struct {
	Of      string    `json:"of"`
	Limits  limitsDoc `json:"limits"`
	Spent   limitsDoc `json:"spent"`
	Held    limitsDoc `json:"held"`
	SinceMs int64     `json:"since_ms"`
	Needs   limitsDoc `json:"needs"`
	Raise   limitsDoc `json:"raise"`
	Silent  int       `json:"silent"`
}

func shortageDocument(x engine.Shortage) shortageDoc {
	return shortageDoc{
		x.Of, limitsDocument(x.Limits), limitsDocument(x.Spent), limitsDocument(x.Held), x.Since.Milliseconds(),
		limitsDocument(x.Needs), limitsDocument(x.Raise), x.Silent,
	}
}

// until is the moment that a run's time is counted to: its end, or now.
func until(h engine.HeadRow) time.Time {
	if h.Ended {
		return h.Finished
	}
	return time.Now()
}

// spendDocument is the budget at now, nil where nothing is limited.
func spendDocument(b engine.Budget, now time.Time) *spendDoc {
	if b.Limits == (engine.Amount{}) {
		return nil
	}
	limited := func(a engine.Amount) (d budgetDoc) {
		if b.Limits.Tokens > 0 {
			d.Tokens = &a.Tokens
		}
		if b.Limits.CostMicros > 0 {
			d.CostUSD = new(float64(a.CostMicros) / 1e6)
		}
		if b.Limits.Wall > 0 {
			d.WallMs = new(a.Wall.Milliseconds())
		}
		return d
	}
	left := b.Left(now)
	used := b.Spent
	used.Wall = b.Limits.Wall - left.Wall
	return &spendDoc{limited(b.Limits), limited(used), limited(b.Held), limited(left), b.Unmetered}
}

type stepDoc struct {
	ID         string          `json:"id"`
	Number     string          `json:"number"`
	Title      string          `json:"title"`
	Status     engine.Status   `json:"status"`
	Phase      *engine.Phase   `json:"phase"`
	Reason     string          `json:"reason"`
	Agent      *string         `json:"agent"`
	Attempts   int             `json:"attempts"`
	Verdict    *engine.Verdict `json:"verdict"`
	Baseline   *engine.Verdict `json:"baseline"`
	Proven     bool            `json:"proven"`
	StartedAt  stamp           `json:"started_at"`
	FinishedAt stamp           `json:"finished_at"`
	Needs      []string        `json:"needs"`
	Of         string          `json:"instance_of,omitempty"`
	Progress   *saidDoc        `json:"progress,omitempty"` // status: of the attempt under way, where it says something
	Child      *childDoc       `json:"child,omitempty"`    // the newest run that carries it out
}

// runDocument makes the document of a run. steps may be nil in lists.
func runDocument(h engine.HeadRow, workspace string, steps []engine.StepRow) runDoc {
	d := runDoc{
		ID: h.Run, Status: h.Status, Reason: h.Reason,
		Plan:      planRef{h.Plan, h.Version, h.Title, h.PlanHash},
		Workspace: workspace, Isolation: orNull(h.Isolation), ApprovedBy: orNull(h.ApprovedBy), StartedAt: stamp(h.Started), FinishedAt: stamp(h.Finished),
		Proven: h.Proven, Unproven: h.Unproven, Waived: h.Waived, Skipped: h.Skipped, Usage: usageDoc{In: orNull(h.TokensIn), Out: orNull(h.TokensOut)},
		Total: h.Total, Satisfied: h.Settled, Waiting: h.Open,
		Budget: spendDocument(h.Budget, until(h)),
	}
	d.Parent = parentDocument(h.Parent)
	if h.Ended {
		d.Exit = &h.Exit
	}
	if h.CostMicros > 0 {
		d.Usage.Cost = orNull(float64(h.CostMicros) / 1e6)
	}
	for _, s := range steps {
		d.Steps = append(d.Steps, rowDocument(s))
	}
	return d
}

func rowDocument(s engine.StepRow) stepDoc {
	of, instance := engine.InstanceOf(s.ID)
	if !instance {
		of = ""
	}
	return stepDoc{
		Of: of, ID: s.ID, Number: s.Number, Title: s.Title, Status: s.Status, Phase: orNull(s.Phase), Reason: s.Reason,
		Agent: orNull(s.Agent), Attempts: s.Attempts, Verdict: orNull(s.Verdict), Baseline: orNull(s.Baseline),
		Proven: s.Proven, StartedAt: stamp(s.Started), FinishedAt: stamp(s.Finished), Needs: list(s.Needs),
	}
}

// inboxDoc is what waits for people. Plans that wait for a yes are not items:
// they are approved, not answered.
type inboxDoc struct {
	Items []itemDoc     `json:"items"`
	Plans []proposalDoc `json:"plans"`
}

type itemDoc struct {
	ID      string          `json:"id"`
	Run     string          `json:"run"`
	Step    string          `json:"step"`
	Parent  *parentDoc      `json:"parent,omitempty"` // the step that the run carries out
	Kind    engine.ItemKind `json:"kind"`
	Cause   *engine.Verdict `json:"cause"`
	Text    string          `json:"question"`
	Choices []string        `json:"choices"`
	Args    any             `json:"args"`
	Schema  string          `json:"schema,omitempty"`
	Context string          `json:"context"`
	Tool    string          `json:"tool,omitempty"`
	Tier    engine.Tier     `json:"tier,omitempty"`
	Plan    string          `json:"plan,omitempty"` // path of a plan that is to be approved
	Behind  []string        `json:"behind,omitempty"`
	AskedAt stamp           `json:"asked_at"`
}

type proposalDoc struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Title   string `json:"title"`
	Version int    `json:"version"`
	Hash    string `json:"hash"`
	AskedAt stamp  `json:"asked_at"`

	Kind     string   `json:"kind"`              // approval; weakened where it proves or guards less than before
	Changes  string   `json:"changes,omitempty"` // since the text before
	Weakened []string `json:"weakened"`
}

// planKind is what a yes to a recorded plan would mean.
func planKind(p engine.PlanDrafted) string {
	if len(p.Weakened) > 0 {
		return "weakened"
	}
	return "approval"
}

// inboxDocument takes the arguments of calls by their hash.
func inboxDocument(items []engine.ItemRow, plans []*engine.Revision, args map[string]json.RawMessage) inboxDoc {
	d := inboxDoc{Items: []itemDoc{}, Plans: []proposalDoc{}}
	for _, it := range items {
		doc := itemDoc{
			ID: it.Item, Run: it.Run, Step: it.Step, Kind: it.Kind, Cause: orNull(it.Cause), Text: it.Question,
			Choices: list(it.Choices), Schema: it.Schema, Context: it.Context, AskedAt: stamp(it.Opened),
			Tool: it.Tool, Tier: it.Tier, Plan: it.Plan, Behind: it.Behind, Parent: parentDocument(it.Parent),
		}
		if it.Shortage != nil {
			doc.Args = limitsDocument(it.Shortage.Raise)
		}
		if body, ok := args[it.Args]; ok {
			doc.Args = body
		}
		d.Items = append(d.Items, doc)
	}
	for _, r := range plans {
		p := r.Drafted
		d.Plans = append(d.Plans, proposalDoc{p.Plan, p.Path, p.Title, p.Version, p.Hash, stamp(r.At), planKind(p), p.Changes, list(p.Weakened)})
	}
	return d
}

// findingsDoc is what is wrong with plans.
type findingsDoc struct {
	OK       bool             `json:"ok"`
	Runnable bool             `json:"runnable"` // by this version
	Files    []foundDoc       `json:"files"`
	Findings []verify.Finding `json:"findings"`
}

type foundDoc struct {
	File     string `json:"file"`
	OK       bool   `json:"ok"`
	Runnable bool   `json:"runnable"`
	riskDoc
}

// riskDoc is what an approval of low-risk plans goes by.
type riskDoc struct {
	Risk    string          `json:"risk"`    // low, high
	Hazards []verify.Hazard `json:"hazards"` // why it is not low
}

func riskDocument(doc *api.Document) riskDoc {
	d := riskDoc{Risk: "low", Hazards: list(doc.Hazards())}
	if len(d.Hazards) > 0 || !doc.OK() {
		d.Risk = "high"
	}
	return d
}

func findingsDocument(docs ...*api.Document) findingsDoc {
	out := findingsDoc{OK: true, Runnable: true, Files: []foundDoc{}, Findings: []verify.Finding{}}
	for _, doc := range docs {
		out.OK, out.Runnable = out.OK && doc.OK(), out.Runnable && doc.Runnable()
		out.Files = append(out.Files, foundDoc{doc.Path, doc.OK(), doc.Runnable(), riskDocument(doc)})
		out.Findings = append(out.Findings, doc.Findings...)
	}
	return out
}

// refusalDocument is why a plan that verifies is not run.
func refusalDocument(doc *api.Document, r *verify.Refusal) findingsDoc {
	return findingsDoc{OK: doc.OK(), Files: []foundDoc{{File: doc.Path, OK: doc.OK(), riskDoc: riskDocument(doc)}}, Findings: r.Findings}
}

// How a plan stands, and a run that nobody has said yes to yet.
const (
	unapproved engine.Status = "verified"
	approved   engine.Status = "approved"
	rejected   engine.Status = "rejected"
)

// planStatus is what somebody said to a text of a plan, or to the plan that
// delegates to it.
func planStatus(r *engine.Revision) engine.Status {
	switch {
	case r.Rejected():
		return rejected
	case r.Answer != nil || r.Drafted.Parent != "":
		return approved
	}
	return unapproved
}

// unapprovedDocument is the run that a plan would have.
func unapprovedDocument(r *engine.Revision, p *engine.Program, workspace string) runDoc {
	d := r.Drafted
	var steps []engine.StepRow
	for i := range p.Len() {
		s := p.Step(i)
		row := engine.StepRow{ID: s.ID, Number: s.Number, Title: s.Title, Status: engine.Pending, Agent: s.Role}
		for _, n := range s.Needs {
			row.Needs = append(row.Needs, p.Step(n).ID)
		}
		steps = append(steps, row)
	}
	head := engine.HeadRow{Plan: d.Plan, Version: d.Version, Title: d.Title, PlanHash: d.Hash, Status: unapproved, Reason: "the plan waits for a person's yes", Total: p.Len()}
	return runDocument(head, workspace, steps)
}

// approvalDoc is a yes to a plan, or that it waits for one.
type approvalDoc struct {
	ID       *string  `json:"id"` // of the revision; null where the plan is not recorded
	Approved bool     `json:"approved"`
	File     string   `json:"file"`
	Title    string   `json:"title"`
	Version  *int     `json:"version"`
	Hash     string   `json:"hash"`
	Run      *string  `json:"run"` // that goes on with it
	Changes  string   `json:"changes"`
	Weakened []string `json:"weakened"`
}

func approvalDocument(doc *api.Document, r *engine.Revision, run string, approved bool) approvalDoc {
	d := approvalDoc{Approved: approved, File: doc.Path, Title: doc.Plan.Title.Value, Hash: doc.Covers(), Run: orNull(run), Weakened: []string{}}
	if r != nil {
		d.ID, d.Version, d.Changes, d.Weakened = &r.Drafted.Plan, &r.Drafted.Version, r.Drafted.Changes, list(r.Drafted.Weakened)
	}
	return d
}
