package owner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
	"github.com/piton-dev/piton/internal/notes"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/prompt"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// lookBack goes on with asking what is worth keeping of runs that have ended. Nobody
// waits for that.
func (o *Owner) lookBack(env []string) {
	ctx := context.Background()
	asks, err := o.extracts(ctx)
	if err == nil && asks {
		var leave func()
		leave, err = o.carry(ctx, api.Caller{By: engine.Harness, Via: engine.Harness, Dir: o.cfg.Place.Dir, Env: env}, engine.WorkspaceStream, api.Leave)
		if err == nil {
			leave()
		}
	}
	if err != nil {
		o.say("what was learnt is not asked for yet: %v", err)
	}
}

// extracts reports whether anybody is to be asked.
func (o *Owner) extracts(ctx context.Context) (asks bool, err error) {
	p, err := o.base.For(ctx, api.Caller{}, o.base.Config)
	if err != nil {
		return false, err
	}
	return p.Looks(ctx)
}

// extract asks what is worth keeping of a run. The answer is a claim: it is read as data,
// and people say what becomes of it.
func (w *errand) extract(ctx context.Context) (in engine.Ended, err error) {
	question, err := w.whatToKeep(ctx, w.product, w.asked)
	if err != nil {
		return in, err
	}
	ask, err := w.asker(w.product, "extraction", w.product.Config.Extraction, w.environ)
	if err != nil {
		return in, err
	}
	dir, done, err := w.world().Scratch()
	if err != nil {
		return in, err
	}
	defer done()
	a, err := ask.Ask(ctx, model.Question{Prompt: question, Dir: dir, Log: w.logFile(), Schema: json.RawMessage(prompt.KeepSchema)})
	in = w.over(engine.Exited, "", a.Usage)
	f, failed := errors.AsType[*model.Failure](err)
	switch {
	case failed:
		in.How, in.Reason = f.How, f.Reason
	case err != nil:
		return in, err
	default:
		if in.Memories, err = readMemories(a.Text); err != nil {
			in.Memories, in.Reason = nil, "what it answered is not taken: "+err.Error()
		}
	}
	if in.Reason != "" && ctx.Err() == nil {
		w.say("nothing is proposed to be kept of run %s: %s", w.asked.Run, in.Reason)
	}
	return in, nil
}

// readMemories reads an answer: all of it, or nothing.
func readMemories(text string) ([]engine.Memory, error) {
	var said struct {
		Memories []json.RawMessage `json:"memories"`
	}
	if err := model.Object(text, &said); err != nil || said.Memories == nil {
		return nil, errors.New("it is not one JSON object with a list of memories, alone or between fences")
	}
	if len(said.Memories) > engine.MaxMemories {
		return nil, fmt.Errorf("it has %d memories; at most %d are taken", len(said.Memories), engine.MaxMemories)
	}
	var all []engine.Memory
	for n, raw := range said.Memories {
		m, err := engine.ReadMemory(raw)
		if err != nil {
			return nil, fmt.Errorf("memory %d: %w", n+1, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// whatToKeep is the question about a run, with what the journal tells of it.
func (o *Owner) whatToKeep(ctx context.Context, p *api.Product, asked engine.ErrandAsked) (string, error) {
	head, err := p.Find(ctx, asked.Run)
	if err != nil {
		return "", err
	}
	in := prompt.Ended{Title: head.Title, Status: head.Status, Reason: head.Reason}
	if in.Steps, err = o.store.Steps(ctx, store.StepFilter{Stream: head.Stream, Run: head.Run}); err != nil {
		return "", err
	}
	for r, err := range run.ReadRun(ctx, o.store, head) {
		if err != nil {
			return "", err
		}
		if e, ok := r.Event.(engine.FramePushed); ok {
			in.Frames = append(in.Frames, e)
		}
	}
	known, err := notes.Memories(o.cfg.Place.Dir)
	for _, m := range known {
		if m.Name != "*" {
			in.Known = append(in.Known, m.Name)
		}
	}
	return prompt.Keep(in), err
}

// keepAdopted writes the memories that people adopted and that are no files yet.
func (o *Owner) keepAdopted(ctx context.Context) {
	p, err := o.base.For(ctx, api.Caller{}, o.base.Config)
	if err != nil {
		o.say("%v", err)
		return
	}
	all, err := p.Adoptions(ctx)
	for _, a := range all {
		if a.Path != "" || err != nil {
			continue
		}
		text := memoryText(a)
		var name string
		if name, err = project.NewMemory(o.cfg.Place.Dir, notes.MemoryDir, a.Memory.Title, text); err == nil {
			in := engine.MemoryWritten{Item: a.Item, Path: name, Hash: store.NewObject(text).Hash}
			err = o.host.Submit(ctx, engine.WorkspaceStream, engine.Written{MemoryWritten: in})
		}
	}
	if err != nil {
		o.say("an adopted memory is not written yet: %v", err)
	}
}

// memoryText is the file of an adopted memory.
func memoryText(a engine.Adoption) []byte {
	words, _ := json.Marshal(a.Memory.WhenToUse) //nolint:errcheck // a list of texts always can
	from, _ := json.Marshal(fmt.Sprintf("run %s, adopted by %s on %s", a.Run, a.By, a.At.UTC().Format("2006-01-02")))
	return fmt.Appendf(nil, "---\nwhen_to_use: %s\nimportance: %d\nprovenance: %s\n---\n# %s\n\n%s\n", words, a.Memory.Importance, from, a.Memory.Title, strings.TrimSpace(a.Memory.Text))
}

// isAdopted reports whether a text is that of an adopted memory.
func (o *Owner) isAdopted(text []byte) bool {
	all, _ := o.base.Adoptions(context.Background())
	return slices.ContainsFunc(all, func(a engine.Adoption) bool { return bytes.Equal(memoryText(a), text) })
}
