//go:build linux

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
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// workspace is one scenario under way.
type workspace struct {
	scenario
	dir, work, witness, flag string
	binary                   string
	look                     *lookout
	points                   string // where the points that are passed are written, if anywhere

	verbs        []string // of the processes that were, or could have been, killed
	acks         []ack
	said         []string // items whose answer was shown as taken
	printed      string   // the end of what the last life of the run printed
	edited       bool     // the person has done what the story has them do once
	killed, late int
	slowest      time.Duration
}

// ack is an event that the program printed: it was durable then, or a lie.
type ack struct {
	Seq  uint64 `json:"seq"`
	Type string `json:"type"`
	Step string `json:"step"`
}

func (b *bench) workspace(s scenario) (*workspace, error) {
	dir := filepath.Join(b.root, "w-"+s.id)
	w := &workspace{scenario: s, dir: dir, work: filepath.Join(dir, "work"), binary: b.binary, look: b.look}
	w.witness, w.flag = filepath.Join(dir, "witness"), filepath.Join(dir, "flag")
	if err := os.MkdirAll(filepath.Join(w.work, ".git"), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(w.witness, nil, 0o644); err != nil {
		return nil, err
	}
	own := filepath.Join(dir, ".config", "piton", "config.yaml") // steps write beside the workspace
	err := errors.Join(os.MkdirAll(filepath.Dir(own), 0o755), os.WriteFile(own, []byte("sandbox: {writable: ["+dir+"]}\n"), 0o644))
	if err != nil {
		return nil, err
	}
	if s.story.begin != nil {
		if err := s.story.begin(w); err != nil {
			return nil, fmt.Errorf("begin %s: %w", s.story.name, err)
		}
	}
	return w, w.write("plan.md", s.story.plan)
}

// write makes a file of the workspace; WITNESS and FLAG stand for files outside.
func (w *workspace) write(name, text string) error {
	text = strings.NewReplacer("WITNESS", w.witness, "FLAG", w.flag).Replace(text)
	name = filepath.Join(w.work, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

func (w *workspace) read(name string) string {
	body, _ := os.ReadFile(filepath.Join(w.work, name))
	return string(body)
}

// play starts the program until its run has ended, killing it as the scenario
// says, and then asks the oracle.
func (w *workspace) play() outcome {
	o := outcome{s: w.scenario}
	o.err = w.lives()
	o.kills, o.late, o.slowest = w.killed, w.late, w.slowest
	if o.err == nil {
		o.err = w.judge()
	}
	return o
}

// maxLives bounds the processes of one scenario.
const maxLives = 80

// lives carries the run to its end.
func (w *workspace) lives() error {
	for len(w.verbs) < maxLives {
		code, err := w.live()
		if err != nil {
			return err
		}
		switch code {
		case dead:
			if over, err := w.between(); over || err != nil {
				return err // after its last record: nothing was left to do
			}
		case 0:
			return nil
		case 3, 5:
			if err := w.people(); err != nil {
				return err
			}
		default:
			return fmt.Errorf("process %d ended with exit code %d: %s\n%s", len(w.verbs), code, w.last(), w.printed)
		}
	}
	return fmt.Errorf("the run did not end in %d processes", maxLives)
}

// between is what happens after a kill. It reports whether the run is over.
func (w *workspace) between() (over bool, err error) {
	entries, err := w.journal()
	if err != nil || len(entries) == 0 {
		return false, nil //nolint:nilerr // there may be no journal yet
	}
	if w.story.after != nil {
		err = w.story.after(w, entries)
	}
	return entries[len(entries)-1].typ == "run.ended", err
}

// live is one life of the run.
func (w *workspace) live() (int, error) {
	p, err := w.begin(w.goOn()...)
	if err != nil {
		return 0, err
	}
	if w.story.during != nil && !slices.Contains(w.said, approved) {
		err = w.story.during(w, p)
	}
	code, ended := w.end(p)
	w.hear(p.out.Bytes())
	w.printed = p.out.String()[max(0, p.out.Len()-2000):]
	if err = errors.Join(err, ended); err == nil {
		err = w.alone()
	}
	return code, err
}

// goOn is the verb that carries the run on. Once a person has edited the plan it
// is no longer run, which would be a yes to the edit.
func (w *workspace) goOn() []string {
	if w.edited && w.story.revised != "" {
		return []string{"resume", "--no-wait", "--json"}
	}
	return []string{"run", "plan.md", "--yes", "--no-wait", "--json"}
}

// dead is the exit code of a process that was killed.
const dead = -1

// patience bounds one life of the program; a life longer than this hangs.
const patience = 60 * time.Second

// process is one life of the program, killed when the scenario says so.
type process struct {
	*exec.Cmd
	name   string
	out    bytes.Buffer
	mark   string       // the file that is there once the owner was killed at a point
	struck atomic.Int32 // owners that were killed after a while
	ctx    context.Context
	cancel func()
}

// strike kills the client, its owner, or both at the same time.
func (w *workspace) strike(p *process, who victim) {
	if who != theOwner {
		p.Process.Signal(syscall.SIGSTOP) //nolint:errcheck // it has ended
	}
	if pid := w.owner(); pid > 0 && who != theClient && syscall.Kill(pid, syscall.SIGKILL) == nil {
		p.struck.Add(1)
	}
	if who != theOwner {
		p.Process.Kill() //nolint:errcheck // it has ended
	}
}

// owner is the process that owns the workspace; 0 for none.
func (w *workspace) owner() int {
	for _, pid := range w.look.inside(w.work) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if args := bytes.Split(line, []byte{0}); len(args) > 2 && string(args[1]) == "owner" && string(args[2]) == w.work {
			return pid
		}
	}
	return 0
}

// start runs the program to its end, after which nothing of it may live.
func (w *workspace) start(args ...string) (code int, out []byte, err error) {
	p, err := w.begin(args...)
	if err != nil {
		return 0, nil, err
	}
	code, err = w.end(p)
	if err == nil {
		err = w.alone()
	}
	return code, p.out.Bytes(), err
}

func (w *workspace) begin(args ...string) (*process, error) {
	p := &process{name: args[0]}
	p.ctx, p.cancel = context.WithTimeout(context.Background(), patience)
	p.Cmd = w.command(p.ctx, args...)
	k := kill{}
	if n := len(w.verbs); n < len(w.kills) {
		k = w.kills[n]
	}
	p.mark = filepath.Join(w.dir, fmt.Sprintf("killed.%d", len(w.verbs)))
	if k.point > 0 {
		at := map[victim]string{theOwner: "OWNER", theClient: "CLIENT", both: "OWNER"}[k.who]
		if k.who == both {
			p.Env = append(p.Env, "PITON_CRASH_BOTH=1")
		}
		p.Env = append(p.Env, "PITON_CRASH_AT_"+at+"="+strconv.Itoa(k.point), "PITON_CRASH_ONCE="+p.mark)
	}
	if w.points != "" {
		p.Env = append(p.Env, fmt.Sprintf("PITON_CRASH_LOG=%s.%d", w.points, len(w.verbs)))
	}
	w.verbs = append(w.verbs, args[0])
	errs, err := os.Create(filepath.Join(w.dir, "stderr"))
	if err != nil {
		return nil, err
	}
	defer errs.Close()
	p.Stdout, p.Stderr, p.WaitDelay = &p.out, errs, time.Second
	if err := p.Start(); err != nil {
		return nil, err
	}
	if k.after > 0 {
		timer := time.AfterFunc(k.after, func() { w.strike(p, k.who) })
		context.AfterFunc(p.ctx, func() { timer.Stop() })
	}
	return p, nil
}

// end waits for a process and returns its exit code.
func (w *workspace) end(p *process) (int, error) {
	defer p.cancel()
	err := p.Wait()
	if p.ctx.Err() != nil {
		return 0, fmt.Errorf("%s hung for %v", p.name, patience)
	}
	w.killed += int(p.struck.Load())
	ws, ok := p.ProcessState.Sys().(syscall.WaitStatus)
	died := ok && ws.Signaled()
	if _, err := os.Stat(p.mark); err == nil || died {
		w.killed++
	}
	if died {
		return dead, nil
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return 0, err
	}
	return p.ProcessState.ExitCode(), nil
}

func (w *workspace) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, w.binary, args...)
	c.Dir = w.work
	c.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + w.dir, "PITON_STATE=" + filepath.Join(w.dir, "state"), "GOMAXPROCS=2", "GOGC=400",
	}
	if w.bug != "" {
		c.Env = append(c.Env, "PITON_CRASH_BUG="+w.bug)
	}
	return c
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
		left := w.look.inside(w.work)
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

// item is what waits for a person.
type item struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Step string `json:"step"`
	Text string `json:"question"`
}

// people answer every item as the story has them, or do what it says instead.
func (w *workspace) people() error {
	if w.story.act != nil {
		return w.story.act(w)
	}
	return w.answerAll()
}

func (w *workspace) answerAll() error {
	items, err := w.inbox()
	if err != nil {
		return err
	}
	if len(items) == 0 && !w.revised() {
		return fmt.Errorf("people are waited for, and nothing is in the inbox\nthe last verb printed: %s", w.printed)
	}
	for _, it := range items {
		if slices.Contains(w.said, it.ID) {
			return fmt.Errorf("the answer to item %s was taken, and it is asked again", it.ID)
		}
		if err := w.answer(it); err != nil {
			return err
		}
	}
	return nil
}

// revised reports whether a person's edit was taken. That closes what the run
// asked about the step before, and may do so after the run had said that it waits.
func (w *workspace) revised() bool {
	entries, err := w.journal()
	return err == nil && goesOnRevised(w, entries) == nil
}

func (w *workspace) inbox() ([]item, error) {
	out, err := w.command(context.Background(), "inbox", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	var inbox struct {
		Data struct{ Items []item } `json:"data"`
	}
	if err := json.Unmarshal(out, &inbox); err != nil {
		return nil, fmt.Errorf("inbox: %w: %s", err, out)
	}
	return inbox.Data.Items, nil
}

// answer answers an item. A person whose verb was killed looks at the inbox
// again, with the next life of the run at the latest.
func (w *workspace) answer(it item) error {
	words, err := w.story.answer(w, it)
	if err != nil {
		return err
	}
	code, out, err := w.start(append([]string{"answer", it.ID}, words...)...)
	if err != nil {
		return err
	}
	if len(out) > 0 {
		w.said = append(w.said, it.ID)
	} else if code != dead {
		return fmt.Errorf("answer %s %s: exit code %d: %s", it.ID, words, code, w.last())
	}
	return nil
}

func (w *workspace) last() string {
	body, _ := os.ReadFile(filepath.Join(w.dir, "stderr"))
	return strings.TrimSpace(string(body))
}
