package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/view"
)

// Inbox is what waits for the person, and one item of it with its answers.
type Inbox struct {
	Asks []AskRow
	Item *Item
}

// Item is a question, with all that a person needs to answer it.
type Item struct {
	ID, Kind, Question, Context string
	Run, Step, StepTo           string
	For                         string // the step that the run carries out
	At                          When
	Cause                       string
	Tool, Effect                string
	Wanted                      *Wanted
	Behind                      string
	Wrong                       string // in the answer, of no field
	Text                        string // that the person typed
	Fields                      []Entry
	Raw                         bool // the value can be given as JSON
	Schema                      string
	Args                        string // a value, as JSON, that can be edited
	TakesText                   bool
	Files                       []FileChanged // that the attempts of the step changed so far
	Failure                     *Failure      // of the newest of them
	Same                        string        // that a retry runs the same script again
	EditTo                      string        // where the script is changed
	Choices                     []Choice
	Bar                         []Choice // the first, and the one that says no: at hand on a phone
	Terminal                    string   // the command that shows it at a terminal
}

// Wanted is who asks in the middle of their work, and how long they wait. The context is what for.
type Wanted struct {
	By    string
	Until When
}

// Choice is an answer, and what follows from it.
type Choice struct{ Word, Label, Then, Tone, Keys string }

// itemPath is the page of an item.
func itemPath(item string) string { return "/inbox?" + url.Values{"item": {item}}.Encode() }

// askRow is an open item in a list.
func askRow(it engine.ItemRow, now time.Time) AskRow {
	about := "run " + it.Run
	if it.Step != "" {
		about = "step " + it.Step + " of " + about
	}
	return AskRow{To: itemPath(it.Item), Kind: string(it.Kind), Title: it.Question, About: about, At: ago(it.Opened, now), Verb: "Answer"}
}

func inbox(ctx context.Context, w *Workspace, r *http.Request) (sheet, error) {
	return w.inbox(ctx, r.URL.Query().Get("item"), nil)
}

// inbox is the page of what waits, with one item: shown, where the person sent an answer to it
// that was not right.
func (w *Workspace) inbox(ctx context.Context, name string, shown *Item) (sheet, error) {
	items, err := w.Store.Items(ctx, store.ItemFilter{Open: true})
	if err != nil {
		return sheet{}, err
	}
	var box Inbox
	if box.Asks, err = w.asks(ctx, w.Now()); err != nil {
		return sheet{}, err
	}
	p := sheet{Title: "Inbox", Nav: "inbox"}
	at := 0
	if name != "" {
		if at = slices.IndexFunc(items, func(it engine.ItemRow) bool { return it.Item == name }); at < 0 {
			return p, answered(name)
		}
	}
	if box.Item = shown; len(items) > 0 && shown == nil {
		if box.Item, err = w.item(ctx, items[at]); err != nil {
			return p, err
		}
	}
	if len(items) > 0 {
		box.Asks[at].Current = true
	}
	p.Body = box
	return p, nil
}

func answered(item string) error {
	return &api.Problem{Code: api.NotFound, Message: fmt.Sprintf("no open item %q: it was answered, or is not asked any more", item), Hint: "look at the inbox again"}
}

// item is an open item as it can be answered.
func (w *Workspace) item(ctx context.Context, it engine.ItemRow) (*Item, error) {
	shown, err := w.args(ctx, it)
	if err != nil {
		return nil, err
	}
	x := &Item{
		ID: it.Item, Kind: string(it.Kind), Question: it.Question, Context: it.Context, Run: it.Run, Step: it.Step, At: ago(it.Opened, w.Now()),
		Cause: string(it.Cause), Tool: it.Tool, Effect: it.Effect, Behind: view.Join(it.Behind), Schema: indented(it.Schema), Args: indented(string(shown)),
		Terminal: "piton inbox " + it.Item,
	}
	if it.Step != "" {
		x.StepTo = stepPath(it.Run, it.Step)
	}
	if it.Parent.Run != "" {
		x.For = fmt.Sprintf("step %s of run %s", view.Above(it.Parent), it.Parent.Run)
	}
	if a := it.Wanted; a != nil {
		x.Wanted = &Wanted{By: a.Role, Until: clock(it.Expires)}
	}
	if it.Kind == engine.Escalation {
		if err := w.stuck(ctx, it, x); err != nil {
			return nil, err
		}
	}
	x.Fields = entries(shown, it.Schema)
	x.Raw = (shown != nil || it.Schema != "") && (len(x.Fields) == 0 || x.Fields[0].Name != "args")
	for n, c := range it.Choices {
		then := onPage.Replace(view.Consequence(it, c))
		if c == engine.ChooseAnswer && it.Schema != "" {
			then = "the value above"
		} else {
			x.TakesText = x.TakesText || slices.Contains(worded, c)
		}
		y := Choice{Word: c, Label: c, Then: then, Tone: tones[c], Keys: strconv.Itoa(n + 1)}
		if label := labels[c]; label != "" && then != "" {
			y.Label = label
		}
		switch {
		case n == 0:
			y.Keys += ",a,mod+enter"
		case y.Tone == "danger":
			y.Keys += ",d"
		}
		if c == engine.ChooseRetry && x.Same != "" {
			y.Tone, y.Then = "", x.Same
		}
		x.Choices = append(x.Choices, y)
		if n == 0 || y.Tone == "danger" && len(x.Bar) == 1 {
			x.Bar = append(x.Bar, y)
		}
	}
	return x, nil
}

// stuck fills in what helps with a step that did not come out right: why that is, what it changed
// so far, and where its script is edited.
func (w *Workspace) stuck(ctx context.Context, it engine.ItemRow, x *Item) error {
	head, err := w.run(ctx, it.Run)
	if err != nil || it.Step == "" {
		return err
	}
	changes, _, err := w.Changes(ctx, head, it.Step, 0)
	if err != nil {
		return err
	}
	for _, f := range changes.Files {
		x.Files = append(x.Files, FileChanged(f))
	}
	c := w.chronicle(head, looking{})
	if err := c.read(ctx); err != nil {
		return err
	}
	x.Failure = c.failed[[2]string{it.Run, it.Step}]
	if c.scripted(it.Run, it.Step) {
		x.Same, x.EditTo = "runs the same script, unchanged, unless a file that it uses has changed", editPath(head, it.Step)
	}
	return nil
}

// editPath is where a step of the plan of a run is edited; "" where that is not on the page.
func editPath(head engine.HeadRow, step string) string {
	if head.Path == "" || head.Parent.Run != "" {
		return ""
	}
	if of, instance := engine.InstanceOf(step); instance {
		step = of
	}
	return planPath(head.Path) + "?" + url.Values{"open": {"edit"}, "step": {step}}.Encode() + "#s-" + step
}

// labels are choices in the words of a button.
var labels = map[string]string{
	engine.ChooseApprove: "Approve", engine.ChooseDeny: "Deny", engine.ChooseAllow: "Allow once", engine.ChooseAllowRun: "Allow for this run",
	engine.ChooseRetry: "Retry", engine.ChooseFallback: "Retry with the fallback", engine.ChooseReplan: "Revise the plan", engine.ChooseLeave: "Leave it on its branch",
	engine.ChooseSkip: "Skip the step", engine.ChooseWaive: "Accept without proof", engine.ChooseVouch: "What it changed is the work", engine.ChooseAnswer: "Answer", engine.ChooseAdopt: "Keep it",
	engine.ChooseDrop: "Drop it", engine.ChooseAbort: "Fail the step",
}

// onPage says in the words of a page what a consequence says in those of a command.
var onPage = strings.NewReplacer("with --text; a value, with --args", "in the text above", "--text", "the text above", "--args", "the value above")

// worded are the choices that a text goes with, and tones those of choices that are more than
// a step on the way.
var (
	worded = []string{engine.ChooseAnswer, engine.ChooseRetry, engine.ChooseReplan, engine.ChooseSkip, engine.ChooseWaive, engine.ChooseDeny, engine.ChooseApprove}
	tones  = map[string]string{
		engine.ChooseApprove: "you", engine.ChooseAllow: "you", engine.ChooseRetry: "you", engine.ChooseAnswer: "you", engine.ChooseAdopt: "you",
		engine.ChooseAbort: "danger", engine.ChooseDeny: "danger",
	}
)

// args is the value that an item shows and a person may change: what a call is called with, or
// the limits that a budget is to get.
func (w *Workspace) args(ctx context.Context, it engine.ItemRow) (json.RawMessage, error) {
	args, err := w.Args(ctx, []engine.ItemRow{it})
	if err != nil {
		return nil, err
	}
	doc := view.InboxOf([]engine.ItemRow{it}, nil, args).Items[0]
	if doc.Args == nil {
		return nil, nil
	}
	text, err := json.Marshal(doc.Args)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments of item %s: %w", it.Item, err)
	}
	return text, nil
}

// indented lays JSON out; what is none stays as it is.
func indented(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// answer sends what the person said to an item.
func answer(ctx context.Context, w *Workspace, r *http.Request) (string, *Confirm, error) {
	name := r.PostFormValue("item")
	items, err := w.Store.Items(ctx, store.ItemFilter{Open: true})
	if err != nil {
		return "", nil, err
	}
	i := slices.IndexFunc(items, func(it engine.ItemRow) bool { return it.Item == name })
	if i < 0 {
		return "", nil, answered(name)
	}
	x, err := w.item(ctx, items[i])
	if err != nil {
		return "", nil, err
	}
	a := api.Answer{Item: name, Choice: r.PostFormValue("choice"), Text: typed(r.PostFormValue("text")), Config: r.PostFormValue("config")}
	x.Text = a.Text
	if a.Args, err = x.value(items[i], r); err != nil {
		return "", nil, w.wrong(ctx, x, err)
	}
	done, err := w.Client.Answer(ctx, a)
	if err != nil && api.Explain(err).Code == api.Invalid {
		p := api.Explain(err)
		if len(a.Args) == 0 || !blamed(x.Fields, p.Message) {
			x.Wrong = capital(strings.Join(slices.DeleteFunc([]string{p.Message, p.Hint}, func(s string) bool { return s == "" }), "; ")) + "."
		}
		return "", nil, w.wrong(ctx, x, errFields)
	}
	if err != nil || done.Reconfigured != nil {
		return "", confirm(done.Reconfigured), err
	}
	return "/runs/" + cmp.Or(done.Top.Run, done.Run), nil, nil
}

// wrong shows an item again, with what was wrong in the answer.
func (w *Workspace) wrong(ctx context.Context, x *Item, err error) error {
	if !errors.Is(err, errFields) {
		return err
	}
	p, err := w.inbox(ctx, x.ID, x)
	return cmp.Or(err, error(&again{http.StatusUnprocessableEntity, p}))
}

// value is what the person gave: nil where they left what was shown, and where nothing was
// asked for. JSON that was edited goes before the fields.
func (x *Item) value(it engine.ItemRow, r *http.Request) (json.RawMessage, error) {
	shown, given := x.Args, strings.TrimSpace(typed(r.PostFormValue("args")))
	was := cmp.Or(strings.TrimSpace(typed(r.PostFormValue("was"))), proc.Plain([]byte(shown))) // the JSON on the page
	sent := func(name string) (string, bool) { return r.PostFormValue(name), r.PostForm.Has(name) }
	var value json.RawMessage
	switch {
	case x.Raw && given != "" && given != was:
		x.Args = given
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(given)); err != nil {
			x.Wrong = "The value is no JSON: " + err.Error() + "."
			return nil, errFields
		}
		value = b.Bytes()
		x.Fields = sameKinds(entries(value, it.Schema), x.Fields)
	case len(x.Fields) == 0 || it.Schema != "" && r.PostFormValue("choice") != engine.ChooseAnswer:
		return nil, nil
	default:
		if x.Raw && json.Valid([]byte(was)) && was != proc.Plain([]byte(shown)) {
			x.Fields = sameKinds(entries(json.RawMessage(was), it.Schema), x.Fields)
		}
		var err error
		if value, x.Fields, err = filledIn(x.Fields, sent); err != nil {
			return nil, err
		}
		if x.Raw {
			x.Args = indented(string(value))
		}
	}
	before, err := engine.DecodeValue([]byte(shown))
	after, other := engine.DecodeValue(value)
	if err == nil && other == nil && reflect.DeepEqual(before, after) {
		return nil, nil
	}
	return value, nil
}

// Confirm is what the person has to say yes to before what they asked for is done, such as a
// configuration that is not the one that a run was approved with.
type Confirm struct {
	What    string // stands in the way
	Yes     string // the word of the button
	Changes []string
	Files   []ChangedFile
	Action  string // where the form goes once more
	Fields  []Field
	config  string
}

// ChangedFile is a file that judges the work, and what changed in it.
type ChangedFile struct {
	Path, What string
	Lines      []view.DiffLine
}

// Field is a field of a form.
type Field struct{ Name, Value string }

// confirm is nil for nothing to confirm.
func confirm(r *api.Reconfigured) *Confirm {
	if r == nil {
		return nil
	}
	c := &Confirm{
		What: "Something changed since run " + r.Run + " was approved", Yes: "Let the run go on with it", Changes: r.Changes, config: r.Config,
	}
	for _, f := range r.Files {
		c.Files = append(c.Files, ChangedFile{f.Path, f.What, view.DiffLines(f.Lines, maxDiff)})
	}
	return c
}

// again makes the form that sends the same request with a yes.
func (c *Confirm) again(r *http.Request) {
	c.Action = r.URL.EscapedPath()
	for name, values := range r.PostForm {
		if name != "config" {
			c.Fields = append(c.Fields, Field{name, strings.Join(values, "\n")})
		}
	}
	sort.Slice(c.Fields, func(i, j int) bool { return c.Fields[i].Name < c.Fields[j].Name })
	c.Fields = append(c.Fields, Field{"config", c.config})
}
