package effect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/tree"
)

// maxTouched is how many paths are watched one by one.
const maxTouched = 200

// survey looks at the tree before the proof at the end, and after it for what was
// written to meanwhile.
func (w *World) survey(ctx context.Context, e engine.Effect, _ Reporter) Result {
	news, err := w.catchUp(ctx, e)
	if err != nil {
		return refusal(ctx, e, err)
	}
	now, touched, err := w.Tree.Stamps(ctx, e.Document)
	if err != nil {
		return refusal(ctx, e, err)
	}
	if !e.After {
		body := now.Encode()
		return Result{Input: engine.Surveyed{Key: e.Key, Tree: digest(body), Touched: collapsed(touched), CaughtUp: news}, Bodies: [][]byte{body}}
	}
	body, err := w.Object(e.Tree)
	if err != nil {
		return refusal(ctx, e, fmt.Errorf("read the state of the workspace: %w", err))
	}
	before, err := tree.DecodeStamps(body)
	if err != nil {
		return refusal(ctx, e, fmt.Errorf("read the state of the workspace: %w", err))
	}
	return Result{Input: engine.Surveyed{Key: e.Key, Touched: collapsed(before.Touched(now))}}
}

// collapsed names whole directories in the place of too many paths.
func collapsed(touched []string) []string {
	if len(touched) <= maxTouched {
		return touched
	}
	var tops []string
	for _, path := range touched {
		if dir, _, in := strings.Cut(strings.TrimPrefix(path, "./"), "/"); in && !slices.Contains(tops, dir+"/**") {
			tops = append(tops, dir+"/**")
		}
	}
	for _, path := range touched {
		if !strings.Contains(strings.TrimPrefix(path, "./"), "/") {
			tops = append(tops, path)
		}
	}
	if len(tops) > maxTouched {
		return []string{"./**"}
	}
	return tops
}

// altered adds what the checks changed of what is watched.
func (w *World) altered(ctx context.Context, e engine.Effect, before map[string]string, results []engine.CheckEnded) error {
	after, err := w.Tree.Digests(ctx, e.Watch, e.Document)
	for _, path := range e.Watch {
		if is, was := after[path], before[path]; is != was && len(results) > 0 {
			last := &results[len(results)-1]
			last.Altered = append(last.Altered, engine.Alteration{Path: path, Was: was, Is: is})
		}
	}
	return err
}
