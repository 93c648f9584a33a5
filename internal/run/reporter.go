package run

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// A Reporter is how an effect under way speaks with its owner. It is safe for
// concurrent use.
type Reporter struct {
	host   *Host
	effect engine.Effect
}

// Said says that the attempt has said something of itself, which is in its file:
// whoever watches is told soon.
func (r *Reporter) Said() {
	r.host.mu.Lock()
	r.host.said = true
	r.host.mu.Unlock()
	r.host.Nudge()
}

// Report says what the effect's work used so far, and claims. It is in the journal
// soon, unless the work ends before.
func (r *Reporter) Report(usage engine.Usage, claims engine.Claims) {
	k := r.effect.Key
	r.host.put(envelope{stream: k.Task, in: engine.Reported{Key: k, Usage: usage, Claims: claims}})
}

// Heard puts an answer that the effect's work got into the journal, and returns when it
// is durable there: only then may the next question be asked. The error says that the
// answer counts for nothing, and so does the rest of the work.
func (r *Reporter) Heard(ctx context.Context, round int, answer []byte, usage engine.Usage) error {
	k, object := r.effect.Key, store.NewObject(answer)
	in := engine.Heard{Key: k, Round: round, Answer: object.Hash, Usage: usage}
	return r.host.send(ctx, envelope{stream: k.Task, in: in, objects: []store.Object{object}})
}

// Voted puts an answer of a judge into the journal, in the same way.
func (r *Reporter) Voted(ctx context.Context, v engine.JudgeVoted) error {
	k := r.effect.Key
	return r.host.send(ctx, envelope{stream: k.Task, in: engine.Voted{Key: k, JudgeVoted: v}})
}

// Tried puts what the checks said without a part of the change into the journal, in the same way.
func (r *Reporter) Tried(ctx context.Context, p engine.PartTried) error {
	k := r.effect.Key
	return r.host.send(ctx, envelope{stream: k.Task, in: engine.Tried{Key: k, PartTried: p}})
}

// Ask puts to people what the effect's work asks for in the middle of it, and returns
// their answer once that is durable. What a person has allowed for the run already nobody is
// asked about again. The error says that there will be no answer; where ctx has ended, the
// question is taken back.
func (r *Reporter) Ask(ctx context.Context, w engine.Wanted, about string) (engine.ItemAnswered, error) {
	h, k := r.host, r.effect.Key
	granted := false
	look := func(s *engine.State) { granted = s.Grants(k, w.Pattern) }
	if err := h.send(ctx, envelope{stream: k.Task, look: look}); err != nil || granted {
		return engine.ItemAnswered{Choice: engine.ChooseAllowRun}, err
	}
	if err := h.send(ctx, envelope{stream: k.Task, in: engine.Asks{Key: k, Wanted: w, Context: about}}); err != nil {
		h.put(envelope{stream: k.Task, in: engine.Unasked{Key: k, Why: "its agent waits for no answer any more"}})
		return engine.ItemAnswered{}, err
	}
	q := question{key: k, reply: make(chan engine.ItemAnswered, 1)}
	h.mu.Lock()
	h.questions = append(h.questions, q)
	h.mu.Unlock()
	h.Nudge()
	select {
	case a := <-q.reply:
		if a.Item == "" {
			return a, errNoAnswer
		}
		return a, nil
	case <-ctx.Done():
		h.put(envelope{stream: k.Task, in: engine.Unasked{Key: k, Why: "its agent waits for no answer any more"}})
		return engine.ItemAnswered{}, ctx.Err()
	case <-h.over:
		return engine.ItemAnswered{}, ErrStopped
	}
}

// errNoAnswer says that a question was taken back.
var errNoAnswer = errors.New("the question was taken back")

// question is work that waits for a person's answer.
type question struct {
	key   engine.Key
	reply chan engine.ItemAnswered
}

// heed hands on the answers that are durable now to the work that waits for them.
func (h *Host) heed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.questions = slices.DeleteFunc(h.questions, func(q question) bool {
		t := h.tasks[q.key.Task]
		if t == nil {
			q.reply <- engine.ItemAnswered{}
			return true
		}
		a, over := t.state.Heeded(q.key)
		if over {
			q.reply <- a
		}
		return over
	})
}

// spoke reports whether an effect has said something since the last turn.
func (h *Host) spoke() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	said := h.said
	h.said = false
	return said
}

// Beside lists who is at work in the same tree, and who was since the effect's
// work began, or since the start that was cut off. It waits for the loop. What
// was seen in the tree before the call is the doing of one of these, of the
// effect's own work, or of nobody here.
//
// After a cut that goes for runs too that nobody carries out now, or that have
// ended; they are replayed. One that cannot be read covers nothing: then a person
// is asked.
func (r *Reporter) Beside() []engine.Neighbour {
	q := inquiry{of: r.effect, reply: make(chan besides, 1)}
	r.host.mu.Lock()
	r.host.inquiries = append(r.host.inquiries, q)
	r.host.mu.Unlock()
	r.host.Nudge()
	select {
	case known := <-q.reply:
		if r.effect.Cut && r.effect.Tree != "" && !r.effect.Worktree {
			known.others(r.host.cfg.Store, r.effect)
		}
		return known.list
	case <-r.host.over: // nobody takes the answer of this effect any more
		return nil
	}
}

// inquiry is an effect that asks who is beside it.
type inquiry struct {
	of    engine.Effect
	reply chan besides
}

// besides is who is beside an effect, and the runs that were asked.
type besides struct {
	list []engine.Neighbour
	runs map[string]bool
}

// inform answers those who ask who is beside them, with all that this turn knows.
func (h *Host) inform() {
	h.mu.Lock()
	asked := h.inquiries
	h.inquiries = nil
	h.mu.Unlock()
	for _, q := range asked {
		known := besides{runs: map[string]bool{}}
		for _, t := range h.tasks {
			known.add(q.of, t.state, t.active)
		}
		slices.SortStableFunc(known.list, func(a, b engine.Neighbour) int { return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Step, b.Step)) })
		q.reply <- known
	}
}

// add asks one run. Where nobody carries it out, nothing of it is at work.
func (b *besides) add(e engine.Effect, s *engine.State, carried bool) {
	head := s.Head()
	b.runs[head.Run] = true
	for _, n := range s.Beside(e) {
		n.Live = n.Live && carried
		if n.Run == head.Run && (n.Live || !e.Began.At.IsZero()) || n.Run != head.Run && !e.Cut { // of other runs the journal knows all
			b.list = append(b.list, n)
		}
	}
}

// others adds what the journal has of the runs that were not asked.
func (b *besides) others(st store.Store, e engine.Effect) {
	ctx := context.Background()
	heads, err := st.Heads(ctx, store.HeadFilter{})
	if err != nil {
		return
	}
	for _, head := range heads {
		if b.runs[head.Run] || head.Ended && head.Finished.Before(e.Began.At) {
			continue
		}
		if s, err := loadRun(ctx, st, head); err == nil {
			b.add(e, s, false)
		}
	}
}

// loadRun replays one run, whether its task has a newer one or not.
func loadRun(ctx context.Context, st store.Store, head engine.HeadRow) (*engine.State, error) {
	if s, err := Load(ctx, st, head.Stream); err != nil || s.Run().Run == head.Run {
		return s, err
	}
	s := &engine.State{}
	for r, err := range ReadRun(ctx, st, head) {
		if err == nil && s.Task() == "" {
			s = engine.Before(r)
		}
		if err == nil {
			err = s.Apply(r)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}
