package effect

import (
	"context"
	"slices"

	"github.com/piton-dev/piton/internal/check"
	"github.com/piton-dev/piton/internal/engine"
)

// again asks the checks anew, at once, where they contradict what they said before of the
// same files, and where they fail in the proof at the end: there a step that was done
// begins again otherwise. It stops at the first answer that differs.
func (w *World) again(ctx context.Context, e engine.Effect, job check.Job, results []engine.CheckEnded, seen *watcher) ([]engine.CheckEnded, error) {
	said := engine.Said(results)
	if !e.Step.Rerunnable || len(results) == 0 || said != engine.Pass && said != engine.Fail {
		return results, nil
	}
	print, err := w.print(ctx, e, job.Phase, said, seen)
	if err != nil {
		return nil, err
	}
	same := print != "" && engine.Differs(e.Seen, print, said) ||
		job.Phase == engine.Verifying && engine.Differs(e.Seen, "", said) && w.untouched(ctx, e, results)
	more := job.Phase == engine.Ratchet && said == engine.Fail || same
	for n := 0; n < engine.MaxReruns && more; n++ {
		others := check.Run(ctx, job)
		other := engine.Said(others)
		if other == engine.Infra {
			return others, nil // they are asked again once the machine is in order
		}
		for i, o := range others {
			if o.Verdict != engine.Infra {
				results[i].Reruns = append(results[i].Reruns, o.Verdict)
			}
		}
		more = other == said
	}
	for i := range results {
		results[i].Tree, results[i].Same = print, same
	}
	return results, nil
}

// print is the hash of the tree where a later answer may have to be compared with this
// one, or this one with an earlier: not on the usual way, from red to green at once.
func (w *World) print(ctx context.Context, e engine.Effect, phase engine.Phase, said engine.Verdict, seen *watcher) (string, error) {
	known := slices.ContainsFunc(e.Seen, func(s engine.Seen) bool { return s.Tree != "" })
	usual := said == engine.Pass
	if phase == engine.Baseline {
		usual = (said == engine.Pass) == (e.Step.Expect == engine.ExpectGreen) || e.Step.Expect == engine.ExpectAny
	}
	if usual && !known {
		return "", nil
	}
	return w.Tree.Print(ctx, seen.files, e.Document, seen.began)
}

// untouched reports whether nothing of the tree changed since the first work of the step
// began. What the checks opened says so in most cases.
func (w *World) untouched(ctx context.Context, e engine.Effect, results []engine.CheckEnded) bool {
	for _, c := range results {
		if o := c.Opened; o != nil && len(o.Changed)+len(o.Made)+len(o.Gone) > 0 {
			return false
		}
	}
	return !e.Since.IsZero() && w.Tree.Untouched(ctx, e.Since, e.Document)
}
