// Command crash kills Piton, again and again, and looks from outside whether
// anything was lost.
//
// It builds the program with numbered crash points, runs a small plan with a
// retry, an escalation and parallel steps in a fresh workspace, kills it with
// SIGKILL (at every numbered point, at random triples of points, at random
// moments), starts it again until the run has ended, and then judges by what is
// outside of Piton: the events it had printed, the witness lines that the
// plan's own scripts wrote, the process table, and the journal's tables.
//
//	go run ./bench/crash -kills 1500
//	go run ./bench/crash -bugs          # every planted bug must be caught
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func main() {
	kills := flag.Int("kills", 1500, "how many kills at least")
	seed := flag.Uint64("seed", 1, "of the random kills")
	workers := flag.Int("workers", 4, "scenarios at once")
	bugs := flag.Bool("bugs", false, "plant bugs, and fail if the oracle misses one")
	keep := flag.Bool("keep", false, "keep the workspaces of failed scenarios")
	flag.Parse()
	if err := campaign(*kills, *seed, *workers, *bugs, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
}

func campaign(kills int, seed uint64, workers int, bugs, keep bool) error {
	root, err := os.MkdirTemp(memory(), "piton-crash-")
	if err != nil {
		return err
	}
	if !keep {
		defer os.RemoveAll(root)
	}
	b := &bench{root: root, binary: filepath.Join(root, "piton"), keep: keep, workers: workers}
	build := exec.Command("go", "build", "-tags", "crash", "-o", b.binary, "./cmd/piton")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	points, err := b.points()
	if err != nil {
		return err
	}
	if bugs {
		return b.hunt(points, seed)
	}
	return b.all(points, kills, seed)
}

// memory is a directory on a memory file system where there is one: a killed
// process loses nothing that it wrote there either.
func memory() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

type bench struct {
	root, binary string
	keep         bool
	workers      int
}

// scenario is one workspace and when its processes are killed, one after the other.
type scenario struct {
	id    string
	at    []int           // numbered points
	after []time.Duration // moments
	bug   string
}

func (s scenario) String() string {
	return fmt.Sprintf("%s (points %v, moments %v)", s.id, s.at, s.after)
}

// points counts the points of an undisturbed run.
func (b *bench) points() (int, error) {
	s := scenario{id: "count"}
	w, err := b.workspace(s)
	if err != nil {
		return 0, err
	}
	log := filepath.Join(w.dir, "points")
	w.extra = []string{"PITON_CRASH_LOG=" + log}
	r := w.play(s)
	if r.err != nil {
		return 0, fmt.Errorf("an undisturbed run: %w", r.err)
	}
	body, err := os.ReadFile(log)
	if err != nil {
		return 0, err
	}
	most := 0
	for line := range strings.Lines(string(body)) {
		var n int
		if _, err := fmt.Sscanf(line, "%d", &n); err == nil {
			most = max(most, n)
		}
	}
	return most, nil
}

// all runs every kind of kill until there were enough.
func (b *bench) all(points, kills int, seed uint64) error {
	began := time.Now()
	r := rand.New(rand.NewPCG(seed, 1))
	next := make(chan scenario)
	results := make(chan outcome)
	done := make(chan struct{})
	go func() {
		defer close(next)
		for n := 0; ; n++ {
			select {
			case next <- pick(n, points, r):
			case <-done:
				return
			}
		}
	}()
	var wg sync.WaitGroup
	for range b.workers {
		wg.Go(func() {
			for s := range next {
				results <- b.one(s)
			}
		})
	}
	go func() { wg.Wait(); close(results) }()
	sum, enough := tally{points: points}, false
	for o := range results {
		sum.add(o)
		if sum.scenarios%100 == 0 {
			fmt.Printf("%v, %v\n", sum, time.Since(began).Round(time.Second))
		}
		if !enough && (sum.kills >= kills && sum.scenarios >= points || sum.bad > 20) {
			enough = true
			close(done)
		}
	}
	fmt.Printf("%v, %.1f kills/s, seed %d\n", sum, float64(sum.kills)/time.Since(began).Seconds(), seed)
	if sum.bad > 0 {
		return fmt.Errorf("%d violations", sum.bad)
	}
	return nil
}

// pick takes every point once, then triples of points and random moments in turn.
func pick(n, points int, r *rand.Rand) scenario {
	s := scenario{id: fmt.Sprint(n)}
	switch {
	case n < points:
		s.at = []int{n + 1}
	case n%2 == 0:
		s.at = []int{1 + r.IntN(points), 1 + r.IntN(points), 1 + r.IntN(points)}
	default:
		for range 3 {
			s.after = append(s.after, time.Duration(r.IntN(400_000))*time.Microsecond)
		}
	}
	return s
}

type outcome struct {
	s       scenario
	kills   int
	late    int           // kills after which something lived for more than 100 ms
	slowest time.Duration // until nothing of a killed process lived
	err     error
}

type tally struct {
	points, scenarios, kills, late, bad int
	slowest                             time.Duration
}

func (t *tally) add(o outcome) {
	t.scenarios++
	t.kills += o.kills
	t.late += o.late
	t.slowest = max(t.slowest, o.slowest)
	if o.err != nil {
		t.bad++
		fmt.Printf("VIOLATION %v: %v\n", o.s, o.err)
	}
}

func (t tally) String() string {
	return fmt.Sprintf("%d points, %d scenarios, %d kills, %d violations; something alive after 100 ms: %d times; nothing alive after at most %v",
		t.points, t.scenarios, t.kills, t.bad, t.late, t.slowest.Round(100*time.Microsecond))
}

func (b *bench) one(s scenario) outcome {
	w, err := b.workspace(s)
	if err != nil {
		return outcome{s: s, err: err}
	}
	o := w.play(s)
	if !b.keep || o.err == nil {
		os.RemoveAll(w.dir)
	}
	return o
}

// planted are the bugs that the oracle must catch, each in a few scenarios.
var planted = []string{"forget-commit", "show-early", "start-early", "orphans", "rerun-done", "tamper", "drop-tail"}

func (b *bench) hunt(points int, seed uint64) error {
	var missed []string
	for _, bug := range planted {
		if caught := b.catch(bug, points, seed); caught != nil {
			fmt.Printf("caught %-14s %v\n", bug, caught)
		} else {
			missed = append(missed, bug)
		}
	}
	if len(missed) > 0 {
		return fmt.Errorf("the oracle missed: %s", strings.Join(missed, ", "))
	}
	return nil
}

// catch tries up to 60 scenarios with a planted bug and returns what the oracle said.
func (b *bench) catch(bug string, points int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 2))
	for n := range 60 {
		s := pick(points+n, points, r)
		s.id, s.bug = fmt.Sprintf("%s-%d", bug, n), bug
		if o := b.one(s); o.err != nil {
			return o.err
		}
	}
	return nil
}

// patience bounds one life of the program; a life longer than this hangs.
const patience = 60 * time.Second

func (w *workspace) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, w.binary, args...)
	c.Dir = w.work
	c.Env = append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + w.dir, "PITON_STATE=" + filepath.Join(w.dir, "state"), "GOMAXPROCS=2"}, w.extra...)
	return c
}
