package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What a person may say to an agent that asks in the middle of its work.
const (
	ChooseAllow    = "allow"     // this once
	ChooseAllowRun = "allow-run" // and the same again, as long as the run goes on
)

// Wanted is what an agent asks for in the middle of its work: a claim of its own.
type Wanted struct {
	N       int      `json:"n"` // the dispatch of the attempt that asks
	Role    string   `json:"role"`
	Kind    string   `json:"kind"` // what kind of thing it is: run, edit, …
	Title   string   `json:"title,omitempty"`
	Command string   `json:"command,omitempty"`
	Paths   []string `json:"paths,omitempty"`
	Pattern string   `json:"pattern,omitempty"` // what a yes for the run is for; "" if there is none
}

// Grant is what a person has allowed an agent for the whole run.
type Grant struct {
	Role    string `json:"role"`
	Pattern string `json:"pattern"`
}

// maxGrants bounds what is allowed for one run.
const maxGrants = 1000

// Asks is what work under way asks of a person. It waits for the answer, see [State.Heeded].
type Asks struct {
	Key Key
	Wanted
	Context string // what would be done
}

// Unasked says that the work waits for no answer any more.
type Unasked struct {
	Key Key
	Why string
}

func (Asks) Actor() string    { return Harness }
func (Unasked) Actor() string { return Harness }

// defaultPermissionWait is how long a question waits where the policy says nothing.
const defaultPermissionWait = 10 * time.Minute

func (s *State) admitAsks(in Asks, now time.Time) ([]Event, error) {
	i, err := s.known(in.Key)
	if err != nil {
		return nil, err
	}
	st, p := &s.steps[i], s.prog.Step(i)
	switch {
	case !s.underWay(i, in.Key) || st.Kind != AgentWork:
		return nil, refuse(Conflict, in.Key.String()+" is not under way")
	case st.Item != "" || st.Order != nil || s.stopping():
		return nil, refuse(Conflict, in.Key.String()+" cannot ask now")
	}
	w := in.Wanted
	w.N, w.Role, w.Kind, w.Title, w.Command, w.Paths, w.Pattern = st.N, st.Role, text(w.Kind), text(w.Title), text(w.Command), texts(w.Paths), text(w.Pattern)
	e := ItemOpened{
		Item: s.itemName(), Step: p.ID, Attempt: st.Attempt, Kind: Permission, Wanted: &w,
		Question: fmt.Sprintf("Step %s: may the agent %s %s?", p.named(), st.Role, w.String()),
		Context:  text(in.Context), Choices: []string{ChooseAllow}, Expires: now.Add(cmp.Or(s.run.Opened.Policy.PermissionWait, defaultPermissionWait)),
	}
	if w.Pattern != "" {
		e.Choices = append(e.Choices, ChooseAllowRun)
	}
	e.Choices = append(e.Choices, ChooseDeny)
	e.Hash = digest([]byte(e.Question + "\x00" + e.Context))
	return []Event{e}, nil
}

// String is what is asked for, in a line.
func (w Wanted) String() string {
	what, kind := cmp.Or(w.Command, strings.Join(w.Paths, ", "), w.Title), w.Kind
	if kind == "other" {
		what, kind = cmp.Or(what, "a tool"), "use"
	}
	return strings.Join(strings.Fields(kind+" "+what), " ")
}

func (s *State) applyPermission(e ItemOpened, r Record) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	_, twice := s.items[e.Item]
	if w := e.Wanted; w == nil || twice || st.Item != "" || !st.Live || st.Kind != AgentWork || e.Attempt != st.Attempt || w.N != st.N || w.Role != st.Role {
		return fmt.Errorf("item %s asks for work of step %q, which does not ask", e.Item, e.Step)
	}
	s.run.Items++
	s.items[e.Item] = ItemRow{ItemOpened: e, Stream: r.Stream, Run: s.run.Opened.Run, Opened: r.At, Open: true, Parent: s.run.Opened.Parent, Behind: s.behind(i)}
	s.dirty.item(s.items[e.Item])
	s.change(i, func(st *step) {
		st.Item, st.Heed = e.Item, nil
		st.Used.Work.run(false, r.At)
	})
	return nil
}

func (s *State) admitUnasked(in Unasked) ([]Event, error) {
	i, err := s.known(in.Key)
	if err != nil {
		return nil, err
	}
	if !s.underWay(i, in.Key) || !s.begged(i) {
		return nil, refuse(Conflict, in.Key.String()+" asks nothing")
	}
	return []Event{ItemAnswered{Item: s.steps[i].Item, Choice: ChooseDeny, Text: text(in.Why), By: Harness}}, nil
}

// begged reports whether the work of the step waits for a person's word.
func (s *State) begged(i int) bool {
	return s.steps[i].Item != "" && s.items[s.steps[i].Item].Kind == Permission
}

// Begs reports whether the item is of work that waits for a person's word.
func (s *State) Begs(item string) bool { return s.items[item].Kind == Permission }

// applyPermitted folds the answer to an agent.
func (s *State) applyPermitted(it ItemRow, e ItemAnswered, at time.Time) error {
	i, err := s.at(it.Step)
	if err != nil {
		return err
	}
	if len(e.Args) > 0 {
		return fmt.Errorf("item %q is answered with arguments, which it does not take", e.Item)
	}
	if g := (Grant{it.Wanted.Role, it.Wanted.Pattern}); e.Choice == ChooseAllowRun && !slices.Contains(s.run.Grants, g) && len(s.run.Grants) < maxGrants {
		s.run.Grants = append(slices.Clip(s.run.Grants), g)
	}
	s.change(i, func(st *step) {
		s.closeItem(i)
		st.Heed = &e
		st.Used.Work.run(true, at)
	})
	if e.By != Harness {
		s.recount()
	}
	return nil
}

// unask takes back what the work of the step asked, since it is over.
func (s *State) unask(i int, at time.Time) {
	st := &s.steps[i]
	if s.begged(i) {
		s.closeItem(i)
		st.Used.Work.run(true, at)
	}
	st.Heed = nil
}

// overdue is the question of a step under way that has waited longest beyond its time.
func (s *State) overdue() (ItemRow, bool) {
	var first ItemRow
	for _, i := range s.active {
		if it := s.items[s.steps[i].Item]; it.Kind == Permission && (first.Item == "" || it.Expires.Before(first.Expires)) {
			first = it
		}
	}
	return first, first.Item != ""
}

// expires answers for a person who did not.
func (s *State) expires(now time.Time) (Event, bool) {
	it, ok := s.overdue()
	if !ok || it.Expires.After(now) {
		return nil, false
	}
	return ItemAnswered{Item: it.Item, Choice: ChooseDeny, Text: "nobody answered within " + it.Expires.Sub(it.Opened).String(), By: Harness}, true
}

// Heeded is the answer to what the work of this key asked last; over says that there will
// be none, or that it is there.
func (s *State) Heeded(k Key) (a ItemAnswered, over bool) {
	i, err := s.known(k)
	if err != nil || !s.underWay(i, k) {
		return a, true
	}
	if heed := s.steps[i].Heed; heed != nil {
		return *heed, true
	}
	return a, !s.begged(i)
}

// Grants reports whether a person has allowed it for the run.
func (s *State) Grants(k Key, pattern string) bool {
	i, err := s.known(k)
	return err == nil && pattern != "" && slices.Contains(s.run.Grants, Grant{s.steps[i].Role, pattern})
}
