package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
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
	PlanTo                      string // a revision that is to be approved
	Schema                      string
	Args                        string // a value, as JSON, that can be edited
	TakesArgs, TakesText        bool
	Choices                     []Choice
	Terminal                    string // the command that shows it at a terminal
}

// Wanted is what an agent asks for in the middle of its work.
type Wanted struct {
	By, Kind, Title, Command, Pattern string
	Paths                             []string
	Until                             When
}

// Choice is an answer, and what follows from it.
type Choice struct{ Word, Then, Tone string }

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
	if name := r.URL.Query().Get("item"); name != "" {
		if at = slices.IndexFunc(items, func(it engine.ItemRow) bool { return it.Item == name }); at < 0 {
			return p, answered(name)
		}
	}
	if len(items) > 0 {
		if box.Item, err = w.item(ctx, items[at]); err != nil {
			return p, err
		}
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
		x.Wanted = &Wanted{By: a.Role, Kind: a.Kind, Title: a.Title, Command: a.Command, Pattern: a.Pattern, Paths: a.Paths, Until: clock(it.Expires)}
	}
	x.TakesArgs = shown != nil || it.Schema != ""
	for _, c := range it.Choices {
		then := onPage.Replace(view.Consequence(it, c))
		if c == engine.ChooseAnswer && it.Schema != "" {
			then = "the value above"
		} else {
			x.TakesText = x.TakesText || slices.Contains(worded, c)
		}
		x.Choices = append(x.Choices, Choice{c, then, tones[c]})
	}
	return x, nil
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
	a := api.Answer{Item: name, Choice: r.PostFormValue("choice"), Text: strings.ReplaceAll(r.PostFormValue("text"), "\r\n", "\n"), Config: r.PostFormValue("config")}
	if a.Args, err = w.edited(ctx, items[i], r.PostFormValue("args")); err != nil {
		return "", nil, err
	}
	done, err := w.Client.Answer(ctx, a)
	if err != nil || done.Reconfigured != nil {
		return "", confirm(done.Reconfigured), err
	}
	return "/runs/" + cmp.Or(done.Top.Run, done.Run), nil, nil
}

// edited is a value that the person gave, nil where they left what was shown.
func (w *Workspace) edited(ctx context.Context, it engine.ItemRow, given string) (json.RawMessage, error) {
	if strings.TrimSpace(given) == "" {
		return nil, nil
	}
	var compact, was bytes.Buffer
	if err := json.Compact(&compact, []byte(given)); err != nil {
		return nil, &api.Problem{Code: api.Invalid, Message: "the value is no JSON: " + err.Error(), Hint: "go back and correct it"}
	}
	shown, err := w.args(ctx, it)
	if err != nil {
		return nil, err
	}
	if json.Compact(&was, shown) == nil && bytes.Equal(compact.Bytes(), was.Bytes()) {
		return nil, nil
	}
	return compact.Bytes(), nil
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
	Lines      []DiffLine
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
		c.Files = append(c.Files, ChangedFile{f.Path, f.What, diffLines(f.Lines)})
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
	slices.SortFunc(c.Fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	c.Fields = append(c.Fields, Field{"config", c.config})
}
