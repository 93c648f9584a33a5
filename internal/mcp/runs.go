package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/view"
)

// run begins a run of a plan, and leaves it to the owner. Whatever a person has to say yes to
// first is named, and nothing is started.
func run(ctx context.Context, w *Workspace, _ *mcp.CallToolRequest, in planIn) (any, error) {
	rel, err := within(w, in.Plan)
	if err != nil {
		return nil, err
	}
	said, err := w.Client.Run(ctx, api.Saying{Word: filepath.Join(w.Product.Place.Dir, rel)})
	if err != nil {
		return nil, err
	}
	if why := needs(said, rel); why != nil {
		return why, nil
	}
	head, err := w.Find(ctx, said.Opened.Run)
	if err != nil {
		return nil, err
	}
	goesOn := !head.Ended && head.Status != paused
	if goesOn {
		if err := w.Client.HandOver(ctx, said.Opened.Stream, api.Leave); err != nil {
			return nil, err
		}
	}
	st, err := standing(ctx, w, head.Run)
	if err != nil {
		return nil, err
	}
	b := begun{Started: goesOn, Resumed: said.Opened.Resumed, stood: st}
	if goesOn {
		b.Next = "run_status with wait_seconds"
	} else {
		b.Person = "piton resume " + st.Run
	}
	return b, nil
}

// paused is the status of a run that a person has stopped for a while.
const paused = "paused"

// begun is a run that goes on.
type begun struct {
	Started bool `json:"started"`
	Resumed bool `json:"resumed,omitzero"` // it was unfinished
	stood
	Next string `json:"next,omitempty"`
}

// unstarted is why a run is not begun.
type unstarted struct {
	Started  bool     `json:"started"`
	Needs    string   `json:"needs"`
	Why      string   `json:"why"`
	Person   string   `json:"for_person,omitempty"` // the command by which a person can say yes
	Findings []string `json:"findings,omitempty"`
	Weaker   []string `json:"weaker,omitempty"`
	Hazards  []string `json:"hazards,omitempty"`
}

// needs says what a plan lacks before it can run, nil for nothing.
func needs(said api.Said, file string) *unstarted {
	if r := said.Opened.Reconfigured; r != nil {
		changes := slices.Clone(r.Changes)
		for _, f := range r.Files {
			changes = append(changes, f.Path+" "+f.What)
		}
		return &unstarted{
			Needs: string(api.NeedsConfig), Why: "the configuration, or a file that judges the work, has changed since the run was approved, and a person must approve the change",
			Person: "piton resume " + r.Run, Hazards: lines(changes, func(s string) string { return s }),
		}
	}
	if said.Needs == "" {
		return nil
	}
	u := unstarted{Needs: string(said.Needs), Weaker: lines(said.Weaker, func(s string) string { return s })}
	for _, h := range said.Hazards {
		u.Hazards = append(u.Hazards, cut(h.String(), maxLine))
	}
	u.Hazards, _ = few(u.Hazards, maxFindings)
	u.Person = view.Approving(file)
	switch said.Needs {
	case api.NeedsFix, api.NeedsOther:
		u.Why, u.Person = "the plan cannot run; correct it: plan_verify "+file+" lists what is wrong", ""
	case api.NeedsWeaker:
		u.Why = "the plan proves or guards less than before, and a person must confirm this"
		u.Person += " --weaker"
	case api.NeedsChange:
		u.Why = "a person rejected this text: change it, or ask them"
	default:
		u.Why = "the plan waits for a person's approval; call plan_run again afterwards"
	}
	for _, f := range said.Findings {
		u.Findings = append(u.Findings, cut(f.String(), maxLine))
	}
	u.Findings, _ = few(u.Findings, maxFindings)
	return &u
}

// lines are the first of a list of texts, each in a line.
func lines[T any](all []T, text func(T) string) (some []string) {
	first, more := few(all, maxFindings)
	for _, one := range first {
		some = append(some, cut(text(one), maxLine))
	}
	if more > 0 {
		some = append(some, fmt.Sprintf("… %d more", more))
	}
	return some
}

type statusIn struct {
	Run  string `json:"run,omitempty" jsonschema:"id of the run; the newest if left out"`
	Wait int    `json:"wait_seconds,omitempty" jsonschema:"wait up to 60 seconds until the run ends, or until what it asks of a person changes"`
}

// maxWait is how long a call waits at most, in seconds: clients give up on calls.
const maxWait = 60

func status(ctx context.Context, w *Workspace, q *mcp.CallToolRequest, in statusIn) (any, error) {
	if err := id("the run", in.Run); err != nil {
		return nil, err
	}
	if in.Wait < 0 || in.Wait > maxWait {
		return nil, refused("call run_status again to go on waiting", "wait_seconds is %d, not 0 to %d", in.Wait, maxWait)
	}
	st, err := standing(ctx, w, in.Run)
	if err != nil || in.Wait == 0 || st.over() {
		return st, err
	}
	if err := await(ctx, w, st, time.Duration(in.Wait)*time.Second, progress(q)); err != nil {
		return nil, err
	}
	return standing(ctx, w, st.Run)
}

// errNews ends a wait.
var errNews = errors.New("there is something to say")

// await returns when the run has ended, when what is asked of people has changed, when nobody
// carries the run on, or after some time.
func await(ctx context.Context, w *Workspace, was stood, most time.Duration, tell func(done, of int)) error {
	waits, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	told := -1
	err := w.Client.Watch(waits, was.stream, func() error {
		head, err := w.Find(waits, was.Run)
		if err != nil {
			return err
		}
		asks, err := w.Stands(waits)
		if err != nil {
			return err
		}
		if asks.Open(head) != was.Waiting || head.Ended || head.Status == paused {
			return errNews
		}
		if head.Settled != told {
			told = head.Settled
			tell(head.Settled, head.Total)
		}
		return nil
	})
	if errors.Is(err, errNews) || api.ErrGone(err) || waits.Err() != nil && ctx.Err() == nil {
		err = nil
	}
	return err
}

// progress tells the client how far a run is, if it wants to be told.
func progress(q *mcp.CallToolRequest) func(done, of int) {
	token := q.Params.GetProgressToken()
	if token == nil {
		return func(int, int) {}
	}
	return func(done, of int) {
		q.Session.NotifyProgress(context.Background(), &mcp.ProgressNotificationParams{ //nolint:errcheck // who is gone is told nothing
			ProgressToken: token, Progress: float64(done), Total: float64(of), Message: fmt.Sprintf("%d of %d steps", done, of),
		})
	}
}

// stood is how a run stands, in few words.
type stood struct {
	Run       string  `json:"run"`
	Plan      string  `json:"plan"`
	Title     string  `json:"title"`
	Status    string  `json:"status"`
	Reason    string  `json:"reason,omitempty"`
	Satisfied int     `json:"satisfied"`
	Total     int     `json:"total"`
	Proven    int     `json:"proven"`
	Unproven  int     `json:"unproven,omitzero"`
	Waiting   int     `json:"waiting,omitzero"`
	Steps     []step  `json:"steps"`
	More      int     `json:"more_steps,omitzero"`
	Items     []asked `json:"waits_for_person,omitempty"`
	Person    string  `json:"for_person,omitempty"` // a command that goes on from here
	stream    string
	ended     bool
	carried   bool
}

// over reports whether there is nothing to wait for.
func (s stood) over() bool { return s.ended || !s.carried }

type step struct {
	ID       string `json:"id"`
	Number   string `json:"number"`
	Title    string `json:"title"`
	Status   string `json:"status"`
	Reason   string `json:"reason,omitempty"`
	Attempts int    `json:"attempts,omitzero"`
	Verdict  string `json:"verdict,omitempty"`
	Proven   bool   `json:"proven,omitzero"`
}

// asked is something that waits for a person.
type asked struct {
	Item     string `json:"item"`
	Step     string `json:"step,omitempty"`
	Kind     string `json:"kind"`
	Question string `json:"question"`
}

// stepOf is the row of a step in few words.
func stepOf(r view.Step) step {
	s := step{r.ID, r.Number, cut(r.Title, maxLine), string(r.Status), cut(r.Reason, maxLine), r.Attempts, "", r.Proven}
	if r.Verdict != nil {
		s.Verdict = string(*r.Verdict)
	}
	return s
}

func standing(ctx context.Context, w *Workspace, run string) (stood, error) {
	head, err := w.Find(ctx, run)
	if err != nil {
		return stood{}, err
	}
	st, err := w.Standing(ctx, head)
	if err != nil {
		return stood{}, err
	}
	h := st.Head
	s := stood{
		Run: h.Run, Plan: h.Plan, Title: cut(h.Title, maxLine), Status: string(st.By.Of(h)), Reason: cut(h.Reason, maxLine),
		Satisfied: h.Settled, Total: h.Total, Proven: h.Proven, Unproven: h.Unproven, Waiting: st.By.Open(h),
		Steps: []step{}, stream: h.Stream, ended: h.Ended, carried: st.Carried,
	}
	rows, more := few(st.Steps, maxRows)
	s.More = more
	for _, r := range rows {
		s.Steps = append(s.Steps, stepOf(view.StepOf(r)))
	}
	items, _ := few(st.Items, maxFindings)
	for _, it := range items {
		s.Items = append(s.Items, asked{it.Item, it.Step, string(it.Kind), cut(it.Question, maxLine)})
	}
	if next := st.Next(); len(next) > 0 && (!h.Ended || h.Status != "done") {
		s.Person = next[0].Command
	}
	return s, nil
}

type cancelIn struct {
	Run string `json:"run" jsonschema:"id of the run"`
	Why string `json:"why" jsonschema:"the reason, for the journal"`
}

func cancel(ctx context.Context, w *Workspace, _ *mcp.CallToolRequest, in cancelIn) (any, error) {
	if err := word("the run", in.Run); err != nil {
		return nil, err
	}
	if err := id("the run", in.Run); err != nil {
		return nil, err
	}
	if in.Why == "" || len(in.Why) > maxReason {
		return nil, refused("give the reason in a sentence", "why has %d bytes; it must have 1 to %d", len(in.Why), maxReason)
	}
	done, err := w.Client.Order(ctx, api.Order{Run: in.Run, Verb: "cancel", Why: in.Why})
	if err != nil {
		return nil, err
	}
	st, err := standing(ctx, w, done.Run)
	if err != nil || st.over() {
		return st, err
	}
	if err := await(ctx, w, st, stopTime, func(int, int) {}); err != nil {
		return nil, err
	}
	return standing(ctx, w, done.Run)
}

// stopTime is how long a cancelled run may take to end before the answer is given.
const stopTime = 20 * time.Second

type evidenceIn struct {
	Run  string `json:"run,omitempty" jsonschema:"id of the run; the newest if left out"`
	Step string `json:"step" jsonschema:"id or number of the step"`
}

// shown is what the checks of a step showed last.
type shown struct {
	Run    string           `json:"run"`
	Step   step             `json:"step"`
	Checks []contract       `json:"checks"`
	Proof  []map[string]any `json:"proof"`
	Waits  view.Waits       `json:"waits"`
	Items  []asked          `json:"waits_for_person,omitempty"`
	Log    string           `json:"log,omitempty"` // resource with what the agent or script printed
}

// contract is a check as the plan has it.
type contract struct {
	Name     string `json:"name"`
	Command  string `json:"command,omitempty"`
	Question string `json:"question,omitempty"`
	Exit     int    `json:"exit"`
	Required bool   `json:"required"`
}

// told are the fields of a proof that say what was seen; hashes and the like say nothing to a reader.
var told = []string{
	"type", "at", "attempt", "phase", "check", "verdict", "exit", "want", "signal", "ms", "reason", "tests", "isolation", "stdout_tail", "stderr_tail",
	"kind", "words", "stdout", "stderr", "changed", "tampered", "out_of_scope", "blocked",
}

func evidence(ctx context.Context, w *Workspace, _ *mcp.CallToolRequest, in evidenceIn) (any, error) {
	x, err := account(ctx, w, in.Run, in.Step)
	if err != nil {
		return nil, err
	}
	doc := x.Document()
	s := shown{Run: doc.Run, Step: stepOf(doc.Step), Checks: []contract{}, Proof: []map[string]any{}, Waits: doc.Waits}
	for _, c := range x.Fold.Step(x.Index).Checks {
		s.Checks = append(s.Checks, contract{c.Name, cut(c.Command, maxTail), cut(c.Question, maxTail), c.Exit, c.Required})
	}
	s.Checks, _ = few(s.Checks, maxChecks)
	proof, _ := few(doc.Proof, 3*maxChecks)
	for _, p := range proof {
		s.Proof = append(s.Proof, brief(p))
	}
	for _, it := range x.Asked() {
		s.Items = append(s.Items, asked{it.Item, it.Step, string(it.Kind), cut(it.Question, maxLine)})
	}
	s.Items, _ = few(s.Items, maxFindings)
	if x.Printed() != "" {
		s.Log = logURI(doc.Run, s.Step.ID)
	}
	return s, nil
}

// maxChecks is how many checks of a step are shown.
const maxChecks = 4

// brief is a proof in few words.
func brief(proof map[string]any) map[string]any {
	d := map[string]any{}
	for _, key := range told {
		v, ok := proof[key]
		if !ok {
			continue
		}
		if raw, encoded := v.(json.RawMessage); encoded {
			if json.Unmarshal(raw, &v) != nil {
				continue
			}
		}
		if v = bounded(v); v != nil && v != "" {
			d[key] = v
		}
	}
	return d
}

// bounded is a value of which long texts have their end, and long lists their beginning.
func bounded(v any) any {
	switch v := v.(type) {
	case string:
		return tail(v, maxTail)
	case []any:
		some, more := few(v, maxFindings)
		out := []any{}
		for _, one := range some {
			text, err := json.Marshal(one)
			if err == nil {
				out = append(out, json.RawMessage(text))
			}
			if len(text) > maxLine {
				out[len(out)-1] = cut(string(text), maxLine)
			}
		}
		if more > 0 {
			out = append(out, fmt.Sprintf("… %d more", more))
		}
		return out
	case map[string]any:
		return nil
	}
	return v
}

// account says why a step stands as it does.
func account(ctx context.Context, w *Workspace, run, name string) (view.Account, error) {
	if err := id("the run", run); err != nil {
		return view.Account{}, err
	}
	if err := word("the step", name); err != nil {
		return view.Account{}, err
	}
	if err := id("the step", name); err != nil {
		return view.Account{}, err
	}
	head, err := w.Find(ctx, run)
	if err != nil {
		return view.Account{}, err
	}
	head, stepID, err := w.Step(ctx, head, name)
	if err != nil {
		return view.Account{}, err
	}
	return view.Explain(ctx, w.Reader, head, stepID)
}
