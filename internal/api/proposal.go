package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/verify"
)

// Proposal is the text of a run's plan document where it is another one than
// the run was approved with. The run goes on with its own until somebody says
// yes to the difference.
type Proposal struct {
	Head engine.HeadRow
	Doc  *Document  // as it stands in the file
	Was  *plan.Plan // as it is pinned
	Old  []byte     // the pinned bytes
	Diff verify.Difference

	Revision int // that it would be

	compiled map[string]Compiled // by revision
}

// Summary says in a line what changed.
func (p *Proposal) Summary() string {
	if p.Doc.Plan == nil || !p.Doc.OK() {
		return "it does not verify now"
	}
	return p.Diff.Counts()
}

// Changed reports whether the plan document of a run is another text now. A file that
// is gone, or no plan any more, is no other text of it.
func (p *Product) Changed(ctx context.Context, head engine.HeadRow) (bool, error) {
	_, source, err := p.changed(ctx, head)
	return source != nil, err
}

// changed is the document of a run and its text, which is nil where that is no other.
func (p *Product) changed(ctx context.Context, head engine.HeadRow) (file string, source []byte, err error) {
	if !revisable(head) {
		return "", nil, nil
	}
	if file, err = p.File(ctx, head); err != nil {
		return "", nil, err
	}
	source, unread := p.readFile(file)
	if unread != nil || store.NewObject(source).Hash == head.Source || !differs(head, Parse(head.Path, source)) {
		return file, nil, nil // the very bytes need no reading: that takes long for a large plan
	}
	return file, source, nil
}

// revisable reports whether a run can go on with another text.
func revisable(head engine.HeadRow) bool {
	return head.Path != "" && head.Parent.Task == "" && (!head.Ended || head.Status == engine.Failed)
}

func differs(head engine.HeadRow, d *Document) bool {
	return d.Plan != nil && d.Plan.Hash() != head.PlanHash
}

// File is where the plan document of a run lies: it may have been moved since.
func (p *Product) File(ctx context.Context, head engine.HeadRow) (string, error) {
	rel, err := p.documentOf(ctx, head)
	return p.file(rel), err
}

// file is where a document of the journal lies.
func (p *Product) file(path string) string {
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Place.Dir, path)
	}
	return path
}

// near is the path of a file as a person would write it here: seen from the
// current directory where both lie in the workspace.
func (p *Product) near(path string) string {
	here, err := filepath.Abs(p.Here)
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil || !p.within(here) || !p.within(path) {
		return path
	}
	rel, err := filepath.Rel(here, path)
	if err != nil {
		return path
	}
	return rel
}

func (p *Product) within(path string) bool {
	rel, err := filepath.Rel(p.Place.Dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Proposal reads what a run's plan document proposes, nil if it is the text of
// the run, or if somebody said no to this one.
func (p *Product) Proposal(ctx context.Context, head engine.HeadRow) (*Proposal, error) {
	file, source, err := p.changed(ctx, head)
	if err != nil || source == nil {
		return nil, err
	}
	return p.proposal(ctx, head, func(k kin) *Document { return p.verify(ctx, p.near(file), source, k) })
}

// ProposalOf is what a document proposes for the newest run of its plan; nil for
// nothing.
func (p *Product) ProposalOf(ctx context.Context, d *Document) (*Proposal, error) {
	head, err := p.runOf(ctx, d)
	if err != nil || !revisable(head) || !differs(head, d) {
		return nil, err
	}
	return p.proposal(ctx, head, func(k kin) *Document {
		if len(k.pinned) == 0 {
			return d
		}
		return p.verify(ctx, d.Path, d.Source, k)
	})
}

// proposal compares a document, read with the sub-plans of the run, with its text.
func (p *Product) proposal(ctx context.Context, head engine.HeadRow, read func(kin) *Document) (*Proposal, error) {
	pinned, err := p.revision(ctx, head.Plan)
	if err != nil || pinned == nil {
		return nil, err
	}
	old, err := p.Store.Object(ctx, pinned.Drafted.Source)
	if err != nil {
		return nil, fmt.Errorf("read the bytes of plan %s: %w", head.Plan, err)
	}
	pins, err := p.pinned(ctx, pinned.Drafted)
	if err != nil {
		return nil, err
	}
	pr := &Proposal{Head: head, Doc: read(kin{pinned: pins}), Old: old, Was: Parse(head.Path, old).Plan}
	r, err := p.newestAt(ctx, head.Path)
	if err != nil {
		return nil, err
	}
	if r != nil {
		pr.Revision = r.Drafted.Version + 1
		if r.Drafted.Hash == pr.Doc.Plan.Hash() {
			pr.Revision = r.Drafted.Version
			if r.Rejected() {
				return nil, nil
			}
		}
	}
	if pr.Was != nil {
		pr.Diff = verify.Diff(pr.Was, pr.Doc.Plan)
	}
	return pr, nil
}

// ProposalFor finds the run that the document at path, or a word that names a
// run, belongs to, and what its plan document proposes for it: nil for nothing.
func (p *Product) ProposalFor(ctx context.Context, word string) (*Proposal, error) {
	head, err := p.RunOf(ctx, word)
	if err != nil || head.Run == "" {
		return nil, err
	}
	return p.Proposal(ctx, head)
}

// RunOf is the newest run of the document at path, or of the plan that word
// names, or the run that it names. No run is no error: the document may be new.
func (p *Product) RunOf(ctx context.Context, word string) (engine.HeadRow, error) {
	if word == "" {
		return p.Find(ctx, "")
	}
	newest, head, err := p.named(ctx, word)
	if err != nil || head.Run != "" || newest == nil {
		return head, err
	}
	return p.newestOf(ctx, newest)
}

// runOf is the newest run of the plan that a document is of.
func (p *Product) runOf(ctx context.Context, d *Document) (engine.HeadRow, error) {
	w, err := p.workspace(ctx)
	if err != nil {
		return engine.HeadRow{}, err
	}
	newest := p.before(w, d)
	if newest == nil {
		return engine.HeadRow{}, nil
	}
	return p.newestOf(ctx, newest)
}

// newestOf is the newest run of the document that a revision is of.
func (p *Product) newestOf(ctx context.Context, newest *engine.Revision) (engine.HeadRow, error) {
	heads, err := p.Store.Heads(ctx, store.HeadFilter{Stream: taskOf(newest.Drafted.Intent), Limit: 1})
	found := head(heads)
	found.Path = newest.Drafted.Path // where the document lies now
	return found, err
}

// CompileRevised compiles the text of a proposal for the run that goes on with it.
func (p *Product) CompileRevised(ctx context.Context, pr *Proposal) (Compiled, error) {
	if pr.Was == nil {
		return Compiled{}, &Problem{
			Code: Conflict, Message: fmt.Sprintf("this version cannot read the approved text of %s, so the changes are not known", pr.Head.Path),
			Hint: "cancel the run with piton cancel, then run the plan again",
		}
	}
	w, err := p.workspace(ctx)
	if err != nil {
		return Compiled{}, err
	}
	id := p.revisionID(w, pr.Doc)
	if c, known := pr.compiled[id]; known {
		return c, nil
	}
	state, err := run.Load(ctx, p.Store, pr.Head.Stream)
	if err != nil {
		return Compiled{}, err
	}
	c, err := p.compile(pr.Doc, id, verify.Options{Revises: &verify.Revised{Plan: pr.Was, Program: state.Program()}})
	if err == nil {
		pr.compiled = map[string]Compiled{id: c}
	}
	return c, err
}

// Propose records a proposal as a revision that waits for approval.
func (p *Product) Propose(ctx context.Context, desk Desk, pr *Proposal) (*engine.Revision, error) {
	return p.record(ctx, desk, pr.Doc, &pr.Diff)
}

// Revise records a yes to a proposal and lets the run go on with it. Whatever
// was interrupted half way is taken up by doing it again.
func (p *Product) Revise(ctx context.Context, desk Desk, pr *Proposal, o Opening) (*engine.Revision, error) {
	state, err := run.Load(ctx, p.Store, pr.Head.Stream)
	if err != nil {
		return nil, err
	}
	now := state.Run()
	if now.Run != pr.Head.Run || now.PlanHash != pr.Head.PlanHash {
		return nil, &Problem{Code: Conflict, Message: fmt.Sprintf("run %s has moved to another text since the difference was shown", pr.Head.Run), Hint: "look at it again"}
	}
	if err := p.Pinned(now); err != nil {
		return nil, err
	}
	r, err := p.Propose(ctx, desk, pr)
	if err != nil {
		return nil, err
	}
	c, err := p.CompileRevised(ctx, pr)
	if err != nil {
		return nil, err
	}
	in, objects, err := p.revising(ctx, now, pr.Head, r.Drafted, c, o)
	if err != nil {
		return nil, err
	}
	if err := p.Judge(ctx, desk, r, true, o.By, o.Why); err != nil {
		return nil, err
	}
	return r, desk.Submit(ctx, pr.Head.Stream, in, objects...)
}

// stale lists the steps of which an attempt was given something that has another
// content now, and those for each file of a glob that matches others now.
func (p *Product) stale(ctx context.Context, head engine.HeadRow, program *engine.Program, o Opening) ([]string, error) {
	given, items := map[string]map[string][]engine.Injected{}, map[string][]json.RawMessage{}
	for r, err := range run.ReadRun(ctx, p.Store, head) {
		if err != nil {
			return nil, err
		}
		switch e := r.Event.(type) {
		case engine.WorkDispatched:
			pattern, _ := engine.InstanceOf(e.Step)
			if given[pattern] == nil {
				given[pattern] = map[string][]engine.Injected{}
			}
			given[pattern][e.Step] = e.Injected
		case engine.StepExpanded:
			items[e.Step] = e.Items
		}
	}
	var stale []string
	for i := range program.Len() {
		s := program.Step(i)
		others, err := o.others(ctx, s, given[s.ID])
		if err != nil {
			return nil, err
		}
		if was, divided := items[s.ID]; divided && s.Each != nil && s.Each.Glob != "" && !others {
			_, apart := program.Landing()
			now, err := o.Items(ctx, head.Run, apart, s.Each)
			// What cannot be told now is told when the step's turn has come.
			others = err != nil || !slices.EqualFunc(was, now, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
		}
		if others {
			stale = append(stale, s.ID)
		}
	}
	return stale, nil
}

// others reports whether the files that attempts of a step, or of its instances, were
// given are others now.
func (o Opening) others(ctx context.Context, s *engine.Step, given map[string][]engine.Injected) (bool, error) {
	if !slices.ContainsFunc(slices.Collect(maps.Values(given)), func(g []engine.Injected) bool { return len(g) > 0 }) {
		return false, nil
	}
	now, err := o.Given(ctx, s.Subscriptions)
	if err != nil {
		return false, err
	}
	for _, was := range given {
		if len(was) > 0 && !slices.Equal(files(was), files(now)) {
			return true, nil
		}
	}
	return false, nil
}

// files are what counts of it: where outputs of steps may be others, what needs them
// is not taken over anyway, and a topic or a memory that changed makes no proof stale.
func files(given []engine.Injected) []engine.Injected {
	return slices.DeleteFunc(slices.Clone(given), func(i engine.Injected) bool { return !strings.HasPrefix(i.Ref, "file:") })
}

// since is what a document differs in from a recorded revision; nil where that
// cannot be read any more.
func (p *Product) since(ctx context.Context, r *engine.Revision, d *Document) *verify.Difference {
	source, err := p.Store.Object(ctx, r.Drafted.Source)
	if err != nil {
		return nil
	}
	was := Parse(r.Drafted.Path, source)
	if was.Plan == nil {
		return nil
	}
	diff := verify.Diff(was.Plan, d.Plan)
	return &diff
}

// lostText stands for what a text that cannot be read any more might have asked.
const lostText = "the approved text cannot be read any more, so it may check less"

// weakened words where a document, or one that it delegates to, asks less than a
// revision, a line each; nothing of none. A sub-plan that the revision did not have is
// one that nobody has said yes to.
func (p *Product) weakened(ctx context.Context, r *engine.Revision, d *Document) []string {
	if r == nil {
		return nil
	}
	diff := p.since(ctx, r, d)
	pins, err := p.pinned(ctx, r.Drafted)
	if diff == nil || err != nil {
		return []string{lostText}
	}
	lines := WeakenedLines(*diff)
	for _, child := range d.Below() {
		source, delegated := pins[child.Rel]
		if !delegated {
			lines = append(lines, told(child)...)
			continue
		}
		was := Parse(child.Rel, source).Plan
		if was == nil {
			lines = append(lines, child.Rel+": "+lostText)
			continue
		}
		for _, weaker := range verify.Weaker(was, child.Plan) {
			lines = append(lines, child.Rel+": "+Weakened(weaker))
		}
	}
	return lines
}

// Limits of what is told of a sub-plan; piton diff shows its text.
const (
	maxTold     = 20  // steps
	maxToldWork = 120 // letters of the work of one
)

// told words a sub-plan for somebody who never saw it: its hash, and what its steps do.
func told(d *Document) []string {
	steps := d.Plan.Steps
	lines := []string{fmt.Sprintf("%s: is a sub-plan that nobody has said yes to (hash %.12s, steps: %d)", d.Rel, d.Plan.Hash(), len(steps))}
	for _, s := range steps[:min(len(steps), maxTold)] {
		work := []rune(strings.Join(strings.Fields(cmp.Or(s.Task.Value, s.Args.Value, s.Ask.Value, s.Title.Value)), " "))
		if len(work) > maxToldWork {
			work = append(work[:maxToldWork-1], '…')
		}
		lines = append(lines, fmt.Sprintf("%s: step %s (%s) is done by %s, mode %s: %s", d.Rel, s.Number, s.ID.Value, verify.Doer(s), s.Mode.Value, string(work)))
	}
	if more := len(steps) - maxTold; more > 0 {
		lines = append(lines, fmt.Sprintf("%s: has %d more steps", d.Rel, more))
	}
	return lines
}

// WeakenedLines words a difference's weakenings, a line each.
func WeakenedLines(d verify.Difference) []string {
	var lines []string
	for _, w := range d.Weaker {
		lines = append(lines, Weakened(w))
	}
	return lines
}

// Weakened words one weakening for people.
func Weakened(w verify.Weakening) string {
	if w.Step == "" {
		return w.Text
	}
	return fmt.Sprintf("step %s (%s): %s", w.Number, w.Step, w.Text)
}

// Entry is one revision of a document in its history.
type Entry struct {
	*engine.Revision
	Runs     []string         // that went on with it
	Taken    []Taken          // what else those went on with
	Branches []engine.HeadRow // those of these that left their work on their branch
}

// Taken is what a person took for what a run goes by while it was carried out.
type Taken struct {
	At time.Time
	engine.RunConfigured
}

// History lists the revisions of the plan that word names, by the path of its document,
// a run or a revision, the oldest first.
func (p *Product) History(ctx context.Context, word string) ([]Entry, error) {
	newest, _, err := p.named(ctx, word)
	if err != nil {
		return nil, err
	}
	if newest == nil {
		return nil, &Problem{Code: NotFound, Message: word + " was never recorded", Hint: "piton approve and piton run record it"}
	}
	used, err := p.used(ctx, taskOf(newest.Drafted.Intent))
	if err != nil {
		return nil, err
	}
	revisions, err := things[engine.Revision](ctx, p, store.ThingFilter{Kind: engine.PlanKept, Of: newest.Drafted.Intent})
	if err != nil {
		return nil, err
	}
	heads, err := p.Store.Heads(ctx, store.HeadFilter{Stream: taskOf(newest.Drafted.Intent)})
	var all []Entry
	for _, r := range revisions {
		e := used[r.Drafted.Plan]
		e.Revision = r
		for _, h := range heads {
			if slices.Contains(e.Runs, h.Run) && (h.Branch.Waits || h.Landed && h.Branch.By != "") {
				e.Branches = append(e.Branches, h)
			}
		}
		all = append(all, e)
	}
	return all, err
}

// used tells by revision what came of it in the runs of a task.
func (p *Product) used(ctx context.Context, stream string) (map[string]Entry, error) {
	used, plans := map[string]Entry{}, map[string]string{}
	marked, err := p.Store.Marked(ctx, store.MarkFilter{Stream: stream})
	for _, m := range marked {
		switch e := m.Event.(type) {
		case engine.RunOpened:
			plans[e.Run] = e.Plan
			u := used[e.Plan]
			u.Runs = append(u.Runs, e.Run)
			used[e.Plan] = u
		case engine.RunConfigured:
			u := used[plans[e.Run]]
			u.Taken = append(u.Taken, Taken{m.At, e})
			used[plans[e.Run]] = u
		}
	}
	return used, err
}

// Text is a text of a plan that can be compared.
type Text struct {
	Name   string
	Source []byte
	Plan   *plan.Plan
	Below  map[string][]byte // the sub-plans that are approved with it, by path; nil of a file
}

// TextOf finds what word names: a file, a run (the text it is carried out on), a
// revision by its id, or one of the revisions of any of them, as in fix.md@2.
func (p *Product) TextOf(ctx context.Context, word string) (Text, error) {
	if source, err := p.readPlan(ctx, word); err == nil {
		return p.text(word, source)
	}
	if IsRevision(word) {
		e, err := p.numbered(ctx, word)
		if err != nil {
			return Text{}, err
		}
		return p.kept(ctx, word, e.Drafted.Plan)
	}
	if head, err := p.Find(ctx, word); err == nil {
		return p.kept(ctx, word, head.Plan)
	}
	r, err := p.Revision(ctx, word)
	if err == nil {
		return p.kept(ctx, r.Drafted.Plan, r.Drafted.Plan)
	}
	if Explain(err).Code == NotFound {
		_, err = p.readPlan(ctx, word)
	}
	return Text{}, err
}

// IsRevision reports whether a word has the form of a revision of what has a name, as in
// fix.md@2 or 7f3a21@2.
func IsRevision(word string) bool {
	name, number, numbered := cutLast(word, "@")
	return numbered && name != "" && number != "" && strings.Trim(number, "0123456789") == ""
}

// numbered is the revision that a word names by its number.
func (p *Product) numbered(ctx context.Context, word string) (Entry, error) {
	name, number, _ := cutLast(word, "@")
	all, err := p.History(ctx, name)
	if err != nil {
		return Entry{}, err
	}
	for _, e := range all {
		if fmt.Sprint(e.Drafted.Version) == number {
			return e, nil
		}
	}
	return Entry{}, &Problem{Code: NotFound, Message: fmt.Sprintf("%s has no revision %s", name, number), Hint: "piton history " + engine.ShellWord(name) + " lists them"}
}

// onRevision is the newest run that goes by the revision which a word names by its
// number, that run itself where the word names one.
func (p *Product) onRevision(ctx context.Context, word string) (engine.HeadRow, error) {
	e, err := p.numbered(ctx, word)
	if err != nil {
		return engine.HeadRow{}, err
	}
	name, number, _ := cutLast(word, "@")
	runs := slices.Clone(e.Runs)
	if head, err := p.Find(ctx, name); err == nil {
		runs = append(runs, head.Run)
	}
	for _, run := range slices.Backward(runs) {
		if head, err := p.Find(ctx, run); err == nil && head.Plan == e.Drafted.Plan {
			return head, nil
		}
	}
	return engine.HeadRow{}, &Problem{Code: NotFound, Message: fmt.Sprintf("no run goes by revision %s of %s", number, name), Hint: "piton show " + engine.ShellWord(word) + " shows its text"}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (p *Product) kept(ctx context.Context, name, planID string) (Text, error) {
	r, err := p.Revision(ctx, planID)
	if err != nil {
		return Text{}, err
	}
	source, err := p.Store.Object(ctx, r.Drafted.Source)
	if err != nil {
		return Text{}, fmt.Errorf("read the bytes of plan %s: %w", planID, err)
	}
	t, err := p.text(name, source)
	if err == nil {
		t.Below, err = p.pinned(ctx, r.Drafted)
	}
	return t, err
}

func (p *Product) text(name string, source []byte) (Text, error) {
	d := Parse(name, source)
	if d.Plan == nil {
		return Text{}, &Problem{Code: Invalid, Message: name + " is no plan", Hint: "piton verify " + engine.ShellWord(name) + " says why"}
	}
	return Text{Name: name, Source: source, Plan: d.Plan}, nil
}
