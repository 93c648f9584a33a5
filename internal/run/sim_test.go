package run_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/tier"
)

var (
	simN    = flag.Uint64("sim.n", uint64(tier.Draws(30, 1000)), "how many seeds the simulation takes")
	simSeed = flag.Int64("sim.seed", -1, "simulate this seed alone and print its journal")
)

// TestSimulation runs the real host in worlds where everything that can go
// wrong does, and lets an auditor judge what is left: the journal, and the log
// of what was really started. Some worlds unfold twice: nothing but the seed decides
// what happens, so that a failure can be had again.
func TestSimulation(t *testing.T) {
	if *simSeed >= 0 {
		w := simulate(t, uint64(*simSeed), planted{})
		t.Logf("seed %d\n%s", *simSeed, w.journal())
		w.report(t)
		return
	}
	var all tally
	t.Run("seeds", func(t *testing.T) {
		shards := uint64(runtime.GOMAXPROCS(0))
		for shard := range shards {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for seed := shard; seed < *simN && !t.Failed(); seed += shards {
					w := simulate(t, seed, planted{})
					w.report(t)
					all.count(w)
					if seed >= uint64(tier.Draws(5, 200)) {
						continue
					}
					if first, second := w.journal(), simulate(t, seed, planted{}).journal(); !bytes.Equal(first, second) {
						t.Errorf("seed %d has two journals:\n%s", seed, firstDifference(first, second))
					}
				}
			})
		}
	})
	t.Log(all.String())
	if *simN >= 1000 && !t.Failed() {
		all.complete(t)
	}
}

func firstDifference(a, b []byte) string {
	as, bs := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(as), len(bs)) {
		if !bytes.Equal(as[i], bs[i]) {
			return fmt.Sprintf("%s\n%s", as[i], bs[i])
		}
	}
	return fmt.Sprintf("one has %d lines, the other %d", len(as), len(bs))
}

// simulate lets a world unfold and audits it.
func simulate(t *testing.T, seed uint64, bug planted) (w *world) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			w.find("panic", "%v", p)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		w = newWorld(seed, bug)
		w.unfold()
	})
	w.audit()
	return w
}

// report fails the test if the audit found anything, and keeps the journal.
func (w *world) report(t *testing.T) {
	t.Helper()
	if len(w.found) == 0 {
		return
	}
	path := filepath.Join(t.ArtifactDir(), fmt.Sprintf("seed-%d.journal", w.seed))
	if err := os.WriteFile(path, w.journal(), 0o600); err != nil {
		t.Error(err)
	}
	var text strings.Builder
	for _, f := range w.found[:min(len(w.found), 10)] {
		fmt.Fprintf(&text, "%s: %s\n", f.rule, f.text)
	}
	t.Errorf("seed %d (again: -run TestSimulation -sim.seed %d; -artifacts keeps its journal, %s)\n%s", w.seed, w.seed, path, text.String())
}

// journal is everything the store holds of what happened, as text.
func (w *world) journal() []byte {
	var b bytes.Buffer
	for _, stream := range w.streams() {
		for r, err := range w.store.Read(context.Background(), stream, 0) {
			if err != nil {
				fmt.Fprintf(&b, "%s: %v\n", stream, err)
				break
			}
			body, _ := engine.Encode(r.Event)
			fmt.Fprintf(&b, "%s %d %s %q %d %s %s\n", r.Stream, r.Seq, r.At.Format(time.RFC3339Nano), r.Actor, r.Epoch, r.Event.Type(), body)
		}
	}
	return b.Bytes()
}

func isErr(err, target error) bool { return errors.Is(err, target) }

func (w *world) broke(rule string) bool {
	return slices.ContainsFunc(w.found, func(f finding) bool { return f.rule == rule })
}
