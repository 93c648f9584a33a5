package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/users"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// abouts say what each use case does.
var abouts = map[string]string{
	"run":      "Run a plan: open a run, or take up its unfinished one, which goes on by itself. Without a yes, and where nobody approved the plan, it says what is needed.",
	"approve":  "Approve a plan, or what is proposed to its run, bound to the hash of what was shown.",
	"reject":   "Reject a plan, or what is proposed to its run.",
	"resume":   "Let a run go on from its last proof, or merge what it did.",
	"plan":     "Have the planner make a plan of a request.",
	"review":   "Have the reviewer read a plan.",
	"redraft":  "Have the planner change a plan that has not run.",
	"contract": "Have a contract proposed for each step that nothing can prove.",
	"withdraw": "Take back a request to a model that is under way.",
	"order":    "Command a run or a step: pause, cancel, retry, skip, waive, vouch, force-agent, replan.",
	"answer":   "Answer an item of the inbox.",
	"release":  "Let go of a run: its work stops gently, and it stays open.",
	"archive":  "Take finished runs out of the lists, or put them back.",
	"gc":       "Remove what finished runs left behind.",
	"restore":  "Give a plan document the text of one of its revisions.",
	"edit":     "Give a plan document another text, if it still has the one that was seen.",
}

func table() []Route {
	routes := []Route{
		get("/workspace", "The workspace, and who asks.", func(c *call) (api.Here, error) { return c.here() }),
		get("/runs", "Runs, and plans of which nothing was run yet, the newest first.", runs,
			query{"status", "only with one of these statuses, by commas"}, query{"title", "only with this text in the title"}, query{"recent", "at most this many; 0 for all; 50 if left out"}, query{"archived", "true: only archived ones"}),
		get("/runs/{run}", "A run with its steps, as piton status --json has it.", status),
		get("/runs/{run}/log", "What happened in a run, the oldest first, with what its steps put out.", history, query{"step", "only of this step"}),
		stream("/runs/{run}/events", "What happens in a run, as it happens. The id of an event is its sequence number in the journal; Last-Event-ID, or after, goes on behind one. The stream ends with the run; 204 says that there is nothing more.", "text/event-stream", events,
			query{"after", "only events after this sequence number"}),
		get("/runs/{run}/steps/{step}", "Why a step stands as it does: its proof, and where it comes from.", evidence),
		get("/runs/{run}/steps/{step}/diff", "What a step changed in the files.", changes, query{"attempt", "of this attempt alone"}),
		stream("/runs/{run}/steps/{step}/output", "What the newest attempt of a step printed, or another one.", "text/plain; charset=utf-8", output, query{"attempt", "of this attempt"}),
		get("/inbox", "What waits for people, the oldest first.", inbox),
		get("/plans", "The plan documents of the workspace.", plans),
		get("/plans/{path...}", "A plan document: its text, its labels, its findings, and the hash that a yes to it is bound to.", document),
		get("/history", "The revisions of a plan, the oldest first.", revisions, query{"of", "the path of its document, a run, or a revision"}),
		get("/compare", "The difference of two texts of a plan.", compare, query{"from", "a path, a run or a revision"}, query{"to", "another one; without it, the file as it is now"}),
		get("/tasks", "What was asked for, each with its plan and its runs.", tasks),
		get("/tasks/{task}", "A task with its history.", task),
		get("/errands/{errand}", "What was asked of a model beside the runs, and what came of it.", errand),
		get("/agents", "The agents that steps can name.", agents),
		get("/settings", "The settings in force.", settings, query{"below", "only this setting and those below it"}),
		{Method: http.MethodGet, Path: "/openapi.json", about: "This description.", answer: reflect.TypeFor[map[string]any](), do: func(c *call) (any, error) { return Description(c.api.version) }},
	}
	for _, u := range api.UseTypes() {
		routes = append(routes, Route{
			Method: http.MethodPost, Path: "/" + u.Name, about: abouts[u.Name], request: u.Request, answer: u.Answer,
			do: func(c *call) (any, error) {
				body, err := c.body()
				if err != nil {
					return nil, err
				}
				answer, err := c.Client.Forward(c.ctx, u.Name, body)
				if err == nil && u.Name != "approve" && u.Name != "reject" { // these begin nothing, and who says them may not
					err = c.goesOn(answer)
				}
				return answer, err
			},
		})
	}
	for _, r := range api.Readings() {
		routes = append(routes, Route{
			Method: http.MethodPost, Path: "/journal/" + r.Name, about: "Read the journal: " + r.Name + ". It is for piton --server of the same version.", request: r.Request, answer: r.Answer,
			do: func(c *call) (any, error) {
				body, err := c.body()
				if err != nil {
					return nil, err
				}
				return r.Do(c.ctx, c.Store, body)
			},
		})
	}
	return append(routes,
		post("/files/text", "The text of a plan document.", func(c *call, q api.NamedText) ([]byte, error) { return c.Text(c.ctx, q) }),
		post("/files/facts", "What rules want to know for a plan document.", func(c *call, q api.NamedText) (verify.Facts, error) { return c.FactsOf(c.ctx, q) }),
		post("/files/output", "What an attempt printed, a piece at a time, by the name of its log.", outputPiece),
		post("/carried", "The streams whose runs the owner carries on.", func(c *call, _ api.None) ([]string, error) { return c.Client.Carried(c.ctx) }),
		Route{
			Method: http.MethodPost, Path: "/changes", about: "A line each time the journal has grown, until nobody carries the task's run on; with an end the request carries it on itself.",
			request: reflect.TypeFor[api.Following](), kind: "text/plain; charset=utf-8", do: func(c *call) (any, error) { return nil, c.tell() },
		},
	)
}

// post is a route that takes words.
func post[Q, A any](path, about string, do func(*call, Q) (A, error)) Route {
	return Route{
		Method: http.MethodPost, Path: path, about: about, request: reflect.TypeFor[Q](), answer: reflect.TypeFor[A](),
		do: func(c *call) (any, error) {
			q, err := said[Q](c)
			if err != nil {
				return nil, err
			}
			return do(c, q)
		},
	}
}

// said is the request as a value.
func said[Q any](c *call) (q Q, err error) {
	body, err := c.body()
	if err == nil {
		if err = json.Unmarshal(body, &q); err != nil {
			err = &api.Problem{Code: api.Invalid, Message: "the request is not understood: " + err.Error()}
		}
	}
	return q, err
}

// maxPiece bounds a piece of an output.
const maxPiece = 1 << 20

func outputPiece(c *call, q api.Piece) (is api.PieceText, err error) {
	name := filepath.FromSlash(q.Name)
	if !filepath.IsLocal(name) || !strings.HasPrefix(q.Name, "attempts/") || !strings.HasSuffix(q.Name, ".log") {
		return is, &api.Problem{Code: api.Invalid, Message: q.Name + " is no output of an attempt", Hint: "name the log of an attempt"}
	}
	f, err := os.OpenInRoot(c.Product.Place.State, name)
	if errors.Is(err, fs.ErrNotExist) {
		return is, &api.Problem{Code: api.NotFound, Message: "there is no " + q.Name, Hint: "gc removes the outputs of finished runs"}
	}
	if err != nil {
		return is, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return is, err
	}
	is.Size = info.Size()
	is.Text, err = io.ReadAll(io.NewSectionReader(f, q.Offset, maxPiece))
	return is, err
}

// goesOn leaves what a use case has begun to the owner: a run that was opened or taken up, and
// the work of a model that was asked for.
func (c *call) goesOn(answer []byte) error {
	var begun struct {
		api.Opened
		Said   api.Opened `json:"opened"`
		Needs  api.Need   `json:"needs"`
		Errand string     `json:"errand"`
		Who    string     `json:"who"`
	}
	if json.Unmarshal(answer, &begun) != nil {
		return nil //nolint:nilerr // then it has begun nothing
	}
	if begun.Errand != "" && begun.Who != "" && begun.Needs == "" {
		return c.Client.HandOver(c.ctx, engine.WorkspaceStream, api.Leave)
	}
	opened := begun.Opened
	if opened.Stream == "" {
		opened = begun.Said
	}
	if opened.Stream == "" || opened.Over || opened.Reconfigured != nil || begun.Needs != "" {
		return nil
	}
	head, err := c.Find(c.ctx, opened.Run)
	if err != nil || head.Ended || head.Status == engine.Paused {
		return err
	}
	return c.Client.HandOver(c.ctx, opened.Stream, api.Leave)
}

// get is a route that only shows something.
func get[A any](path, about string, do func(*call) (A, error), parameters ...query) Route {
	return Route{
		Method: http.MethodGet, Path: path, about: about, query: parameters, answer: reflect.TypeFor[A](),
		do: func(c *call) (any, error) { return do(c) },
	}
}

// stream is a route that writes its answer itself.
func stream(path, about, kind string, do func(*call) error, parameters ...query) Route {
	return Route{
		Method: http.MethodGet, Path: path, about: about, query: parameters, kind: kind,
		do: func(c *call) (any, error) { return nil, do(c) },
	}
}

func (c *call) here() (api.Here, error) {
	h := api.Here{ID: c.Product.Place.ID, Settings: c.Settings(), Dir: c.Product.Place.Dir, Version: c.api.version, User: c.Product.By, Rights: users.Rights}
	if c.Client.User == "" {
		return h, nil
	}
	u, err := users.In(c.Product.Place.State).Named(c.Client.User)
	h.User, h.Rights = u.Name, u.Rights
	return h, err
}

func (c *call) head() (engine.HeadRow, error) { return c.Find(c.ctx, c.r.PathValue("run")) }

// step is a step of a run, or of one that carries out a step of it.
func (c *call) step() (engine.HeadRow, string, error) {
	head, err := c.head()
	if err != nil {
		return head, "", err
	}
	return c.Step(c.ctx, head, c.r.PathValue("step"))
}

// number is a parameter that counts something.
func (c *call) number(name string, otherwise int) (int, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, &api.Problem{Code: api.Invalid, Message: fmt.Sprintf("%s is %q, which is no number", name, text), Hint: "give a number from 0"}
	}
	return n, nil
}

// recent is how many runs are listed unless asked otherwise.
const recent = 50

func runs(c *call) (view.RunList, error) {
	l := view.Listing{Title: c.r.URL.Query().Get("title"), Archived: c.r.URL.Query().Get("archived") == "true"}
	for word := range strings.FieldsFuncSeq(c.r.URL.Query().Get("status"), func(r rune) bool { return r == ',' }) {
		l.Status = append(l.Status, engine.Status(word))
	}
	var err error
	if l.Recent, err = c.number("recent", recent); err != nil {
		return view.RunList{}, err
	}
	found, err := c.List(c.ctx, l)
	return found.Document(), err
}

func status(c *call) (view.Run, error) {
	head, err := c.head()
	if err != nil {
		return view.Run{}, err
	}
	st, err := c.Standing(c.ctx, head)
	if err != nil {
		return view.Run{}, err
	}
	errands, err := c.Underway(c.ctx)
	doc := st.Document(c.Product.Place.Dir)
	doc.Errands, doc.Carried, doc.Proposal = view.ErrandsOf(errands), &st.Carried, view.ChangeOf(st.Other)
	return doc, err
}

// Log is what happened in a run.
type Log struct {
	Run    string           `json:"run"`
	Events []map[string]any `json:"events"`
}

func history(c *call) (Log, error) {
	head, err := c.head()
	step := c.r.URL.Query().Get("step")
	if err == nil && step != "" {
		head, step, err = c.Step(c.ctx, head, step)
	}
	if err != nil {
		return Log{}, err
	}
	l := Log{Run: head.Run, Events: []map[string]any{}}
	var f view.Fold
	for r, err := range run.ReadRun(c.ctx, c.Store, head) {
		if err == nil {
			_, err = f.Apply(r)
		}
		if err != nil {
			return l, err
		}
		if f.State.Run().Run != head.Run || step != "" && !f.Concerns(r.Event, step) {
			continue
		}
		values, err := c.Outputs(c.ctx, step, []engine.Record{r})
		if err != nil {
			return l, err
		}
		l.Events = append(l.Events, view.EventOf(head.Run, r, values.Of(r.Event)))
	}
	return l, nil
}

func evidence(c *call) (view.Why, error) {
	head, step, err := c.step()
	if err != nil {
		return view.Why{}, err
	}
	x, err := view.Explain(c.ctx, c.Reader, head, step)
	if err != nil {
		return view.Why{}, err
	}
	return x.Document(), nil
}

func changes(c *call) (view.Changes, error) {
	head, step, err := c.step()
	if err != nil {
		return view.Changes{}, err
	}
	attempt, err := c.number("attempt", 0)
	if err != nil {
		return view.Changes{}, err
	}
	found, ok, err := c.Changes(c.ctx, head, step, attempt)
	if err == nil && !ok {
		err = &api.Problem{Code: api.NotFound, Message: fmt.Sprintf("step %s of run %s has no such attempt that ended", step, head.Run), Hint: "its log shows its attempts"}
	}
	return found, err
}

// output writes what an attempt printed, as it is.
func output(c *call) error {
	head, step, err := c.step()
	if err != nil {
		return err
	}
	attempt, err := c.number("attempt", 0)
	if err != nil {
		return err
	}
	name := ""
	for r, err := range run.ReadRun(c.ctx, c.Store, head) {
		if err != nil {
			return err
		}
		if e, ok := r.Event.(engine.WorkEnded); ok && e.Step == step && e.Log != "" && (attempt == 0 || e.Attempt == attempt) {
			name = e.Log
		}
	}
	gone := &api.Problem{Code: api.NotFound, Message: fmt.Sprintf("there is no output of step %s of run %s", step, head.Run), Hint: "a step that is at work has none yet, and gc removes those of finished runs"}
	if name == "" {
		return gone
	}
	f, err := os.OpenInRoot(c.Product.Place.State, filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return gone
	}
	if err != nil {
		return err
	}
	defer f.Close()
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.Copy(c.w, f) //nolint:errcheck // the client is gone then
	return errStreamed
}

func inbox(c *call) (view.Inbox, error) {
	items, err := c.Store.Items(c.ctx, store.ItemFilter{Open: true})
	if err != nil {
		return view.Inbox{}, err
	}
	plans, err := c.Proposals(c.ctx)
	if err != nil {
		return view.Inbox{}, err
	}
	args, err := c.Args(c.ctx, items)
	return view.InboxOf(items, plans, args), err
}

// Files are the plan documents of the workspace.
type Files struct {
	Files []string `json:"files"`
}

func plans(c *call) (Files, error) { return Files{c.PlanFiles()}, nil }

// Document is a plan document.
type Document struct {
	Path     string        `json:"path"`
	Source   string        `json:"source"`
	Seen     string        `json:"seen"`     // names these bytes, for an edit
	Settings string        `json:"settings"` // the hash of those that it was looked at under
	Plan     view.Plan     `json:"plan"`     // null where it cannot be read as one
	Findings view.Findings `json:"findings"`
	Weaker   []string      `json:"weaker"` // where it asks less than the text before
}

func document(c *call) (Document, error) {
	rel, err := c.Inside(c.r.PathValue("path"))
	if err != nil {
		return Document{}, err
	}
	doc, err := c.Read(c.ctx, filepath.Join(c.Product.Place.Dir, rel))
	if err != nil {
		return Document{}, err
	}
	d := Document{Path: filepath.ToSlash(rel), Source: string(doc.Source), Seen: api.Digest(doc.Source), Settings: c.Settings(), Findings: view.FindingsOf(doc), Weaker: []string{}}
	if doc.Plan == nil {
		return d, nil
	}
	d.Plan = view.PlanOf(doc)
	weaker, err := c.Weakens(c.ctx, doc)
	d.Weaker = view.List(weaker)
	return d, err
}

// Revisions are the revisions of a plan.
type Revisions struct {
	Revisions []view.Revision `json:"revisions"`
}

// wanted is a parameter that must be there.
func (c *call) wanted(name string) (string, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return "", &api.Problem{Code: api.Invalid, Message: "the parameter " + name + " is missing", Hint: "give it behind the path: ?" + name + "=…"}
	}
	return text, nil
}

func revisions(c *call) (Revisions, error) {
	word, err := c.wanted("of")
	if err != nil {
		return Revisions{}, err
	}
	all, err := c.History(c.ctx, word)
	return Revisions{view.RevisionsOf(all)}, err
}

func compare(c *call) (view.Diff, error) {
	from, err := c.wanted("from")
	if err != nil {
		return view.Diff{}, err
	}
	words := []string{from}
	if to := c.r.URL.Query().Get("to"); to != "" {
		words = append(words, to)
	}
	one, two, err := c.Compared(c.ctx, words)
	if err != nil {
		return view.Diff{}, err
	}
	return view.Compared(one, two), nil
}

func tasks(c *call) (view.TaskDocs, error) {
	found, err := c.TaskList(c.ctx, view.Listing{})
	return found.Document(), err
}

func task(c *call) (view.Task, error) {
	found, err := c.ShownTask(c.ctx, c.r.PathValue("task"))
	if err != nil {
		return view.Task{}, err
	}
	return found.Document(), nil
}

// Errand is what was asked of a model, and what came of it.
type Errand struct {
	view.Errand
	Outcome json.RawMessage `json:"outcome"` // null until it has ended
}

func errand(c *call) (Errand, error) {
	row, err := c.ErrandOf(c.ctx, c.r.PathValue("errand"))
	if err != nil {
		return Errand{}, err
	}
	d := Errand{Errand: view.ErrandOf(row)}
	if row.Ended != nil && row.Ended.Output != "" {
		d.Outcome, err = c.Store.Object(c.ctx, row.Ended.Output)
	}
	return d, err
}

// AgentList are the agents that steps can name.
type AgentList struct {
	Agents []api.Agent `json:"agents"`
}

// agents are told without the arguments of their commands, in which a key may stand.
func agents(c *call) (AgentList, error) {
	all := c.Agents()
	for i := range all {
		all[i].Command = all[i].Command[:min(1, len(all[i].Command))]
	}
	return AgentList{all}, nil
}

// SettingList are settings in force.
type SettingList struct {
	Settings []api.Setting `json:"settings"`
}

func settings(c *call) (SettingList, error) {
	all, err := api.Settings(c.Product.Config, c.r.URL.Query().Get("below"))
	for i := range all {
		if config.Secret(all[i].Path) {
			all[i].Value = "(hidden)"
		}
	}
	return SettingList{all}, err
}
