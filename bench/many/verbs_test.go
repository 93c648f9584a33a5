//go:build bench

package many_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/built"
)

// BenchmarkVerbs times whole processes.
func BenchmarkVerbs(b *testing.B) {
	piton := build(b)
	for _, runs := range []int{100, 10_000} {
		w := workspace(b, piton)
		fill(b, w.place, runs)
		old := runID(0, 0)[:5]
		for _, args := range [][]string{
			{"version"},
			{"list"},
			{"list", "--json"},
			{"list", "--status", "waiting"},
			{"list", "--title", "part 3"},
			{"status"},
			{"status", old},
			{"log", old},
			{"inbox"},
			{"prime"},
			{"why", "1", "--run", old},
			{"show", old},
			{"show", "--retro", "--json", old},
			{"diff", old + "@1", old + "@2"},
			{"history", old},
		} {
			b.Run(fmt.Sprintf("%d/%s", runs, strings.ReplaceAll(strings.Join(args, "_"), old, "OLD")), func(b *testing.B) { w.time(b, args) })
		}
	}
}

// place is a workspace with the program that looks at it.
type place struct {
	place api.Place
	piton string
	env   []string
}

func build(b *testing.B) string {
	b.Helper()
	piton, err := built.Piton()
	if err != nil {
		b.Fatal(err)
	}
	return piton
}

func workspace(b *testing.B, piton string) place {
	b.Helper()
	dir, state := b.TempDir(), b.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".piton"), 0o755); err != nil {
		b.Fatal(err)
	}
	at, err := api.Locate(dir, map[string]string{"PITON_STATE": state})
	if err != nil {
		b.Fatal(err)
	}
	return place{place: at, piton: piton, env: append(os.Environ(), "PITON_STATE="+state)}
}

// time runs the verb again and again and reports how long the processes took.
func (w place) time(b *testing.B, args []string) {
	var took []time.Duration
	var busy time.Duration
	for b.Loop() {
		c := exec.Command(w.piton, args...)
		c.Dir, c.Env = w.place.Dir, w.env
		began := time.Now()
		out, err := c.CombinedOutput()
		took = append(took, time.Since(began))
		busy += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		if err != nil || len(out) == 0 {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(busy.Microseconds())/1000/float64(len(took)), "cpu-ms")
	for _, p := range []int{50, 95} {
		b.ReportMetric(float64(took[(len(took)-1)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
	}
}
