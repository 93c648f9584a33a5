//go:build linux

// Command crash kills Piton, again and again, and looks from outside whether
// anything was lost.
//
// It builds the program with numbered crash points and plays stories: small
// plans with the people around them. One has a retry, an escalation and
// parallel steps. In others people edit a running plan, answer questions and
// raise a budget. A worktree is merged, a tool overwrites a file, and a sub-plan
// is run for each of three items.
//
// The owner and the client of every process of a story, the verbs that people
// call too, are killed with SIGKILL at every numbered point. What goes on after
// that is killed again at random points and moments, until the run has ended.
// Then the oracle judges by what is outside of Piton: what it had printed, the
// witness lines that the plan's own scripts wrote, the files, the process table,
// and the journal's tables.
//
//	go run ./bench/crash -kills 1500
//	go run ./bench/crash -bugs          # every planted bug must be caught
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	kills := flag.Int("kills", 1500, "how many kills at least")
	seed := flag.Uint64("seed", 1, "of the random kills")
	workers := flag.Int("workers", 2*runtime.NumCPU(), "scenarios at once")
	bugs := flag.Bool("bugs", false, "plant bugs, and fail if the oracle misses one")
	only := flag.String("story", "", "play this story alone")
	one := flag.String("scenario", "", "play this one alone, by the name that a violation has")
	keep := flag.Bool("keep", false, "keep the workspaces of failed scenarios")
	flag.Parse()
	b := &bench{keep: *keep, name: *one, workers: *workers, seed: *seed, look: newLookout()}
	if err := b.campaign(*kills, *bugs, *only); err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
}

type bench struct {
	root, binary string
	keep         bool
	name         string // of the only scenario to play
	workers      int
	seed         uint64
	look         *lookout
}

func (b *bench) campaign(kills int, bugs bool, only string) (err error) {
	if b.root, err = os.MkdirTemp(memory(), "piton-crash-"); err != nil {
		return err
	}
	if !b.keep {
		defer os.RemoveAll(b.root)
	}
	b.binary = filepath.Join(b.root, "piton")
	build := exec.Command("go", "build", "-tags", "crash", "-o", b.binary, "./cmd/piton")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	before := cpu()
	if b.name != "" {
		only, _, _ = strings.Cut(b.name, "-")
	}
	if bugs {
		return b.hunt(only)
	}
	return b.all(kills, only, before)
}

// memory is a directory on a memory file system where there is one: a killed
// process loses nothing that it wrote there either.
func memory() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// cpu is the processor time of this process and of those that it has waited for.
func cpu() time.Duration {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if syscall.Getrusage(who, &r) == nil {
			total += time.Duration(r.Utime.Nano() + r.Stime.Nano())
		}
	}
	return total
}

// all plays scenarios until every point was hit and there were enough kills.
func (b *bench) all(kills int, only string, before time.Duration) error {
	began := time.Now()
	told, err := b.tell(only)
	if err != nil {
		return err
	}
	singles := everyPoint(told, b.seed)
	next, results, done := make(chan scenario), make(chan outcome), make(chan struct{})
	go func() {
		defer close(next)
		for n := range enoughScenarios {
			s := anyMoments(n, told, b.seed)
			if n < len(singles) {
				s = singles[n]
			}
			if b.name != "" && b.name != s.id {
				continue
			}
			select {
			case next <- s:
			case <-done:
				return
			}
			if b.name != "" {
				return
			}
		}
	}()
	b.work(next, results)
	sum, enough := tally{points: len(singles)}, false
	for o := range results {
		sum.add(o)
		if sum.scenarios%100 == 0 {
			fmt.Printf("%v, %v\n", sum, time.Since(began).Round(time.Second))
		}
		if !enough && (sum.kills >= kills && sum.scenarios >= len(singles) || sum.bad > 20) {
			enough = true
			close(done)
		}
	}
	used := cpu() - before
	fmt.Printf("%v; %v, %.1f kills/s, %d ms of CPU a kill, seed %d\n", sum, time.Since(began).Round(time.Second),
		float64(sum.kills)/time.Since(began).Seconds(), used.Milliseconds()/int64(max(sum.kills, 1)), b.seed)
	if sum.bad > 0 {
		return fmt.Errorf("%d violations", sum.bad)
	}
	return nil
}

// enoughScenarios ends the search for one that does not exist.
const enoughScenarios = 1_000_000

// work plays what comes, several at once, and closes results at its end.
func (b *bench) work(next <-chan scenario, results chan<- outcome) {
	var wg sync.WaitGroup
	for range b.workers {
		wg.Go(func() {
			for s := range next {
				results <- b.one(s)
			}
		})
	}
	go func() { wg.Wait(); close(results) }()
}

func (b *bench) one(s scenario) outcome {
	w, err := b.workspace(s)
	if err != nil {
		return outcome{s: s, err: err}
	}
	o := w.play()
	if !b.keep || o.err == nil {
		os.RemoveAll(w.dir)
	}
	return o
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

// hunt plants every bug in its story until the oracle sees it.
func (b *bench) hunt(only string) error {
	told, err := b.tell(only)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var missed []string
	var wg sync.WaitGroup
	room := make(chan struct{}, b.workers)
	for _, t := range told {
		for _, bug := range t.bugs {
			wg.Go(func() {
				room <- struct{}{}
				defer func() { <-room }()
				tries, caught := b.catch(t, bug)
				mu.Lock()
				defer mu.Unlock()
				if caught == nil {
					missed = append(missed, bug.name+" in "+t.name)
					return
				}
				fmt.Printf("caught %-13s in %-9s after %2d: %.300s\n", bug.name, t.name, tries, oneLine(caught))
			})
		}
	}
	wg.Wait()
	if len(missed) > 0 {
		return fmt.Errorf("the oracle missed: %s", strings.Join(missed, ", "))
	}
	return nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// catch tries scenarios with a planted bug until the oracle says something: the
// points of the process in which it shows, the likely ones first.
func (b *bench) catch(t telling, bug bug) (int, error) {
	r := rand.New(rand.NewPCG(b.seed, 2))
	likely := t.likely(bug)
	for n, p := range likely {
		s := scenario{id: fmt.Sprintf("%s-%s-%d", t.name, bug.name, n), story: t.story, bug: bug.name}
		s.kills = append(make([]kill, bug.in), kill{who: bug.who, point: p})
		if n%2 == 1 {
			s.kills = append(s.kills, soon(r, again)...)
		}
		if o := b.one(s); o.err != nil {
			return n + 1, o.err
		}
	}
	return len(likely), nil
}
