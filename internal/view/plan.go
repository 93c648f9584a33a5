package view

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// Plan is a plan: every label of the format under its name in snake_case, and what
// is known of the plan beside its text. It is read off the plan's tree, so that a new
// label needs no word here.
type Plan map[string]any

// PlanOf is the plan of a document. What is typed into a file says nothing of what
// became of the plan: its status is draft, and its steps have none.
func PlanOf(doc *api.Document) Plan {
	p, refs := doc.Plan, doc.Plan.Refs()
	d := labels(reflect.ValueOf(p).Elem())
	steps := make([]Plan, len(p.Steps))
	for i, s := range p.Steps {
		steps[i] = labels(reflect.ValueOf(s).Elem())
		if !s.Writes.Set {
			steps[i]["writes"] = nil // the whole workspace
		}
		steps[i]["kind"], steps[i]["needs"], steps[i]["status"] = KindOf(s, doc), NeedsOf(p, refs, i), nil
	}
	risk := riskOf(doc)
	d["id"], d["version"], d["status"], d["owner"] = nil, nil, "draft", p.Owner()
	d["hash"], d["file"], d["steps"], d["risk"], d["hazards"] = doc.Covers(), doc.Path, steps, risk.Risk, risk.Hazards
	if pins := pinDocuments(doc); pins != nil {
		d["children"] = pins // which are approved together with it
	}
	return d
}

// Of the tree, what is of the text rather than of the plan; texts that are empty and
// not null where they are absent; and names that are not those of the tree.
var (
	ofText  = []string{"Source", "Front", "Labels", "Start", "End", "Mark", "Name", "Steps"}
	prose   = []string{"title", "task", "context", "prose", "notes"}
	renamed = map[string]string{"pos": "place", "check_timeout": "contract_timeout"}
	capital = lazy.Regexp(`([a-z])([A-Z])`)
)

// labels are the fields of a plan or a step.
func labels(tree reflect.Value) Plan {
	d := Plan{}
	for field, v := range tree.Fields() {
		if !field.IsExported() || slices.Contains(ofText, field.Name) {
			continue
		}
		key := strings.ToLower(capital().ReplaceAllString(field.Name, "${1}_$2"))
		if other, ok := renamed[key]; ok {
			key = other
		}
		if _, lasts := v.Interface().(plan.Field[time.Duration]); lasts {
			key += "_ms"
		}
		d[key] = written(v.Interface(), slices.Contains(prose, key))
	}
	return d
}

// written is a field's value, null for one that the plan does not have.
func written(field any, isProse bool) any {
	switch f := field.(type) {
	case plan.Text:
		if f.Value == "" && !isProse {
			return nil
		}
		return f.Value
	case []plan.Text:
		return Values(f)
	case plan.Field[[]plan.Text]:
		return Values(f.Value)
	case plan.Field[string]:
		return orNone(f)
	case plan.Field[int]:
		return orNone(f)
	case plan.Field[bool]:
		return f.Value
	case plan.Field[time.Duration]:
		if f.Value == 0 && !f.Set {
			return nil
		}
		return f.Value.Milliseconds()
	case plan.Field[plan.Budget]:
		return budgetDocument(f)
	}
	return parts(field)
}

func orNone[T comparable](f plan.Field[T]) any {
	var zero T
	if f.Value == zero && !f.Set {
		return nil
	}
	return f.Value
}

// parts are the values that have parts themselves.
func parts(field any) any {
	switch f := field.(type) {
	case plan.Pos:
		return map[string]int{"line": f.Line, "column": f.Column}
	case plan.Field[plan.ForEach]:
		return Values(f.Value.Items)
	case plan.Field[plan.OnFail]:
		return map[string]any{"retries": f.Value.Retries, "then": f.Value.Then}
	case *plan.Contract:
		if f == nil {
			return nil
		}
		return map[string]any{"command": f.Command.Value, "exit_code": f.ExitCode.Value}
	case plan.Field[[]plan.Check]:
		checks := []any{}
		for _, c := range f.Value {
			checks = append(checks, map[string]any{"name": c.Name.Value, "command": c.Command.Value, "optional": c.Optional})
		}
		return checks
	case plan.Field[[]plan.Subscription]:
		subs := []string{}
		for _, s := range f.Value {
			subs = append(subs, s.Kind+":"+s.Ref)
		}
		return subs
	}
	return field
}

// pinDoc is a plan that is approved together with another one.
type pinDoc struct {
	Path  string `json:"path"`
	Title string `json:"title"`
	Hash  string `json:"hash"`
}

func pinDocuments(doc *api.Document) []pinDoc {
	var pins []pinDoc
	for _, child := range doc.Below() {
		pins = append(pins, pinDoc{child.Rel, child.Plan.Title.Value, child.Plan.Hash()})
	}
	return pins
}

// KindOf says who does the step's work.
func KindOf(s *plan.Step, doc *api.Document) string {
	switch {
	case s.Tool.Set:
		return "tool"
	case !s.Plan.IsZero():
		return "plan"
	case !s.Ask.IsZero():
		return "ask"
	}
	if _, a, _ := doc.Facts.Agent(s.Target.Value); a.Shell {
		return "script"
	}
	return "agent"
}

// NeedsOf names the steps that a step waits for: without a label, the one
// before it, and those whose outputs it is called with. A reference that leads nowhere
// stays as it was written.
func NeedsOf(p *plan.Plan, refs plan.Refs, i int) []string {
	needs := labelled(p, refs, i)
	for _, id := range verify.Reads(p.Steps[i]) {
		if !slices.Contains(needs, id) && id != p.Steps[i].ID.Value {
			needs = append(needs, id)
		}
	}
	return needs
}

// Misplaced says why a step cannot be at another place, both from 0: steps stand behind
// what they say that they need. It names the steps, none if it can.
func Misplaced(p *plan.Plan, i, place int) []string {
	refs := p.Refs()
	says := func(j int) []string {
		if p.Steps[j].Needs.Set {
			return NeedsOf(p, refs, j)
		}
		return verify.Reads(p.Steps[j])
	}
	var names []string
	for j, s := range p.Steps {
		passed := j > i && j <= place && slices.Contains(says(j), p.Steps[i].ID.Value) ||
			j < i && j >= place && slices.Contains(says(i), s.ID.Value)
		if passed {
			names = append(names, s.ID.Value)
		}
	}
	return names
}

// labelled is what the label of a step says that it needs.
func labelled(p *plan.Plan, refs plan.Refs, i int) []string {
	s := p.Steps[i]
	if !s.Needs.Set {
		if i == 0 {
			return []string{}
		}
		return []string{p.Steps[i-1].ID.Value}
	}
	needs := []string{}
	for _, ref := range s.Needs.Value {
		if found := refs.Find(ref.Value); len(found) == 1 {
			needs = append(needs, p.Steps[found[0]].ID.Value)
		} else {
			needs = append(needs, ref.Value)
		}
	}
	return needs
}

// Needing names the steps that wait for the i-th.
func Needing(p *plan.Plan, i int) []string {
	var names []string
	refs := p.Refs()
	for j, s := range p.Steps {
		if j != i && slices.Contains(NeedsOf(p, refs, j), p.Steps[i].ID.Value) {
			names = append(names, s.ID.Value)
		}
	}
	return names
}

func Values(list []plan.Text) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = t.Value
	}
	return out
}

func budgetDocument(b plan.Field[plan.Budget]) *budgetDoc {
	if !b.Set {
		return nil
	}
	d := &budgetDoc{Tokens: OrNull(b.Value.Tokens), WallMs: OrNull(b.Value.Wall.Milliseconds())}
	if b.Value.CostMicros > 0 {
		d.CostUSD = OrNull(float64(b.Value.CostMicros) / 1e6)
	}
	return d
}

// Forecast is what earlier attempts tell of a plan.
type Forecast struct {
	Tokens   *int64   `json:"tokens"`
	CostUSD  *float64 `json:"cost_usd"`
	WorkMs   int64    `json:"work_ms"`
	Attempts int      `json:"attempts"`
	Steps    int      `json:"steps"`
	Unknown  int      `json:"unknown"` // steps of agents of which nothing is known
	Over     []string `json:"over"`    // of the plan's budget: tokens, money, time
}

// ForecastOf is nil where nothing is known.
func ForecastOf(f api.Forecast, p *plan.Plan) *Forecast {
	if f.Steps == 0 {
		return nil
	}
	return &Forecast{OrNull(f.Tokens), OrNull(float64(f.Cost) / 1e6), f.Work.Milliseconds(), f.Attempts, f.Steps, f.Unknown, List(f.Over(p))}
}
