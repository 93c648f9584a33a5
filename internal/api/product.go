package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Unsealed is the isolation level of runs whose agents and contracts see what
// the user sees.
const Unsealed = "none"

// Product is Piton at one workspace. Every face reads the journal by its methods;
// those that take a [Desk] are for the owner, which alone has one. It is safe for
// concurrent use.
type Product struct {
	Place   Place
	Config  config.Config
	Store   store.Store // opened for reading at least
	Here    string      // where the person is, which relative paths begin at; "" is the directory of this process
	Env     []string    // name=value: where commands are looked for
	Version string
	Now     func() time.Time
	By      string // who acts
	Via     string // through which face: "cli", "page", "http"
	// Files are the documents of a workspace on another machine, and InForce the hash of its
	// settings; nil and "" for a workspace of this one.
	Files   Files
	InForce string
	Guest   bool // the person is at another machine: of this one they see the workspace alone

	reading sync.Mutex
	folded  *engine.Workspace // as far as it was read; never changed
}

// For is the product for one request: with who asks, where they are, and a
// configuration. It knows what was read of the workspace's stream.
func (p *Product) For(ctx context.Context, c Caller, conf config.Config) (*Product, error) {
	w, err := p.workspace(ctx)
	return &Product{
		Place: p.Place, Config: conf, Store: p.Store, Here: c.Dir, Env: c.Env, Version: p.Version, Now: p.Now, By: c.By, Via: c.Via, Guest: c.User != nil, folded: w,
	}, err
}

// workspace is the fold of the workspace's stream. Only records that came since
// the last call are read; nobody changes what it returns.
func (p *Product) workspace(ctx context.Context) (*engine.Workspace, error) {
	p.reading.Lock()
	defer p.reading.Unlock()
	if p.folded == nil {
		p.folded = &engine.Workspace{}
	}
	w := p.folded
	for r, err := range p.Store.Read(ctx, engine.WorkspaceStream, w.Seq()) {
		if w == p.folded {
			w = w.Clone() // others may still look at what it was
		}
		if err == nil {
			err = w.Apply(r)
		}
		if err != nil {
			return nil, fmt.Errorf("read the workspace's journal: %w", err)
		}
	}
	if w != p.folded {
		w.Forget()
		p.folded = w
	}
	return w, nil
}

// NewRun returns a short random id that no run of this workspace has.
func (p *Product) NewRun(ctx context.Context) (string, error) {
	for {
		var b [3]byte
		rand.Read(b[:]) //nolint:errcheck // it never fails
		id := hex.EncodeToString(b[:])
		taken, err := p.Store.Heads(ctx, store.HeadFilter{Run: id, Limit: 1})
		if err != nil || len(taken) == 0 {
			return id, err
		}
	}
}

// similar is how many runs are named where a prefix fits several.
const similar = 3

// Find returns the run with this id, or else the only one whose id begins with
// it; the newest run for "".
func (p *Product) Find(ctx context.Context, prefix string) (engine.HeadRow, error) {
	if prefix != "" {
		if exact, err := p.Store.Heads(ctx, store.HeadFilter{Run: prefix, Limit: 1}); err != nil || len(exact) == 1 {
			return head(exact), err
		}
	}
	limit := similar + 1
	if prefix == "" {
		limit = 1
	}
	found, err := p.Store.Heads(ctx, store.HeadFilter{Prefix: prefix, Top: prefix == "", Limit: limit})
	switch {
	case err != nil, len(found) == 1:
		return head(found), err
	case len(found) > 1:
		return engine.HeadRow{}, ambiguous(prefix, found)
	case prefix == "":
		return engine.HeadRow{}, NoRuns()
	}
	if IsRevision(prefix) {
		return p.onRevision(ctx, prefix)
	}
	if _, err := os.Stat(p.at(prefix)); err == nil && !p.Guest && p.Files == nil {
		return engine.HeadRow{}, &Problem{
			Code: NotFound, Message: prefix + " is a file; this needs the id of a run",
			Hint: "piton list shows the runs; without an id the newest is used",
		}
	}
	return engine.HeadRow{}, &Problem{Code: NotFound, Message: fmt.Sprintf("no run %q in this workspace", prefix), Hint: "piton list shows them"}
}

// unended is how many runs that have not ended are looked for.
const unended = 5

// Unended lists the runs that have not ended and carry out no step of another one,
// the newest of them first.
func (p *Product) Unended(ctx context.Context) ([]engine.HeadRow, error) {
	return p.Store.Heads(ctx, store.HeadFilter{Top: true, Status: []engine.Status{engine.Running, engine.Waiting, engine.Paused, engine.Replanning}, Limit: unended})
}

// NoRuns is the problem of a workspace where nothing was run.
func NoRuns() *Problem {
	return &Problem{Code: NotFound, Message: "no plan has run in this workspace yet", Hint: "piton run PLAN"}
}

func head(found []engine.HeadRow) engine.HeadRow {
	if len(found) == 0 {
		return engine.HeadRow{}
	}
	return found[0]
}

func ambiguous(prefix string, found []engine.HeadRow) error {
	var names []string
	for _, h := range found[:min(len(found), similar)] {
		names = append(names, h.Run)
	}
	if len(found) > similar {
		names = append(names, "…")
	}
	return &Problem{
		Code: Invalid, Message: fmt.Sprintf("more than one run begins with %q: %s", prefix, strings.Join(names, ", ")),
		Hint: "give more of the id; piton list shows them",
	}
}

// Step finds the step that word names in a run: an id, a unique prefix of one, or
// the number in the plan. One of a run that carries out a step is named behind that
// step, as in build/test or 1/2; the run that has the step is returned too.
func (p *Product) Step(ctx context.Context, head engine.HeadRow, word string) (engine.HeadRow, string, error) {
	word, below, isBelow := strings.Cut(word, "/")
	step, err := p.step(ctx, head, word)
	if err != nil || !isBelow {
		return head, step, err
	}
	runs, err := p.Store.Heads(ctx, store.HeadFilter{Stream: engine.ChildTask(head.Stream, step)})
	if err != nil {
		return head, "", err
	}
	i := slices.IndexFunc(runs, func(h engine.HeadRow) bool { return h.Parent.Run == head.Run })
	if i < 0 {
		return head, "", &Problem{Code: NotFound, Message: fmt.Sprintf("step %s of run %s has no run", step, head.Run), Hint: "piton status shows the steps"}
	}
	return p.Step(ctx, runs[i], below)
}

// step is the id of a step of the run itself.
func (p *Product) step(ctx context.Context, head engine.HeadRow, word string) (string, error) {
	steps, err := p.Store.Steps(ctx, store.StepFilter{Stream: head.Stream, Run: head.Run, Word: word})
	if err != nil {
		return "", err
	}
	var found []string
	for _, s := range steps {
		if s.ID == word || s.Number == word {
			return s.ID, nil
		}
		if _, instance := engine.InstanceOf(s.ID); strings.HasPrefix(s.ID, word) && (!instance || strings.Contains(word, ".")) {
			found = append(found, s.ID)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", &Problem{Code: NotFound, Message: fmt.Sprintf("the run has no step %q", word), Hint: "piton status shows them"}
	}
	return "", &Problem{Code: Invalid, Message: fmt.Sprintf("%q may be any of these steps: %s", word, strings.Join(found, ", ")), Hint: "give more of the id"}
}

// names reports whether a word is the beginning of an item's id: of the id as a
// whole, or of its run's with the item's number.
func names(word, item string) bool {
	run, number, numbered := strings.Cut(word, "/")
	of, is, _ := cutLast(item, "/")
	return strings.HasPrefix(of, run) && (!numbered || number == is)
}

// Item returns the open item that word names: its id, or a unique prefix, of the
// run's too, as in 7f3/1.
func (p *Product) Item(ctx context.Context, word string) (engine.ItemRow, error) {
	items, err := p.Store.Items(ctx, store.ItemFilter{Open: true})
	if err != nil {
		return engine.ItemRow{}, err
	}
	var found []engine.ItemRow
	for _, it := range items {
		if it.Item == word {
			return it, nil
		}
		if names(word, it.Item) {
			found = append(found, it)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return engine.ItemRow{}, &Problem{Code: NotFound, Message: fmt.Sprintf("no open item %q", word), Hint: "piton inbox lists the open items"}
	}
	return engine.ItemRow{}, &Problem{Code: Invalid, Message: fmt.Sprintf("%d items begin with %q", len(found), word), Hint: "give more of the id"}
}
