package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
	"github.com/piton-dev/piton/internal/probe"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/verify"
)

// Document is a plan as it stands in a file now, with what the verifier says.
type Document struct {
	Path     string // as the author named it
	Rel      string // relative to the workspace, with slashes: the document's name in the journal
	Source   []byte
	Form     form.Document  // the plan with what its form holds beside it
	Plan     *plan.Plan     // nil if the bytes are refused altogether
	Problems []plan.Problem // of the parser
	Facts    verify.Facts
	unknown  error // why there are no facts
	analysis *verify.Analysis
	Findings []verify.Finding

	kin    map[string]*Document // documents that it, and each of these, delegates to, by path in the workspace
	judged bool

	compiled map[string]Compiled // by revision
}

// OK reports whether nothing keeps the plan from running.
func (d *Document) OK() bool { return d.Plan != nil && !verify.HasErrors(d.Findings) }

// Runnable reports whether this version can carry the plan out, as far as the
// document itself tells.
func (d *Document) Runnable() bool {
	return d.Plan != nil && !slices.ContainsFunc(d.Findings, verify.Finding.Stops)
}

// Serious leaves out notes, which verify shows.
func Serious(all []verify.Finding) []verify.Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f verify.Finding) bool { return f.Severity == verify.Note })
}

// counts says how many errors and warnings there are.
func (d *Document) counts() (errs, warnings int) {
	for _, f := range d.Findings {
		switch f.Severity {
		case verify.Error:
			errs++
		case verify.Warning:
			warnings++
		}
	}
	return errs, warnings
}

// Named is Read for a word that may also be the id of a plan. It knows when a run was
// given in its place.
func (p *Product) Named(ctx context.Context, path string) (*Document, error) {
	doc, err := p.Read(ctx, path)
	if err == nil || Explain(err).Code != NotFound {
		return doc, err
	}
	if recorded, other := p.ReadAs(ctx, path); other == nil || Explain(other).Code != NotFound {
		return recorded, other
	}
	if head, other := p.Find(ctx, path); other == nil {
		err = &Problem{
			Code: NotFound, Message: fmt.Sprintf("%s is the id of a run of %q; this needs the file of a plan", path, head.Title),
			Hint: fmt.Sprintf("piton resume %s continues the run, piton show %s shows its plan", head.Run, head.Run),
		}
		return nil, err
	}
	return nil, p.gone(ctx, path, err)
}

// gone says of a file that is not there that the journal has its text; else it is err.
func (p *Product) gone(ctx context.Context, word string, err error) error {
	r, _, other := p.named(ctx, word)
	if other != nil || r == nil || r.Drafted.Path == "" {
		return err
	}
	path := p.near(p.file(r.Drafted.Path))
	gone := &Problem{
		Code: NotFound, Message: path + " is gone: the journal has its text",
		Hint: fmt.Sprintf("piton plan undo %s brings it back", engine.ShellWord(path)),
	}
	if waits, other := p.Left(ctx, word); other == nil && waits != nil {
		gone.Message += ", which waits for approval"
		gone.Hint += fmt.Sprintf("; piton reject %s takes it out of the inbox", engine.ShellWord(path))
	}
	return gone
}

// Left is the revision that waits for a yes or no, of the plan that a word names by the
// path of its document, or by its id; nil for none.
func (p *Product) Left(ctx context.Context, word string) (*engine.Revision, error) {
	newest, _, err := p.named(ctx, word)
	if err != nil || newest == nil {
		return nil, err
	}
	open, err := p.Proposals(ctx)
	for _, r := range open {
		if r.Drafted.Intent == newest.Drafted.Intent {
			return r, nil
		}
	}
	return nil, err
}

// Read reads and verifies the plan at path.
func (p *Product) Read(ctx context.Context, path string) (*Document, error) {
	source, err := p.readPlan(ctx, path)
	if err != nil {
		return nil, err
	}
	d := p.Verify(ctx, path, source)
	return d, d.unknown
}

// Parse reads the bytes of a plan in any form, and says only what they show to
// be wrong: nothing of the workspace is looked at. The path is for messages.
func Parse(path string, source []byte) *Document {
	d := &Document{Path: path, Source: source}
	d.Form, d.Problems = form.Read(path, source)
	d.Plan = d.Form.Plan
	d.Findings = verify.Check(nil, d.Problems, verify.Facts{})
	for i := range d.Findings {
		d.Findings[i].File = path
	}
	return d
}

// Verify verifies the bytes of a plan whose name is path.
func (p *Product) Verify(ctx context.Context, path string, source []byte) *Document {
	return p.verify(ctx, path, source, kin{})
}

// look reads the bytes of a plan and looks up what rules want to know for it.
func (p *Product) look(ctx context.Context, path string, source []byte) *Document {
	d := &Document{Path: path, Rel: p.relative(path), Source: source}
	d.Form, d.Problems = form.Read(path, source)
	d.Plan = d.Form.Plan
	if d.Plan != nil {
		env := p.probeEnv()
		d.analysis, d.Facts = verify.Study(d.Plan, d.Problems, func(q verify.Queries) (f verify.Facts) {
			if p.Files == nil {
				return probe.Answer(ctx, q, env)
			}
			f, d.unknown = p.Files.Facts(ctx, d.Rel, source)
			return f
		})
	}
	return d
}

// Where says where a run of the document works, if the plan itself does not; "" where that
// makes no difference.
func (d *Document) Where() string {
	if d.analysis == nil {
		return ""
	}
	return d.analysis.Where()
}

// InPlace is [verify.Analysis.InPlace].
func (d *Document) InPlace() (why, hint string) {
	if d.analysis == nil {
		return "", ""
	}
	return d.analysis.InPlace()
}

// check gives the document the findings of the rules.
func (d *Document) check() {
	if d.analysis == nil {
		d.analysis = verify.Analyse(d.Plan, d.Problems, d.Facts)
	}
	d.Findings = d.analysis.Check(d.Facts)
	for i := range d.Findings {
		d.Findings[i].File = d.Path // also where the bytes were refused before there was a plan with a name
	}
}

func (p *Product) probeEnv() probe.Env {
	return probe.Env{Workspace: p.Place.Dir, Environ: p.Env, Config: p.Config}
}

// Missing names, by role, the programs of agents that are not on this machine.
func (p *Product) Missing(ctx context.Context) map[string]string {
	missing := map[string]string{}
	for role, a := range probe.Answer(ctx, verify.Queries{}, p.probeEnv()).Agents {
		if a.Missing != "" {
			missing[role] = a.Missing
		}
	}
	return missing
}

// ReadAs reads the document of the revision that word names, as long as the file
// still has the text of that revision.
func (p *Product) ReadAs(ctx context.Context, word string) (*Document, error) {
	r, err := p.Revision(ctx, word)
	if err != nil {
		return nil, err
	}
	if r.Drafted.Path == "" {
		return nil, fileless(r)
	}
	path := p.near(p.file(r.Drafted.Path))
	d, err := p.Read(ctx, path)
	if err == nil && (d.Plan == nil || d.Plan.Hash() != r.Drafted.Hash) {
		err = &Problem{
			Code: Conflict, Message: fmt.Sprintf("%s differs from %s", path, r.Drafted.Plan),
			Hint: fmt.Sprintf("give the file to use its text; piton diff %s %s shows the difference", r.Drafted.Plan, engine.ShellWord(path)),
		}
	}
	return d, err
}

// fileless is the problem of a plan that was made and only printed.
func fileless(r *engine.Revision) *Problem {
	return &Problem{
		Code: Conflict, Message: r.Drafted.Plan + " has no file yet: it was only printed when it was made",
		Hint: fmt.Sprintf("piton export %s --to md -o FILE writes it to a file; name that file instead", r.Drafted.Plan),
	}
}

// Marked reports whether the document at path, which has changed, is that of a plan
// and differs only in the marks that the owner made, or has the text that a person
// said yes to last.
func (p *Product) Marked(ctx context.Context, path string, was, is []byte) bool {
	w, err := p.workspace(ctx)
	if err != nil {
		return false
	}
	r, ok := w.Newest(path)
	if !ok {
		return false
	}
	now := Parse(path, is).Plan
	if now == nil {
		return false
	}
	if before := Parse(path, was).Plan; before != nil && before.Hash() == now.Hash() {
		return p.markedByOwner(ctx, r, now, is)
	}
	yes := agreed(w, r)
	return yes != nil && yes.Drafted.Hash == now.Hash()
}

func (p *Product) markedByOwner(ctx context.Context, r *engine.Revision, now *plan.Plan, is []byte) bool {
	heads, err := p.Store.Heads(ctx, store.HeadFilter{Stream: taskOf(r.Drafted.Intent), Limit: 1})
	if err != nil || len(heads) == 0 || heads[0].PlanHash != now.Hash() {
		return false
	}
	steps, err := p.Store.Steps(ctx, store.StepFilter{Stream: heads[0].Stream, Run: heads[0].Run})
	return err == nil && project.Marked(is, now, heads[0], steps)
}

// readFile reads a document where it lies.
func (p *Product) readFile(file string) ([]byte, error) {
	if p.Files != nil {
		return p.Files.Read(p.relative(file))
	}
	if p.Guest {
		return p.guestRead(file)
	}
	return ReadPlan(file, file)
}

// IsPlan reports whether a word of the person is the path of a file that can be read.
func (p *Product) IsPlan(ctx context.Context, word string) bool {
	_, err := p.readPlan(ctx, word)
	return err == nil
}

// readPlan is [ReadPlan] for a path that the person gave.
func (p *Product) readPlan(ctx context.Context, path string) (body []byte, err error) {
	if p.Files != nil {
		return p.Files.Read(path)
	}
	switch {
	case p.Guest:
		if body, err = p.guestRead(path); err == nil {
			err = p.admits(ctx, path)
		}
	case path == "-":
		return ReadPlan(path, path)
	case project.Written(p.relative(path)):
		return nil, &Problem{
			Code: Invalid, Message: path + " only shows what a run has made of its plan: Piton writes it and never reads it",
			Hint: "give the plan's own document; piton import " + engine.ShellWord(path) + " makes a new plan of it",
		}
	default:
		body, err = ReadPlan(path, p.at(path))
	}
	if problem, ok := errors.AsType[*Problem](err); ok && problem.Code == NotFound {
		problem.Hint = cmp.Or(p.similar(path), p.others())
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}

// similar is a hint that names the plan document whose name is closest to a path that leads
// nowhere: in its directory, or in plans; "" is none.
func (p *Product) similar(path string) string {
	stem := func(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }
	var stems []string
	paths := map[string]string{}
	for _, dir := range []string{filepath.Dir(path), "plans"} {
		entries, _ := os.ReadDir(p.at(dir)) // what cannot be read has no names
		for _, e := range entries[:min(len(entries), maxSimilar)] {
			if name := stem(e.Name()); e.Type().IsRegular() && paths[name] == "" && plan.DocumentName(e.Name()) {
				stems, paths[name] = append(stems, name), filepath.Join(dir, e.Name())
			}
		}
	}
	near := plan.Nearest(stem(filepath.Base(path)), stems)
	for name, is := range paths {
		if near == fmt.Sprintf("did you mean %q?", name) {
			return fmt.Sprintf("did you mean %s?", is)
		}
	}
	return ""
}

// others is a hint for somebody who named a plan that is not there.
func (p *Product) others() string {
	const most = 3
	switch files := p.PlanFiles(); {
	case len(files) == 0:
		return "there is no plan yet: piton plan \"what you want\" has an agent make one, piton new \"what you want\" begins one"
	case len(files) > most:
		return fmt.Sprintf("%d plans are in %s, such as %s", len(files), PlansDir, strings.Join(files[:most], ", "))
	default:
		return "there is " + strings.Join(files, ", ")
	}
}

// maxSimilar is how many files of a directory are looked at for a name that was meant.
const maxSimilar = 1000

// at is where a path of the person leads.
func (p *Product) at(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Here, path)
}

// ReadPlan reads the bytes of the plan in a file, one more than a plan may have at the most.
// Its errors are problems that call it path.
func ReadPlan(path, file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil && path == "-":
		return nil, &Problem{Code: Invalid, Message: "this verb does not read standard input: plans are recorded by file name", Hint: "save the plan to a file; only piton verify - reads standard input"}
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Problem{Code: NotFound, Message: path + ": there is no such file"}
	case err != nil:
		return nil, unreadable(path, err)
	case info.IsDir():
		return nil, &Problem{Code: Invalid, Message: path + " is a directory", Hint: "give the path of a plan document in it"}
	case !info.Mode().IsRegular():
		return nil, &Problem{Code: Invalid, Message: path + " is not a regular file"}
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	source, err := io.ReadAll(io.LimitReader(f, plan.MaxBytes+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	return source, nil
}

func unreadable(path string, err error) *Problem {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err // the path is said already
	}
	p := &Problem{Code: Invalid, Message: fmt.Sprintf("%s cannot be read: %v", path, err)}
	if errors.Is(err, fs.ErrPermission) {
		p.Hint = "make it readable: chmod u+r " + path
	}
	return p
}

// relative names the document within the workspace, or by its whole path.
func (p *Product) relative(path string) string {
	abs, err := filepath.Abs(p.at(path))
	if err != nil {
		return filepath.ToSlash(path)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	} else if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(dir, filepath.Base(abs)) // the file is gone
	}
	if rel, err := filepath.Rel(p.Place.Dir, abs); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(abs)
}

// Draft records the document as a revision, unless its newest one has these
// bytes. Only documents without errors are recorded.
func (p *Product) Draft(ctx context.Context, desk Desk, d *Document) (*engine.Revision, error) {
	return again(func() (*engine.Revision, error) { return p.record(ctx, desk, d, nil) })
}

// races is how often somebody else may be quicker before a conflict is believed.
const races = 4

// again asks anew where the facts changed between the look at the journal and
// the desk: another process drafted or opened the same plan meanwhile.
func again[T any](ask func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		got, err := ask()
		if err == nil || n == races || Explain(err).Code != Conflict {
			return got, err
		}
	}
}

// record does so with what the document differs in from the text that it would
// take the place of: from the revision before it, where since is nil.
func (p *Product) record(ctx context.Context, desk Desk, d *Document, since *verify.Difference) (*engine.Revision, error) {
	w, err := p.workspace(ctx)
	if err != nil {
		return nil, err
	}
	newest := p.before(w, d)
	if r := recorded(w, d); r != nil {
		return r, p.Filed(ctx, desk, r)
	}
	in, objects, err := p.draft(ctx, w, newest, d)
	if err != nil {
		return nil, err
	}
	switch {
	case since != nil:
		in.Changes, in.Weakened = since.Counts(), WeakenedLines(*since)
	case newest != nil:
		if changed := p.since(ctx, newest, d); changed != nil {
			in.Changes = changed.Counts()
		}
		if in.Weakened, err = p.weaker(ctx, w, newest, d); err != nil {
			return nil, err
		}
	}
	if newest != nil && newest.Drafted.Path != d.Rel && newest.Drafted.Path != "" {
		in.Changes = "moved from " + newest.Drafted.Path + ", " + in.Changes
	}
	if err := desk.Submit(ctx, engine.WorkspaceStream, in, objects...); err != nil {
		return nil, err
	}
	return &engine.Revision{Drafted: in.PlanDrafted, Verified: in.Verified, At: p.Now()}, nil
}

// Filed records that the document of a revision has its text, unless that is known.
func (p *Product) Filed(ctx context.Context, desk Desk, r *engine.Revision) error {
	w, err := p.workspace(ctx)
	if err != nil {
		return err
	}
	if has, ok := w.InFile(r.Drafted.Intent); ok && has.Drafted.Plan == r.Drafted.Plan {
		return nil
	}
	return desk.Submit(ctx, engine.WorkspaceStream, engine.Filed{PlanFiled: engine.PlanFiled{Plan: r.Drafted.Plan, By: p.By}})
}

// CompileNext is Compile for the revision that the document is, or becomes when it
// is recorded.
func (p *Product) CompileNext(ctx context.Context, d *Document) (Compiled, error) {
	w, err := p.workspace(ctx)
	if err != nil {
		return Compiled{}, err
	}
	return p.Compile(d, p.revisionID(w, d))
}

// revisionID is the id of the revision that the document is, or becomes.
func (p *Product) revisionID(w *engine.Workspace, d *Document) string {
	if r := recorded(w, d); r != nil {
		return r.Drafted.Plan
	}
	id, _ := p.nextID(w, p.before(w, d), d)
	return id
}

// Weakens says where the document proves or guards less than the newest text of
// it that somebody said yes to.
func (p *Product) Weakens(ctx context.Context, d *Document) ([]string, error) {
	w, err := p.workspace(ctx)
	if err != nil {
		return nil, err
	}
	if r := recorded(w, d); r != nil {
		return r.Drafted.Weakened, nil
	}
	return p.weaker(ctx, w, p.before(w, d), d)
}

// weaker says where the document asks less than the newest text that somebody said
// yes to. Where the run of that was cancelled, nothing holds by it any more.
func (p *Product) weaker(ctx context.Context, w *engine.Workspace, newest *engine.Revision, d *Document) ([]string, error) {
	was := agreed(w, newest)
	if was == nil {
		return nil, nil
	}
	head, err := p.newestOf(ctx, was)
	if err != nil || head.Status == engine.Cancelled {
		return nil, err
	}
	return p.weakened(ctx, was, d), nil
}

// agreed is the newest revision that somebody said yes to, from r on backwards;
// nil for none. What was only drafted since is nothing to compare with: it may
// ask less already.
func agreed(w *engine.Workspace, r *engine.Revision) *engine.Revision {
	for r != nil && (r.Answer == nil || !r.Answer.Yes) {
		r, _ = w.Revision(r.Drafted.Previous)
	}
	return r
}

// Recorded is the newest revision of the document, if it has these bytes and may
// be approved; nil otherwise.
func (p *Product) Recorded(ctx context.Context, d *Document) (*engine.Revision, error) {
	w, err := p.workspace(ctx)
	if err != nil {
		return nil, err
	}
	return recorded(w, d), nil
}

// recorded is the newest revision of the document, or the newest that somebody
// said yes to, if it has these bytes. One that was moved is not recorded yet.
func recorded(w *engine.Workspace, d *Document) *engine.Revision {
	for r, ok := w.Newest(d.Rel); ok; r, ok = w.Revision(r.Drafted.Previous) {
		if r.Drafted.Covers() == d.Covers() && r.Verified.OK {
			return r
		}
		if r.Answer != nil && r.Answer.Yes {
			return nil
		}
	}
	return nil
}

func (p *Product) draft(ctx context.Context, w *engine.Workspace, newest *engine.Revision, d *Document) (engine.Draft, []store.Object, error) {
	findings, err := json.Marshal(d.Findings)
	if err != nil {
		return engine.Draft{}, nil, fmt.Errorf("encode findings: %w", err)
	}
	source, found := store.NewObject(d.Source), store.NewObject(findings)
	errs, warnings := d.counts()
	in := engine.Draft{
		PlanDrafted: engine.PlanDrafted{
			Path: d.Rel, Title: d.Plan.Title.Value, Source: source.Hash, Hash: d.Plan.Hash(), Children: d.pins(), Detected: d.detected(), By: p.By,
			Memories: memories(d.Plan),
		},
		Verified: engine.PlanVerified{OK: d.OK(), Errors: errs, Warnings: warnings, Findings: found.Hash},
	}
	if newest != nil {
		in.Previous, in.PlanDrafted.Intent = newest.Drafted.Plan, newest.Drafted.Intent
	} else {
		id, err := p.NewRun(ctx)
		if err != nil {
			return engine.Draft{}, nil, err
		}
		in.Intent = &engine.IntentOpened{ID: "i-" + id, Prompt: d.Plan.Title.Value, Path: d.Rel}
		in.PlanDrafted.Intent = in.Intent.ID
	}
	in.Plan, in.Version = p.nextID(w, newest, d)
	return in, append(d.sources(), source, found), nil
}

func taken(w *engine.Workspace, id string) bool {
	_, ok := w.Revision(id)
	return ok
}

// nextID is the id and the version of the revision that follows newest: of the first
// one plan-YYYYMMDD-slug, with a number where that is taken.
func (p *Product) nextID(w *engine.Workspace, newest *engine.Revision, d *Document) (string, int) {
	base, number, version := planIDs+p.Now().UTC().Format("20060102")+"-"+plan.Slug(d.Plan.Title.Value), "-%d", 1
	id := base
	if newest != nil {
		version = newest.Drafted.Version + 1
		base, number = strings.TrimSuffix(newest.Drafted.Plan, fmt.Sprintf("-v%d", newest.Drafted.Version)), "-v%d"
		id = base + fmt.Sprintf(number, version)
	}
	for n := version + 1; taken(w, id); n++ {
		id = base + fmt.Sprintf(number, n)
		if newest != nil {
			version = n
		}
	}
	return id, version
}

// Settings is the hash of the configuration in force.
func (p *Product) Settings() string {
	if p.InForce != "" {
		return p.InForce
	}
	return config.Hash(p.Config)
}

// Judge records a yes or no to a revision, bound to its bytes and to the
// configuration in force.
func (p *Product) Judge(ctx context.Context, desk Desk, r *engine.Revision, yes bool, by, why string) error {
	return desk.Submit(ctx, engine.WorkspaceStream, engine.Judgement{PlanAnswered: p.Judgement(r, yes, by, why)})
}

// Judgement is a yes or no to a revision as [Product.Judge] records it.
func (p *Product) Judgement(r *engine.Revision, yes bool, by, why string) engine.PlanAnswered {
	return engine.PlanAnswered{
		Plan: r.Drafted.Plan, Hash: r.Drafted.Covers(), Config: p.Settings(), Yes: yes, By: by, Via: p.Via, Why: why,
	}
}

// Approved reports whether the revision may run now.
func (p *Product) Approved(r *engine.Revision) bool {
	return r.Approved(p.Settings(), p.Now())
}

// Proposals lists the revisions that wait for a yes or no, by document: only
// the newest of each counts.
func (p *Product) Proposals(ctx context.Context) ([]*engine.Revision, error) {
	return things[engine.Revision](ctx, p, store.ThingFilter{Kind: engine.PlanKept, Open: true})
}

// Unrun lists the plans of which nothing was run yet, the oldest first: of each
// document the newest text. It waits for approval, or has one.
func (p *Product) Unrun(ctx context.Context) ([]*engine.Revision, error) {
	w, err := p.workspace(ctx)
	if err != nil {
		return nil, err
	}
	var newest []*engine.Revision
	for r := range w.Revisions {
		if n, _ := w.Newest(r.Drafted.Path); n == r && r.Drafted.Parent == "" {
			newest = append(newest, r)
		}
	}
	return p.neverRan(ctx, newest)
}

// UnrunProposals are those of the [Product.Proposals] of which nothing was run
// yet. Unlike Unrun it reads nothing of the past.
func (p *Product) UnrunProposals(ctx context.Context) ([]*engine.Revision, error) {
	open, err := p.Proposals(ctx)
	if err != nil {
		return nil, err
	}
	return p.neverRan(ctx, open)
}

func (p *Product) neverRan(ctx context.Context, plans []*engine.Revision) (unrun []*engine.Revision, err error) {
	for _, r := range plans {
		ran, err := p.Store.Heads(ctx, store.HeadFilter{Stream: taskOf(r.Drafted.Intent), Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(ran) == 0 {
			unrun = append(unrun, r)
		}
	}
	return unrun, nil
}

// planIDs is how the id of every plan begins.
const planIDs = "plan-"

// Revision finds a revision by its id, or else the newest text of the only plan
// whose ids begin with the word.
func (p *Product) Revision(ctx context.Context, word string) (*engine.Revision, error) {
	if r, err := p.revision(ctx, word); err != nil || r != nil {
		return r, err
	}
	if IsRevision(word) {
		e, err := p.numbered(ctx, word)
		return e.Revision, err
	}
	var like []*engine.Revision
	var err error
	if strings.HasPrefix(word, planIDs) {
		like, err = things[engine.Revision](ctx, p, store.ThingFilter{Kind: engine.PlanKept, Prefix: word})
	}
	if err != nil {
		return nil, err
	}
	var found *engine.Revision
	for _, r := range like {
		if found != nil && found.Drafted.Intent != r.Drafted.Intent {
			return nil, &Problem{
				Code: Invalid, Message: fmt.Sprintf("more than one plan begins with %q: %s, %s", word, found.Drafted.Plan, r.Drafted.Plan),
				Hint: "give more of the id",
			}
		}
		found = r
	}
	if found == nil {
		return nil, &Problem{Code: NotFound, Message: "no plan " + word, Hint: "piton list shows the runs of this workspace"}
	}
	return found, nil
}

// Document is the path of the file that a revision was read from.
func (p *Product) Document(ctx context.Context, plan string) (string, error) {
	r, err := p.Revision(ctx, plan)
	if err != nil {
		return "", err
	}
	return p.file(r.Drafted.Path), nil
}

// Kept reads a revision as it was recorded, by its id or the beginning of it. Its document verifies
// as it would today.
func (p *Product) Kept(ctx context.Context, plan string) (*engine.Revision, *Document, error) {
	r, err := p.Revision(ctx, plan)
	if err != nil {
		return nil, nil, err
	}
	source, err := p.Store.Object(ctx, r.Drafted.Source)
	if err != nil {
		return nil, nil, fmt.Errorf("read the bytes of plan %s: %w", plan, err)
	}
	pins, err := p.pinned(ctx, r.Drafted)
	if err != nil {
		return nil, nil, err
	}
	return r, p.verify(ctx, r.Drafted.Path, source, kin{pinned: pins}), nil
}

// memories are those that the document says informed it.
func memories(p *plan.Plan) (names []string) {
	for _, m := range p.Memories.Value {
		names = append(names, m.Value)
	}
	return names
}
