package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// plan has what a run can meet: a first attempt that fails, two steps at once,
// a step that a person has to rescue, and a script that leaves processes behind.
const plan = `---
type: plan
status: draft
owner: crash
---

# Survive

**Parallel:** 2

## Steps

### 1. First
**target:** script
**task:**
echo first >> WITNESS
(setsid sleep 60 &) ; echo one > one
**contract:** ` + "`test -s one`" + `

### 2. Second
**target:** script
**needs:** 1
**task:**
echo second >> WITNESS
echo x >> two; sleep 0.01
**contract:** ` + "`test \"$(wc -l < two)\" -ge 2`" + `
**on_fail:** retry(40), then escalate

### 3. Third
**target:** script
**needs:** 1
**task:**
echo third >> WITNESS
sleep 0.02; echo three > three
**contract:** ` + "`test -s three`" + `

### 4. Rescue
**target:** script
**needs:** 2, 3
**task:**
echo rescue >> WITNESS
test ! -e FLAG || echo four > four
**contract:** ` + "`test -s four`" + `
**on_fail:** escalate

### 5. Last
**target:** script
**task:**
echo last >> WITNESS
cat one three four > five
**contract:** ` + "`grep -q four five`" + `
`

type workspace struct {
	dir, work, witness, flag string
	binary                   string
	extra                    []string
	acks                     []ack
	killed, late             int
	slowest                  time.Duration
}

// ack is an event that the program printed: it was durable then, or a lie.
type ack struct {
	Seq  uint64 `json:"seq"`
	Type string `json:"type"`
	Step string `json:"step"`
}

func (b *bench) workspace(s scenario) (*workspace, error) {
	dir := filepath.Join(b.root, "w-"+s.id)
	w := &workspace{dir: dir, work: filepath.Join(dir, "work"), witness: filepath.Join(dir, "witness"), flag: filepath.Join(dir, "flag"), binary: b.binary}
	if err := os.MkdirAll(filepath.Join(w.work, ".git"), 0o755); err != nil {
		return nil, err
	}
	text := strings.NewReplacer("WITNESS", w.witness, "FLAG", w.flag).Replace(plan)
	return w, os.WriteFile(filepath.Join(w.work, "plan.md"), []byte(text), 0o644)
}

// play starts the program until its run has ended, killing it as the scenario
// says, and then asks the oracle.
func (w *workspace) play(s scenario) outcome {
	if s.bug != "" {
		w.extra = append(w.extra, "PITON_CRASH_BUG="+s.bug)
	}
	o := outcome{s: s}
	o.err = w.lives(s)
	o.kills, o.late, o.slowest = w.killed, w.late, w.slowest
	if o.err == nil {
		o.err = w.judge()
	}
	return o
}

func (w *workspace) lives(s scenario) error {
	for life := range 60 {
		code, err := w.live(s, life)
		if err != nil {
			return err
		}
		switch code {
		case -1: // killed
			if w.over() {
				return nil // after its last record: nothing was left to do
			}
		case 0:
			return nil
		case 3:
			if err := w.rescue(); err != nil {
				return err
			}
		default:
			return fmt.Errorf("life %d ended with exit code %d: %s", life, code, w.last())
		}
	}
	return errors.New("the run did not end in 60 lives")
}

// over reports whether the run has ended.
func (w *workspace) over() bool {
	entries, err := w.journal()
	return err == nil && len(entries) > 0 && entries[len(entries)-1].typ == "run.ended"
}

// live is one life of the program; -1 means it was killed.
func (w *workspace) live(s scenario, life int) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := w.command(ctx, "run", "plan.md", "--yes", "--no-wait", "--json")
	if life < len(s.at) {
		c.Env = append(c.Env, "PITON_CRASH_AT="+strconv.Itoa(s.at[life]))
	}
	var out bytes.Buffer
	errs, err := os.Create(filepath.Join(w.dir, "stderr"))
	if err != nil {
		return 0, err
	}
	defer errs.Close()
	c.Stdout, c.Stderr = &out, errs
	c.WaitDelay = time.Second
	if err := c.Start(); err != nil {
		return 0, err
	}
	if life < len(s.after) {
		timer := time.AfterFunc(s.after[life], func() { c.Process.Kill() })
		defer timer.Stop()
	}
	err = c.Wait()
	w.hear(out.Bytes())
	if ctx.Err() != nil {
		return 0, fmt.Errorf("life %d hung for %v", life, patience)
	}
	if ws, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		w.killed++
		return -1, w.alone()
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return 0, err
	}
	return c.ProcessState.ExitCode(), w.alone()
}

// hear keeps the events that were printed whole.
func (w *workspace) hear(out []byte) {
	for line := range bytes.Lines(out) {
		var e struct {
			Kind string `json:"kind"`
			Data ack    `json:"data"`
		}
		if json.Unmarshal(line, &e) == nil && e.Kind == "event" && e.Data.Seq > 0 {
			w.acks = append(w.acks, e.Data)
		}
	}
}

// alone waits until no process works in the workspace. It counts what took
// longer than 100 ms, which a busy machine can, and fails after five seconds.
func (w *workspace) alone() error {
	late := false
	for began := time.Now(); ; {
		left := inside(w.work)
		took := time.Since(began)
		if len(left) == 0 {
			w.slowest = max(w.slowest, took)
			return nil
		}
		if took > 100*time.Millisecond && !late {
			late = true
			w.late++
		}
		if took > 5*time.Second {
			var names []string
			for _, pid := range left {
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
				names = append(names, fmt.Sprintf("%q %.60s", line, stat))
				syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // tidying up after a violation
			}
			return fmt.Errorf("%d processes still live %v after the end: %v", len(left), took.Round(time.Millisecond), names)
		}
	}
}

// inside lists the processes whose working directory is below dir.
func inside(dir string) []int {
	var pids []int
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, l := range links {
		if cwd, err := os.Readlink(l); err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+"/")) {
			pid, _ := strconv.Atoi(strings.Split(l, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// rescue is the person: it makes the step possible and answers every item.
func (w *workspace) rescue() error {
	if err := os.WriteFile(w.flag, nil, 0o644); err != nil {
		return err
	}
	out, err := w.command(context.Background(), "inbox", "--json").Output()
	if err != nil {
		return fmt.Errorf("inbox: %w", err)
	}
	var inbox struct {
		Data struct {
			Items []struct {
				ID string `json:"id"`
			} `json:"items"`
		} `json:"data"`
	}
	if err := json.Unmarshal(out, &inbox); err != nil || len(inbox.Data.Items) == 0 {
		return fmt.Errorf("exit code 3 and no item in the inbox: %s", out)
	}
	for _, it := range inbox.Data.Items {
		if out, err := w.command(context.Background(), "answer", it.ID, "retry").CombinedOutput(); err != nil {
			return fmt.Errorf("answer %s: %w: %s", it.ID, err, out)
		}
	}
	return nil
}

func (w *workspace) last() string {
	body, _ := os.ReadFile(filepath.Join(w.dir, "stderr"))
	return strings.TrimSpace(string(body))
}
