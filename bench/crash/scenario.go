//go:build linux

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// scenario is one workspace, and when the processes of its story are killed, one
// after the other. A process without a kill is let alone.
type scenario struct {
	id    string
	story *story
	kills []kill
	bug   string
}

// kill is which process dies, and when: at a numbered point, or after a while. The
// zero value is never.
type kill struct {
	who   victim
	point int
	after time.Duration
}

// victim is a process of a verb: that which a person has called, or the owner that
// it has started.
type victim int

const (
	theOwner victim = iota
	theClient
	both // after a while, at once; at a point, the owner and then the client that misses it
)

func (v victim) String() string { return [...]string{"owner", "client", "both"}[v] }

func (k kill) String() string {
	if k.after > 0 {
		return k.who.String() + " " + k.after.String()
	}
	return k.who.String() + " " + fmt.Sprint(k.point)
}

func (s scenario) String() string {
	return fmt.Sprintf("%s %s (kills at %v)", s.story.name, s.id, s.kills)
}

// telling is a story with the names of the points that each of its processes
// passes when nobody disturbs it.
type telling struct {
	*story
	points  [][]string // of owners
	clients [][]string
	verbs   []string
}

// margin is for the points that a bug adds.
const margin = 3

// likely are the points of the process in which a bug shows, by how far they are
// behind one of the name that it is near to, or before the end.
func (t telling) likely(b bug) []int {
	names := t.points[b.in]
	last := len(names) + margin
	all, away := make([]int, last), make([]int, last+1)
	for p, far := 1, last; p <= last; p, far = p+1, far+1 {
		if b.near != "" && p <= len(names) && strings.HasSuffix(strings.TrimSpace(names[p-1]), " "+b.near) {
			far = 0
		}
		all[p-1], away[p] = p, far
		if b.near == "" {
			away[p] = last - p
		}
	}
	slices.SortStableFunc(all, func(p, q int) int { return away[p] - away[q] })
	return all
}

// tell plays every story undisturbed, all at once.
func (b *bench) tell(only string) ([]telling, error) {
	var told []telling
	for _, st := range stories {
		if only == "" || st.name == only {
			told = append(told, telling{story: st})
		}
	}
	if len(told) == 0 {
		return nil, fmt.Errorf("no story %q", only)
	}
	failed := make([]error, len(told))
	var wg sync.WaitGroup
	for i := range told {
		wg.Go(func() { failed[i] = b.listen(&told[i]) })
	}
	wg.Wait()
	return told, errors.Join(failed...)
}

func (b *bench) listen(t *telling) error {
	w, err := b.workspace(scenario{id: "undisturbed-" + t.name, story: t.story})
	if err != nil {
		return err
	}
	defer os.RemoveAll(w.dir)
	w.points = filepath.Join(w.dir, "points")
	if o := w.play(); o.err != nil {
		return fmt.Errorf("%s, undisturbed: %w", t.name, o.err)
	}
	t.verbs = w.verbs
	for n := range w.verbs {
		for who, all := range map[victim]*[][]string{theOwner: &t.points, theClient: &t.clients} {
			body, err := os.ReadFile(fmt.Sprintf("%s.%d.%v", w.points, n, who))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			*all = append(*all, slices.Collect(strings.Lines(string(body))))
		}
	}
	return nil
}

// again is how many kills follow the first one of a scenario, each so soon after
// the start that little is done before it.
const again = 6

// everyPoint kills the owner and the client of every process of the first story, and
// of every verb that people call, at each of their points once. Of the runs of the other stories, which pass
// the same points again, it takes every eighth, another one for another seed.
// What goes on after that is killed again at random points and moments, every
// third time not at all.
func everyPoint(told []telling, seed uint64) []scenario {
	var all []scenario
	r := rand.New(rand.NewPCG(seed, 1))
	for _, t := range told {
		for process := range t.points {
			for who, names := range [][]string{theOwner: t.points[process], theClient: t.clients[process]} {
				runs := t.verbs[process] == "run" || t.verbs[process] == "resume"
				for p := 1; p <= len(names); p++ {
					later := soon(r, again)
					if len(told) > 1 && t.story != survive && runs && (uint64(p)+seed)%8 != 0 {
						continue
					}
					s := scenario{id: fmt.Sprintf("%s-%d-%v-%d", t.name, process, victim(who), p), story: t.story}
					s.kills = append(make([]kill, process), kill{who: victim(who), point: p})
					if p%3 > 0 {
						s.kills = append(s.kills, later...)
					}
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// anyMoments kills a story's processes at random from the first one on.
func anyMoments(n int, told []telling, seed uint64) scenario {
	t := told[n%len(told)]
	return scenario{id: fmt.Sprintf("%s-any-%d", t.name, n), story: t.story, kills: soon(rand.New(rand.NewPCG(seed, uint64(n))), 2*again)}
}

// soon are kills at points and moments in turn.
func soon(r *rand.Rand, n int) []kill {
	all := make([]kill, n)
	for i := range all {
		if i%2 == 0 {
			all[i] = kill{who: victim(r.IntN(2)), point: 1 + r.IntN(30)}
		} else {
			all[i].who = victim(r.IntN(3))
			all[i].after = time.Duration(1+r.IntN(150_000)) * time.Microsecond
		}
	}
	return all
}
