package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Whose limits are too tight.
const (
	OfRun  = "run"
	OfStep = "step"
)

// Shortage is why a person is asked to raise a budget.
type Shortage struct {
	Of     string        `json:"of"` // run or step
	Limits Amount        `json:"limits"`
	Spent  Amount        `json:"spent,omitzero"`
	Held   Amount        `json:"held,omitzero"`   // set aside for what is under way
	Since  time.Duration `json:"since,omitempty"` // time at work, in nanoseconds
	Needs  Amount        `json:"needs,omitzero"`  // by the step that does not fit
	Raise  Amount        `json:"raise"`           // limits with which it would fit
	Silent int           `json:"silent,omitempty"`
}

// Args is what a yes without any approves: the raised limits, as they are
// given with an answer.
func (x *Shortage) Args() json.RawMessage { return x.Raise.args() }

// limitArgs are limits as people write them, or, with wall_ms, programs.
type limitArgs struct {
	Tokens  int64   `json:"tokens,omitempty"`
	CostUSD float64 `json:"cost_usd,omitempty"`
	Wall    string  `json:"wall,omitempty"` // 1h30m
	WallMs  int64   `json:"wall_ms,omitempty"`
}

func (a Amount) args() json.RawMessage {
	x := limitArgs{Tokens: a.Tokens, CostUSD: float64(a.CostMicros) / 1e6}
	if a.Wall > 0 {
		x.Wall = a.Wall.String()
	}
	body, _ := json.Marshal(x) // plain data: it always marshals
	return body
}

// readArgs reads limits as people or programs write them. A kind that is not named is zero.
func readArgs(body json.RawMessage) (a Amount, err error) {
	var x limitArgs
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err = d.Decode(&x); err == nil && !json.Valid(body) {
		err = errors.New("something follows the first value")
	}
	if err != nil {
		return Amount{}, oddLimit(err)
	}
	if x.Wall != "" {
		if a.Wall, err = time.ParseDuration(x.Wall); err != nil {
			return Amount{}, fmt.Errorf("wall is %q, and a duration is wanted, as \"1h30m\"", x.Wall)
		}
	}
	switch {
	case x.WallMs != 0 && x.Wall != "":
		return Amount{}, errors.New("wall and wall_ms say the same: give one of them")
	case x.WallMs < 0 || x.WallMs > math.MaxInt64/int64(time.Millisecond):
		return Amount{}, errors.New("wall_ms is below nothing, or above all reason")
	case x.WallMs > 0:
		a.Wall = time.Duration(x.WallMs) * time.Millisecond
	}
	a.Tokens, a.CostMicros = x.Tokens, int64(math.Round(x.CostUSD*1e6))
	if a.Tokens < 0 || a.Wall < 0 || x.CostUSD < 0 || x.CostUSD > 1e9 {
		return Amount{}, errors.New("a limit is below nothing, or above all reason")
	}
	return a, nil
}

// oddLimit says in the words of people why limits cannot be read.
func oddLimit(err error) error {
	odd, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return errors.New(err.Error())
	}
	switch odd.Field {
	case "tokens":
		return fmt.Errorf("tokens is a %s, and a whole number is wanted", odd.Value)
	case "cost_usd":
		return fmt.Errorf("cost_usd is a %s, and a number is wanted", odd.Value)
	case "wall_ms":
		return fmt.Errorf("wall_ms is a %s, and a whole number of milliseconds is wanted", odd.Value)
	case "wall":
		return fmt.Errorf("wall is a %s, and a text is wanted, as \"1h30m\"", odd.Value)
	}
	return fmt.Errorf("an object is wanted, and this is of kind %s", odd.Value)
}

// plea asks for what the step that does not fit would need.
func (s *State) plea(i int, f fitness, now time.Time) ItemOpened {
	p := s.prog.Step(i)
	x := s.shortage(i, f, now)
	e := ItemOpened{
		Item: s.itemName(), Step: p.ID, Attempt: s.steps[i].Attempt, Kind: Approval, Cause: OverBudget,
		Question: x.question(p), Context: x.context(), Choices: []string{ChooseApprove, ChooseDeny}, Shortage: x,
	}
	e.Hash = digest([]byte(e.Question + "\x00" + e.Context))
	return e
}

// shortage sums up why the step does not fit.
func (s *State) shortage(i int, f fitness, now time.Time) *Shortage {
	x := &Shortage{Of: OfRun, Limits: s.run.Limits, Needs: s.reserve(i, now)}
	b := &s.run.Used
	if f == shortStep {
		x.Of, x.Limits, x.Needs = OfStep, s.limits(i), s.ownShort(i, now)
		b = &s.steps[i].Used
	} else if s.unmeasured(i) {
		x.Silent = s.run.Unmetered - s.run.Excused
	}
	x.Spent, x.Held, x.Since = b.Spent, b.Held, b.Work.At(now)
	if !s.prog.Step(i).spends() {
		x.Needs.Tokens, x.Needs.CostMicros = 0, 0
	}
	x.Raise = x.enough()
	return x
}

// enough are limits with which the step would fit.
func (x *Shortage) enough() Amount {
	a := Amount{
		Tokens:     raised(x.Limits.Tokens, add(x.Spent.Tokens, x.Held.Tokens), x.Needs.Tokens),
		CostMicros: raised(x.Limits.CostMicros, add(x.Spent.CostMicros, x.Held.CostMicros), x.Needs.CostMicros),
		Wall:       time.Duration(raised(int64(x.Limits.Wall), int64(x.Since), int64(x.Needs.Wall))),
	}
	if a.Wall > x.Limits.Wall { // it goes on passing while a person thinks
		a.Wall = time.Duration(add(add(int64(a.Wall), int64(x.Limits.Wall)), int64(time.Second)-1)).Truncate(time.Second)
	}
	return a
}

// raised is the limit with which need would fit beside what is used; the limit
// as it is where it fits, and none where there is none.
func raised(limit, used, need int64) int64 {
	switch {
	case !over(limit, used, need):
		return limit
	case need == 0:
		need = limit
	}
	return add(used, need)
}

func (x *Shortage) question(p *Step) string {
	whose := "run's budget"
	if x.Of == OfStep {
		whose = "step's own budget"
	}
	switch tight := x.tight(); {
	case len(tight) > 0:
		return fmt.Sprintf("The %s leaves too little for step %s: %s. Raise it to %s?", whose, p.named(), strings.Join(tight, "; "), x.Raise.words())
	case x.Silent == 1:
		return fmt.Sprintf("The %s cannot be kept: an attempt did not say what it used. May step %s run all the same?", whose, p.named())
	}
	return fmt.Sprintf("The %s cannot be kept: %d attempts did not say what they used. May step %s run all the same?", whose, x.Silent, p.named())
}

// tight says of each kind that is too little what is used and what is needed.
func (x *Shortage) tight() []string {
	var list []string
	say := func(limit, spent, held, need int64, words func(int64) string, unit string) {
		if !over(limit, add(spent, held), need) {
			return
		}
		t := fmt.Sprintf("%s of %s%s used", words(spent), words(limit), unit)
		if held > 0 {
			t += fmt.Sprintf(", %s set aside for what runs", words(held))
		}
		t += fmt.Sprintf(", %s left", words(max(0, limit-min(limit, add(spent, held)))))
		if need > 0 {
			t += fmt.Sprintf(", %s needed", words(need))
		}
		list = append(list, t)
	}
	say(x.Limits.Tokens, x.Spent.Tokens, x.Held.Tokens, x.Needs.Tokens, grouped, " tokens")
	say(x.Limits.CostMicros, x.Spent.CostMicros, x.Held.CostMicros, x.Needs.CostMicros, dollars, "")
	say(int64(x.Limits.Wall), int64(x.Since), 0, int64(x.Needs.Wall), lasting, "")
	return list
}

// context shows the answer that raises the budget.
func (x *Shortage) context() string {
	return "A yes raises it to " + string(x.Args()) + "\nA yes may give other limits, written alike."
}

// words are limits for people.
func (a Amount) words() string {
	var list []string
	if a.Tokens > 0 {
		list = append(list, tokens(a.Tokens))
	}
	if a.CostMicros > 0 {
		list = append(list, dollars(a.CostMicros))
	}
	if a.Wall > 0 {
		list = append(list, lasting(int64(a.Wall)))
	}
	return strings.Join(list, ", ")
}

func tokens(n int64) string { return grouped(n) + " tokens" }

// grouped is a number with a comma at each thousand.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

func dollars(micros int64) string {
	cents := strings.TrimRight(fmt.Sprintf("%04d", micros%1_000_000/100), "0")
	return fmt.Sprintf("$%d.%s", micros/1_000_000, cents+"00"[min(2, len(cents)):])
}

func lasting(n int64) string { return time.Duration(n).Round(time.Second).String() }

// lacks reports whether an item may ask for more of a budget for the step.
func (s *State) lacks(i int, e ItemOpened, now time.Time) bool {
	want := shortStep
	if e.Shortage.Of == OfRun {
		want = shortRun
	}
	return e.Kind == Approval && s.eligible(i) && s.fit(i, now) == want
}

// noRoom takes a step back that was prepared and does not fit any more.
func (s *State) noRoom(i int) StepSettled {
	return StepSettled{
		Step: s.prog.Step(i).ID, Attempt: s.steps[i].Attempt, Status: Pending, Verdict: OverBudget,
		Reason: "the budget does not allow it now", By: Harness,
	}
}

// admitArgs checks what an approval gives beside the yes, and fills in what was
// shown where it gives nothing.
func (s *State) admitArgs(it ItemRow, a ItemAnswered, now time.Time) (json.RawMessage, error) {
	x := it.Shortage
	switch {
	case it.takesArgs(a.Choice) && len(a.Args) > 0:
		return otherArguments(a)
	case x == nil || a.Choice != ChooseApprove:
		if len(a.Args) > 0 {
			return nil, refuse(Invalid, fmt.Sprintf("%q of item %s takes no arguments", a.Choice, a.Item), NoArgs)
		}
		return nil, nil
	case len(a.Args) == 0:
		a.Args = x.Args()
	}
	given, err := readArgs(a.Args)
	if err != nil {
		return nil, refuse(Invalid, "the new limits cannot be read: "+strings.TrimPrefix(err.Error(), "json: "), WriteLimits, string(x.Args()))
	}
	i, _ := s.prog.Index(it.Step)
	if err := s.refuseLimits(i, x, given, now); err != nil {
		return nil, err
	}
	return given.args(), nil
}

// refuseLimits refuses limits with which the step would not fit either, at now.
func (s *State) refuseLimits(i int, x *Shortage, given Amount, now time.Time) error {
	is, f := s.inForce(i, x.Of), shortRun
	if x.Of == OfStep {
		f = shortStep
	}
	if e := is.lowered(given); e != "" {
		return refuse(Invalid, e, NewLimit, string(x.Args()))
	}
	y := *s.shortage(i, f, now)
	y.Limits = larger(is, given)
	if tight := y.tight(); len(tight) > 0 {
		return refuse(Invalid, "that would still be too little: "+strings.Join(tight, "; "), AtLeast, string(y.enough().args()))
	}
	return nil
}

// lowered says which limit cannot be what is given.
func (a Amount) lowered(given Amount) string {
	bad := func(limit, given int64, words func(int64) string) string {
		switch {
		case given == 0 || limit > 0 && given >= limit:
			return ""
		case limit == 0:
			return fmt.Sprintf("there is no limit that %s could raise", words(given))
		}
		return fmt.Sprintf("%s is less than the limit of %s", words(given), words(limit))
	}
	for _, e := range [...]string{bad(a.Tokens, given.Tokens, tokens), bad(a.CostMicros, given.CostMicros, dollars), bad(int64(a.Wall), int64(given.Wall), lasting)} {
		if e != "" {
			return e
		}
	}
	return ""
}

// inForce are the limits of the run, or of the step.
func (s *State) inForce(i int, of string) Amount {
	if of == OfStep {
		return s.limits(i)
	}
	return s.run.Limits
}

// raise puts the limits of an answer in force.
func (s *State) raise(i int, it ItemRow, a ItemAnswered) error {
	if it.Shortage == nil || a.Choice != ChooseApprove {
		return nil
	}
	given, err := readArgs(a.Args)
	if err != nil {
		return fmt.Errorf("item %s is answered with limits that cannot be read: %w", a.Item, err)
	}
	is := s.inForce(i, it.Shortage.Of)
	if e := is.lowered(given); e != "" {
		return fmt.Errorf("item %s is answered with limits that cannot be: %s", a.Item, e)
	}
	if given = larger(is, given); it.Shortage.Of == OfStep {
		s.steps[i].Raised = given
		return nil
	}
	s.run.Limits, s.run.Excused = given, s.run.Unmetered
	return nil
}

// withdraw takes back what was asked of a budget that a revision sets anew.
func (s *State) withdraw() {
	if row, open := s.items[s.run.Asking]; open {
		i, _ := s.prog.Index(row.Step)
		s.closeItem(i)
		s.steps[i].Answer = nil
	}
}
