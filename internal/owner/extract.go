package owner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/effect"
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

// extracted asks what is worth keeping of a run. The answer is a claim: it is read as
// data, and people say what becomes of it.
func (o *Owner) extracted(ctx context.Context, p *api.Product, e engine.Effect, _ effect.Reporter) (in engine.Ended, _ [][]byte, err error) {
	row, err := p.Errand(ctx, e.Key.Step)
	if err != nil {
		return in, nil, err
	}
	asked := row.Asked
	if asked.Config != p.Settings() {
		if err := trusts(ctx, p); err != nil {
			return in, nil, err
		}
	}
	question, err := o.whatToKeep(ctx, p, asked)
	if err != nil {
		return in, nil, err
	}
	ask, err := o.asker(p, "extraction", o.environ(e.Key.Task))
	if err != nil {
		return in, nil, err
	}
	dir, done, err := o.world().Scratch()
	if err != nil {
		return in, nil, err
	}
	defer done()
	log := filepath.Join("attempts", "plans", fmt.Sprintf("%s.%d.log", e.Key.Step, e.Key.N))
	began := o.cfg.Now()
	a, err := ask.Ask(ctx, model.Question{Prompt: question, Dir: dir, Log: filepath.Join(o.cfg.Place.State, log), Schema: json.RawMessage(prompt.KeepSchema)})
	in = engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{How: engine.Exited, Ms: o.cfg.Now().Sub(began).Milliseconds(), Usage: a.Usage, Log: log}}
	f, failed := errors.AsType[*model.Failure](err)
	switch {
	case failed:
		in.How, in.Reason = f.How, f.Reason
	case err != nil:
		return in, nil, err
	default:
		if in.Memories, err = readMemories(a.Text); err != nil {
			in.Memories, in.Reason = nil, "what it answered is not taken: "+err.Error()
		}
	}
	if in.Reason != "" && ctx.Err() == nil {
		o.say("nothing is proposed to be kept of run %s: %s", asked.Run, in.Reason)
	}
	return in, nil, nil
}

// readMemories reads an answer, bare or between fences: all of it, or nothing.
func readMemories(text string) ([]engine.Memory, error) {
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from {
		return nil, errors.New("it is no JSON object with a list of memories")
	}
	var said struct {
		Memories []json.RawMessage `json:"memories"`
	}
	d := json.NewDecoder(strings.NewReader(text[from : to+1]))
	d.DisallowUnknownFields()
	if err := d.Decode(&said); err != nil || d.More() || said.Memories == nil {
		return nil, errors.New("it is no JSON object with a list of memories")
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
			in := engine.MemoryWritten{Item: a.Item, Path: name, Hash: fmt.Sprintf("%x", sha256.Sum256(text))}
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
	ctx := context.Background()
	p, err := o.base.For(ctx, api.Caller{}, o.base.Config)
	if err != nil {
		return false
	}
	all, _ := p.Adoptions(ctx)
	for _, a := range all {
		if bytes.Equal(memoryText(a), text) {
			return true
		}
	}
	return false
}
