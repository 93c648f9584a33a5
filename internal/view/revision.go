package view

import (
	"maps"
	"slices"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/verify"
)

// Diff is a difference for programs.
type Diff struct {
	From string `json:"from"`
	To   string `json:"to"`
	Text string `json:"text"` // unified
	verify.Difference
}

// DiffOf is the difference between two texts of these names.
func DiffOf(from, to, text string, d verify.Difference) Diff {
	d.Header, d.Steps, d.Weaker = List(d.Header), List(d.Steps), List(d.Weaker)
	for i := range d.Steps {
		d.Steps[i].Labels = List(d.Steps[i].Labels)
	}
	return Diff{from, to, text, d}
}

// Compared is the difference between two texts, and between the sub-plans that are approved
// with them.
func Compared(one, two api.Text) Diff {
	text := diff.Diff(one.Name, one.Source, two.Name, two.Source)
	if one.Below != nil { // a file has none
		for _, path := range slices.Sorted(maps.Keys(two.Below)) {
			text = append(text, diff.Diff(one.Name+": "+path, one.Below[path], two.Name+": "+path, two.Below[path])...)
		}
	}
	return DiffOf(one.Name, two.Name, string(text), verify.Diff(one.Plan, two.Plan))
}

// Revision is one revision for programs.
type Revision struct {
	ID         string      `json:"id"`
	Version    int         `json:"version"`
	Previous   string      `json:"previous"`
	Path       string      `json:"path"`
	Title      string      `json:"title"`
	Hash       string      `json:"hash"`
	By         string      `json:"by"`
	At         Stamp       `json:"at"`
	Answer     *string     `json:"answer"` // approved, rejected, null while it waits
	AnsweredBy string      `json:"answered_by"`
	AnsweredAt Stamp       `json:"answered_at"`
	Why        string      `json:"why"`
	Changes    string      `json:"changes"`
	Reasoning  string      `json:"reasoning,omitempty"` // of the planner
	Run        string      `json:"run,omitempty"`       // that a planner made it for
	Weakened   []string    `json:"weakened"`
	Runs       []string    `json:"runs"`
	Taken      []Taken     `json:"taken,omitempty"`
	Branches   []RunBranch `json:"branches,omitempty"` // of runs that left their work there
}

// Taken is what a person let a run go on with that was different when it was approved.
type Taken struct {
	Run  string `json:"run"`
	By   string `json:"by"`
	At   Stamp  `json:"at"`
	Text string `json:"text"`
}

// RunBranch is the branch of a run.
type RunBranch struct {
	Run string `json:"run"`
	*Branch
}

func RevisionsOf(all []api.Entry) []Revision {
	docs := []Revision{}
	for _, e := range all {
		docs = append(docs, revisionOf(e))
	}
	return docs
}

func revisionOf(e api.Entry) Revision {
	p := e.Drafted
	d := Revision{
		ID: p.Plan, Version: p.Version, Previous: p.Previous, Path: p.Path, Title: p.Title, Hash: p.Hash, By: p.By, At: Stamp(e.At),
		Changes: p.Changes, Reasoning: p.Reason, Run: p.Run, Weakened: List(p.Weakened), Runs: List(e.Runs),
	}
	for _, c := range e.Taken {
		d.Taken = append(d.Taken, Taken{c.Run, c.By, Stamp(c.At), configured(c.RunConfigured)})
	}
	for _, h := range e.Branches {
		d.Branches = append(d.Branches, RunBranch{h.Run, branchDocument(h.Branch)})
	}
	if e.Answer != nil {
		word := string(PlanStatus(e.Revision))
		d.Answer, d.AnsweredBy, d.AnsweredAt, d.Why = &word, e.Answer.By, Stamp(e.Answered), e.Answer.Why
	}
	return d
}

// Change is what a plan document proposes for its run.
type Change struct {
	File     string   `json:"file"`
	Revision int      `json:"revision"` // that it would be
	Hash     string   `json:"hash"`
	OK       bool     `json:"ok"` // it verifies
	Changes  string   `json:"changes"`
	Weakened []string `json:"weakened"`
}

func ChangeOf(pr *api.Proposal) *Change {
	if pr == nil {
		return nil
	}
	d := &Change{File: pr.Head.Path, Revision: pr.Revision, Hash: pr.Doc.Plan.Hash(), OK: pr.Doc.OK(), Changes: pr.Summary(), Weakened: []string{}}
	for _, w := range pr.Diff.Weaker {
		d.Weakened = append(d.Weakened, api.Weakened(w))
	}
	return d
}

// Approval is a yes to a plan, or that it waits for one.
type Approval struct {
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

func ApprovalOf(doc *api.Document, r *engine.Revision, run string, approved bool) Approval {
	d := Approval{Approved: approved, File: doc.Path, Title: doc.Plan.Title.Value, Hash: doc.Covers(), Run: OrNull(run), Weakened: []string{}}
	if r != nil {
		d.ID, d.Version, d.Changes, d.Weakened = &r.Drafted.Plan, &r.Drafted.Version, r.Drafted.Changes, List(r.Drafted.Weakened)
	}
	return d
}

// Restored is a document that got the text of a revision.
type Restored struct {
	File     string   `json:"file"`
	Revision Revision `json:"revision"` // that it has the text of
	Was      *int     `json:"was"`      // version of the text that it had; null where there was no file
	Kept     *string  `json:"kept"`     // id of the revision that keeps that text, if it is new
	Changes  string   `json:"changes"`
	Proposal bool     `json:"proposal"` // an unfinished run goes on with another text
}

func RestoredOf(r api.Restored) Restored {
	d := Restored{File: r.Path, Revision: revisionOf(api.Entry{Revision: r.Revision}), Changes: r.Diff.Counts(), Proposal: r.Proposal}
	if r.Was > 0 {
		d.Was = &r.Was
	}
	if r.Kept != nil {
		d.Kept = &r.Kept.Drafted.Plan
	}
	return d
}
