package effect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/tree"
)

// expand finds the files that a step is for each of.
func (w *World) expand(ctx context.Context, e engine.Effect, _ Reporter) Result {
	in := engine.Expanded{Key: e.Key}
	var err error
	if in.Items, err = Items(ctx, w.Tree, e.Step.Each); err != nil {
		in.Err = err.Error()
	}
	if ctx.Err() != nil {
		return Result{}
	}
	return Result{Input: in}
}

// Items are the files of a tree that a step is for each of.
func Items(ctx context.Context, t *tree.Tree, each *engine.Each) ([]json.RawMessage, error) {
	names, err := t.Find(ctx, each.Glob, engine.MaxInstances*max(1, each.Batch))
	if err != nil {
		return nil, err
	}
	items := make([]json.RawMessage, len(names))
	for n, name := range names {
		if items[n], err = engine.EncodeValue(name); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// output is what a step put out, of a step for each item the list of what its
// instances did; false where it has none.
func (w *World) output(e engine.Effect, id string) ([]byte, bool, error) {
	if hashes, ok := e.Lists[id]; ok {
		list, err := w.list(id, hashes)
		return list, err == nil, err
	}
	hash, ok := e.Outputs[id]
	if !ok {
		return nil, false, nil
	}
	body, err := w.Object(hash)
	if err != nil {
		return nil, false, fmt.Errorf("read the output of step %q: %w", id, err)
	}
	return body, true, nil
}

// list writes outputs as one JSON list, null for one that is not there.
func (w *World) list(id string, hashes []string) ([]byte, error) {
	values := make([][]byte, len(hashes))
	size := 2
	for n, hash := range hashes {
		var v any
		if hash != "" {
			body, err := w.Object(hash)
			if err != nil {
				return nil, fmt.Errorf("read the output of step %q: %w", engine.InstanceID(id, n+1), err)
			}
			if v, err = engine.ValueOf(body); err != nil {
				return nil, misfit(fmt.Sprintf("the output of step %q: %v", engine.InstanceID(id, n+1), err))
			}
		}
		var err error
		if values[n], err = engine.EncodeValue(v); err != nil {
			return nil, err
		}
		if size += len(values[n]) + 1; size > engine.MaxOutput {
			return nil, misfit(fmt.Sprintf("the outputs of the instances of step %q are longer than 1 MiB together", id))
		}
	}
	return fmt.Appendf(nil, "[%s]", bytes.Join(values, []byte(","))), nil
}
