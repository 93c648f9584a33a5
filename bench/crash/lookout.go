//go:build linux

package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// lookout sees which processes work below a directory. All who wait for their
// directory to be left share one look at the process table.
type lookout struct{ ask chan sight }

type sight struct {
	dir  string
	seen chan []int
}

const lookEvery = 2 * time.Millisecond

func newLookout() *lookout {
	l := &lookout{ask: make(chan sight, 64)}
	go l.watch()
	return l
}

// inside lists the processes whose working directory is below dir now.
func (l *lookout) inside(dir string) []int {
	s := sight{dir, make(chan []int, 1)}
	l.ask <- s
	return <-s.seen
}

func (l *lookout) watch() {
	for s := range l.ask {
		time.Sleep(lookEvery) // so that others can ask, too
		asked := []sight{s}
		for len(l.ask) > 0 {
			asked = append(asked, <-l.ask)
		}
		at := table()
		for _, s := range asked {
			var pids []int
			for pid, cwd := range at {
				if cwd == s.dir || strings.HasPrefix(cwd, s.dir+"/") {
					pids = append(pids, pid)
				}
			}
			s.seen <- pids
		}
	}
}

// table is where every process works.
func table() map[int]string {
	at := map[int]string{}
	proc, err := os.Open("/proc")
	if err != nil {
		return at
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if cwd, err := os.Readlink("/proc/" + name + "/cwd"); err == nil {
			at[pid] = cwd
		}
	}
	return at
}
