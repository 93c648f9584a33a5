package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/users"
	"github.com/piton-dev/piton/internal/verify"
)

// Uses are the use cases that change something. The owner of the workspace carries
// them out for one person; [Client] sends them to it. A request holds what the
// person said, and nothing that the owner can find out itself.
type Uses interface {
	Run(ctx context.Context, s Saying) (Said, error)
	Approve(ctx context.Context, s Saying) (Said, error)
	Reject(ctx context.Context, s Saying) (Said, error)
	Resume(ctx context.Context, r Resume) (Opened, error)
	Plan(ctx context.Context, p Planning) (Planned, error)
	Redraft(ctx context.Context, r Redrafting) (Planned, error)
	Contract(ctx context.Context, c Contracting) (Planned, error)
	Review(ctx context.Context, r Reviewing) (Planned, error)
	Withdraw(ctx context.Context, w Withdrawal) (Withdrawal, error)
	Order(ctx context.Context, o Order) (Ordered, error)
	Answer(ctx context.Context, a Answer) (Ordered, error)
	Release(ctx context.Context, r Release) (None, error)
	Archive(ctx context.Context, a Archive) (Archived, error)
	Collect(ctx context.Context, c Collect) (Waste, error)
	Restore(ctx context.Context, r Restore) (Restored, error)
	Edit(ctx context.Context, e Edit) (Edited, error)
}

// Caller is who sends a request.
type Caller struct {
	By    string            // the person, as the system knows them
	Dir   string            // where the person is; relative paths start there
	Via   string            // the face they use: "cli", "page"
	Env   []string          // of theirs: its settings come before the files, and work that they start gets it
	Flags map[string]string // settings of this request, by dotted path
	Again time.Time         // when the request was sent first, if its answer was lost
	// User is whom the face let in from elsewhere; nil is the person whose machine it is,
	// who has all rights.
	User *users.User
}

// May refuses what needs a right that the caller does not have.
func (c Caller) May(needs ...users.Right) error {
	if c.User == nil {
		return nil
	}
	i := slices.IndexFunc(needs, func(r users.Right) bool { return !c.User.May(r) })
	if i < 0 {
		return nil
	}
	r := needs[i]
	return &Problem{
		Code: Denied, Message: fmt.Sprintf("%s may not do that: it needs the right %q", c.User.Name, r),
		Hint: "who runs the server gives rights: piton serve token " + c.User.Name + " --may " + string(r),
	}
}

// Saying is what a person says about a plan.
type Saying struct {
	Word     string `json:"word"`              // a path, or what names a run or a plan
	Yes      bool   `json:"yes,omitzero"`      // they approve the plan
	Weaker   bool   `json:"weaker,omitzero"`   // they know that it asks less than before
	Hash     string `json:"hash,omitzero"`     // of what they were shown, or its beginning
	Settings string `json:"settings,omitzero"` // the hash of those it was shown under; "" for any
	Why      string `json:"why,omitzero"`      // their reason, for the journal
	Config   string `json:"config,omitzero"`   // hash of the configuration that the plan's run may go on with
	Unsealed bool   `json:"unsealed,omitzero"` // they allow less isolation than the plan asks for
}

// LeastHash is how much of a hash is taken for a yes to it: less could be that of
// another text, too.
const LeastHash = 12

// ShortHash refuses a hash of which too little is given.
func ShortHash(hash string) error {
	return &Problem{
		Code: Invalid, Message: fmt.Sprintf("the hash %q is too short to say which text is meant", hash),
		Hint: fmt.Sprintf("give at least %d of its digits: piton approve prints them", LeastHash),
	}
}

// Need is what a plan lacks before it can run.
type Need string

const (
	NeedsYes    Need = "yes"     // nobody has approved it
	NeedsWeaker Need = "weaker"  // nobody has confirmed that it asks less than before
	NeedsChange Need = "change"  // somebody rejected this text
	NeedsConfig Need = "config"  // nobody has said that the run may go on under the configuration in force
	NeedsFix    Need = "fix"     // it does not verify
	NeedsOther  Need = "version" // this version of the program cannot run it
)

// Said is what came of it.
type Said struct {
	Path      string           `json:"path"`     // the document, as the person would name it
	Hash      string           `json:"hash"`     // that an approval is bound to
	Findings  []verify.Finding `json:"findings"` // errors and warnings
	Needs     Need             `json:"needs,omitzero"`
	Weaker    []string         `json:"weaker,omitempty"`   // where it asks less than before
	Hazards   []verify.Hazard  `json:"hazards,omitempty"`  // what keeps the policy from saying yes
	Untrusted bool             `json:"untrusted,omitzero"` // the policy would say yes or no, and nobody has approved the configuration it stands in
	Revision  *engine.Revision `json:"revision,omitempty"`
	Already   bool             `json:"already,omitzero"`  // the revision was approved before
	Proposal  bool             `json:"proposal,omitzero"` // the plan's run is unfinished: this is its next revision
	Kept      bool             `json:"kept,omitzero"`     // sub-plans have changed; the run goes on with those it was approved with
	InPlace   string           `json:"in_place,omitzero"` // why the run that was opened works in the person's files, if agents work in it
	Apart     string           `json:"apart,omitzero"`    // what gives the next one a worktree
	Opened    Opened           `json:"opened,omitzero"`
	Before    *engine.HeadRow  `json:"before,omitempty"` // the run that has done this very text already, nil for none
}

// Opened is a run that was opened, or taken up.
type Opened struct {
	Stream  string `json:"stream"` // the task
	Run     string `json:"run"`
	Resumed bool   `json:"resumed,omitzero"` // it is an unfinished run
	For     string `json:"for,omitzero"`     // the run that was named: this one, which it is carried out for, goes on
	After   uint64 `json:"after,omitzero"`   // the newest record that was there before
	Over    bool   `json:"over,omitzero"`    // it has ended, and nothing goes on
	// Retried are steps, by id, that waited because of this machine and are tried again at once.
	Retried []string `json:"retried,omitempty"`
	// Reconfigured is what a person has to say yes to first; nothing was done.
	Reconfigured *Reconfigured `json:"reconfigured,omitempty"`
}

// Resume names a run that is to go on; "" is the newest.
type Resume struct {
	Run    string `json:"run"`
	Land   bool   `json:"land,omitzero"`   // for the merge that it ended without; "" is the newest that waits for it
	Config string `json:"config,omitzero"` // as in [Saying]
}

// Order is a command on a run, or on a step of it.
type Order struct {
	Run  string      `json:"run"`
	Step string      `json:"step,omitzero"`
	Verb engine.Verb `json:"verb"`
	Role string      `json:"role,omitempty"` // force-agent: who is to do the step
	Why  string      `json:"why,omitzero"`
	From bool        `json:"from,omitzero"` // the step and all that need it
}

// Ordered says what an order or an answer was for, and what is true since.
type Ordered struct {
	Run     string         `json:"run"`
	Step    string         `json:"step,omitzero"`
	Item    string         `json:"item,omitzero"`
	Top     engine.HeadRow `json:"top"`     // the run that it is carried out for, or itself, as it is now
	Carried bool           `json:"carried"` // somebody carries that on
	// Reconfigured is as in [Opened].
	Reconfigured *Reconfigured `json:"reconfigured,omitempty"`
}

// Answer is what a person says to an item.
type Answer struct {
	Item   string          `json:"item"`
	Choice string          `json:"choice,omitzero"`
	Text   string          `json:"text,omitzero"`
	Args   json.RawMessage `json:"args,omitempty"`
	Config string          `json:"config,omitzero"` // with a yes to a revision: as in [Saying]
}

// Release stops the effects of a task's run, gently. The run stays open.
type Release struct {
	Stream string `json:"stream"`
	Now    bool   `json:"now,omitzero"` // at once, where it is the only run that is carried
}

// None is an answer that says only that it was done.
type None struct{}

// Archive takes finished runs out of the lists, or puts them back.
type Archive struct {
	Run   string `json:"run,omitzero"`
	Older string `json:"older,omitzero"` // all that ended longer ago
	Back  bool   `json:"back,omitzero"`
}

// Archived names the runs that were changed.
type Archived struct {
	Runs []string `json:"runs"`
}

// Collect removes what finished runs left behind.
type Collect struct {
	Retention string `json:"retention,omitzero"` // instead of the setting
	DryRun    bool   `json:"dry_run,omitzero"`
}

// uses are the use cases by their names on the socket.
var uses = map[string]use{
	"run":      decoded(Saying.opens, Uses.Run),
	"approve":  decoded(always[Saying](users.Approve), Uses.Approve),
	"reject":   decoded(always[Saying](users.Answer), Uses.Reject),
	"resume":   decoded(Resume.right, Uses.Resume),
	"plan":     decoded(Planning.right, Uses.Plan),
	"review":   decoded(Reviewing.right, Uses.Review),
	"redraft":  decoded(Redrafting.right, Uses.Redraft),
	"contract": decoded(Contracting.right, Uses.Contract),
	"withdraw": decoded(always[Withdrawal](users.Run), Uses.Withdraw),
	"order":    decoded(Order.right, Uses.Order),
	"answer":   decoded(Answer.right, Uses.Answer),
	"release":  decoded(always[Release](users.Run), Uses.Release),
	"archive":  decoded(always[Archive](users.Approve), Uses.Archive),
	"gc":       decoded(always[Collect](users.Approve), Uses.Collect),
	"restore":  decoded(always[Restore](users.Run), Uses.Restore),
	"edit":     decoded(always[Edit](users.Run), Uses.Edit),
}

// UseType says what a use case takes and answers.
type UseType struct {
	Name            string
	Request, Answer reflect.Type
}

// UseTypes are all use cases, by name.
func UseTypes() []UseType {
	var all []UseType
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		all = append(all, UseType{name, uses[name].request, uses[name].answer})
	}
	return all
}

// always is for requests that all need the same right.
func always[Q any](r users.Right) func(Q) []users.Right {
	return func(Q) []users.Right { return []users.Right{r} }
}

// consenting are the rights that a request needs which may say yes to something beside what
// it does.
func consenting(yes bool, does users.Right) []users.Right {
	if yes {
		return []users.Right{does, users.Approve}
	}
	return []users.Right{does}
}

// opens are the rights to a run. The hash of a text is a yes to it where a run goes on.
func (s Saying) opens() []users.Right {
	return consenting(s.Yes || s.Hash != "" || s.Weaker || s.Unsealed || s.Config != "", users.Run)
}

func (r Resume) right() []users.Right { return consenting(r.Config != "" || r.Land, users.Run) }

func (c Consent) right() []users.Right { return consenting(c.Yes, users.Run) }

func (o Order) right() []users.Right {
	return consenting(slices.Contains([]engine.Verb{engine.DoWaive, engine.DoVouch, engine.DoLand}, o.Verb), users.Run)
}

// right is what any answer needs. What the item is about may need more.
func (a Answer) right() []users.Right {
	return consenting(a.Config != "" || a.Choice == engine.ChooseWaive || a.Choice == engine.ChooseVouch, users.Answer)
}

// Lets are the rights that an answer to an item needs: one that lets something happen which
// nobody has approved needs more than another one.
func (a Answer) Lets(it engine.ItemRow) []users.Right {
	no := a.Choice == engine.ChooseDeny || a.Choice == engine.ChooseAbort || a.Choice == engine.ChooseSkip
	asksYes := it.Kind != engine.Question && it.Kind != engine.Escalation && it.Kind != engine.Keep
	return consenting(asksYes && !no, users.Answer)
}

// ForAgents is the face by which agents ask for something in a person's name.
const ForAgents = "mcp"

// asked are the use cases of that face. They begin work and end it. What approves,
// answers, or moves on what a person has stopped is none of them, and of a request that
// says yes to anything nothing is done.
var asked = map[string]use{"run": decoded(always[Saying](users.Run), runUnapproved), "order": decoded(always[Order](users.Run), cancelOnly)}

func runUnapproved(u Uses, ctx context.Context, q Saying) (Said, error) {
	if q != (Saying{Word: q.Word}) {
		return Said{}, forPeople("approve a plan")
	}
	return u.Run(ctx, q)
}

func cancelOnly(u Uses, ctx context.Context, q Order) (Ordered, error) {
	if q != (Order{Run: q.Run, Verb: engine.DoCancel, Why: q.Why}) {
		return Ordered{}, forPeople(fmt.Sprintf("say %q to a run", q.Verb))
	}
	return u.Order(ctx, q)
}

func forPeople(what string) error {
	return &Problem{Code: Denied, Message: "an agent cannot " + what, Hint: "only a person can, with piton in their own shell"}
}

// use is a use case with its request and its answer in JSON.
type use struct {
	do              func(ctx context.Context, u func(Caller) Uses, c Caller, request []byte) (answer any, err error)
	request, answer reflect.Type
}

func decoded[Q, A any](right func(Q) []users.Right, do func(Uses, context.Context, Q) (A, error)) use {
	return use{
		request: reflect.TypeFor[Q](), answer: reflect.TypeFor[A](),
		do: func(ctx context.Context, u func(Caller) Uses, c Caller, request []byte) (any, error) {
			var q Q
			if err := understood(request, &q); err != nil {
				return nil, err
			}
			if err := c.May(right(q)...); err != nil {
				return nil, err
			}
			return do(u(c), ctx, q)
		},
	}
}

// understood decodes a request.
func understood(request []byte, q any) error {
	if err := json.Unmarshal(request, q); err != nil {
		return &Problem{Code: Invalid, Message: "the request is not understood: " + err.Error()}
	}
	return nil
}

// Waste is what finished runs left behind: what was removed, or would be.
type Waste struct {
	DryRun      bool      `json:"dry_run"`
	Before      time.Time `json:"before"` // the runs ended before
	Runs        int       `json:"runs"`
	Objects     int       `json:"objects"`
	Logs        int       `json:"logs"`
	Quarantined int       `json:"quarantined"` // attempts whose differences were kept
	Worktrees   int       `json:"worktrees"`   // of steps that came to no good end
	Kept        int       `json:"kept"`        // packs of contents for putting files back
	Bytes       int64     `json:"bytes"`
}
