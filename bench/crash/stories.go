//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// story is a plan and the people around it. Functions may be nil.
type story struct {
	name       string
	plan       string
	revised    string   // what a person makes of the plan while it runs
	steps      int      // that are done in the end
	asks       []string // steps that are done without a check
	below      int      // steps that runs of their own do
	stepsBelow int      // that are done in each of these
	bugs       []bug    // that can be planted in it

	begin  func(*workspace) error                   // before anything runs
	answer func(*workspace, item) ([]string, error) // the words that answer an item
	act    func(*workspace) error                   // instead of answering, when only people can go on
	during func(*workspace, *process) error         // while the run lives
	after  func(*workspace, []entry) error          // after each kill
	judge  func(*workspace, []entry) error          // what else must hold in the end
}

// bug is planted in the program. It is looked for first where the process number
// in is killed soon behind a point of that name, or at its end.
type bug struct {
	name string
	in   int
	near string
	who  victim // who is killed there
}

const workEnded = "effect after end work"

const front = "---\ntype: plan\nstatus: draft\nowner: crash\n---\n\n"

var stories = []*story{survive, revise, replan, beside, question, budget, worktree, overwrite, items}

// survive has what a run can meet: a first attempt that fails, two steps at
// once, a step that a person has to rescue, and a script that leaves processes
// behind.
var survive = &story{
	name: "survive", steps: 5,
	bugs: []bug{
		{name: "forget-commit"}, {name: "start-early"}, {name: "orphans"}, {name: "rerun-done"}, {name: "tamper"}, {name: "drop-tail"},
	},
	plan: front + `# Survive

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
`,
	answer: func(w *workspace, _ item) ([]string, error) {
		return []string{"retry"}, os.WriteFile(w.flag, nil, 0o644) // it can be done now
	},
}

// revise is a plan that a person mends while its run waits.
var revise = &story{
	name: "revise", steps: 3, bugs: []bug{{name: "yes-late", in: 1}},
	plan: front + revisedPlan("echo worse > two", "escalate"), revised: front + revisedPlan("echo better > two", "escalate"),
	act: func(w *workspace) error { return w.approve() }, after: keepsWord, judge: goesOnRevised,
	answer: func(*workspace, item) ([]string, error) { return []string{"retry"}, nil },
}

// beside is a plan that a person edits while another process works on it. The
// second step never ends as it was approved first.
var beside = &story{
	name: "beside", steps: 3, bugs: []bug{{name: "yes-late", near: workEnded}},
	plan:    front + revisedPlan("sleep 50", "retry(9), then escalate"),
	revised: front + revisedPlan("echo better > two", "retry(9), then escalate"),
	during:  besideOwner, after: keepsWord, judge: goesOnRevised,
	answer: func(*workspace, item) ([]string, error) { return []string{"retry"}, nil },
}

func revisedPlan(does, fails string) string {
	return `# Revise

## Steps

### 1. First
**target:** script
**task:**
echo first >> WITNESS
echo one > one
**contract:** ` + "`test -s one`" + `

### 2. Second
**target:** script
**task:**
echo second >> WITNESS
` + does + `
**contract:** ` + "`grep -q better two`" + `
**on_fail:** ` + fails + `

### 3. Third
**target:** script
**task:**
echo third >> WITNESS
cat one two > three
**contract:** ` + "`grep -q better three`" + `
`
}

// approved is what was said once the yes to an edit was shown as taken.
const approved = "revision"

// approve edits the plan and says yes to the edit.
func (w *workspace) approve() error {
	if slices.Contains(w.said, approved) {
		return w.reply() // to work that was lost three times
	}
	p, err := w.beginApproval()
	if err != nil {
		return err
	}
	code, err := w.endApproval(p)
	if err == nil && code != dead && code != 0 {
		err = fmt.Errorf("approve: exit code %d: %s", code, w.last())
	}
	return errors.Join(err, w.alone())
}

// reply answers what waits once the edit is approved.
func (w *workspace) reply() error {
	entries, err := w.journal()
	if err == nil {
		err = keepsWord(w, entries)
	}
	return errors.Join(err, w.answerAll())
}

func (w *workspace) beginApproval() (*process, error) {
	w.edited = true
	if err := w.write("plan.md", w.story.revised); err != nil {
		return nil, err
	}
	return w.begin("approve", "plan.md", "--yes")
}

func (w *workspace) endApproval(p *process) (int, error) {
	code, err := w.end(p)
	if strings.Contains(p.out.String(), "continues with revision") {
		w.said = append(w.said, approved)
	}
	return code, err
}

// besideOwner lets a person edit and approve as soon as the second step is under
// way, whatever becomes of the owner meanwhile. A verb that is refused because
// its owner died is called again in the next life.
func besideOwner(w *workspace, owner *process) error {
	second := strings.Count(w.witnessed(), "second\n")
	for strings.Count(w.witnessed(), "second\n") == second {
		if w.gone(owner) {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	p, err := w.beginApproval()
	if err != nil {
		return err
	}
	_, err = w.endApproval(p)
	if !slices.Contains(w.said, approved) {
		owner.Process.Kill() // nobody said yes: else it works for ever at what was approved first
	}
	return err
}

// gone reports whether a process has ended; nobody has waited for it yet.
func (w *workspace) gone(p *process) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func (w *workspace) witnessed() string {
	body, _ := os.ReadFile(w.witness)
	return string(body)
}

// keepsWord: an approval that was shown is in the journal.
func keepsWord(w *workspace, entries []entry) error {
	if err := goesOnRevised(w, entries); err != nil && slices.Contains(w.said, approved) {
		return errors.New("the approval was shown, and is lost")
	}
	return nil
}

// goesOnRevised: the run ended with what was approved while it ran.
func goesOnRevised(_ *workspace, entries []entry) error {
	if !slices.ContainsFunc(entries, func(e entry) bool { return e.body.Revises != "" }) {
		return errors.New("the run went on with the plan that it began with")
	}
	return nil
}

// replan is a plan that a planner revises because a step fails; a person says yes to
// the revision. The planner is asked once for each time that it was dispatched.
var replan = &story{
	name: "replan", steps: 2,
	plan: front + replannedPlan("true"),
	begin: func(w *workspace) error {
		if err := w.write(".piton/config.yaml", "agents:\n  planner: {kind: exec, command: [bash, "+w.dir+"/planner]}\nplanner: {agent: planner}\n"); err != nil {
			return err
		}
		if err := w.write("../revision", front+replannedPlan("echo second >> WITNESS\necho two > two")); err != nil {
			return err
		}
		return w.write("../planner", "cat > "+w.dir+"/asked\necho planner >> WITNESS\necho Do it.\ncat "+w.dir+"/revision\n")
	},
	answer: func(_ *workspace, it item) ([]string, error) {
		if it.Kind == "proposal" {
			return []string{"approve"}, nil
		}
		return []string{"retry"}, nil
	},
	judge: func(w *workspace, entries []entry) error {
		if text := w.read("plan.md"); !strings.Contains(text, "echo two > two") {
			return errors.New("the plan document does not have the revision")
		}
		drawn := 0
		for _, e := range entries {
			if e.typ == "work.ended" && e.body.Kind == "plan" && e.body.How == "exit" {
				drawn++
			}
		}
		if drawn != 1 {
			return fmt.Errorf("the planner made %d revisions", drawn)
		}
		return goesOnRevised(w, entries)
	},
}

func replannedPlan(second string) string {
	return `# Replan

## Steps

### 1. First
**target:** script
**task:**
echo first >> WITNESS
echo one > one
**contract:** ` + "`test -s one`" + `

### 2. Second
**target:** script
**task:**
` + second + `
**contract:** ` + "`test -s two`" + `
**on_fail:** retry(0), then replan
`
}

// question asks two things; the answers are the outputs of their steps.
var question = &story{
	name: "question", steps: 3, asks: []string{"queue", "why"}, bugs: []bug{{name: "answer-late", in: 1}},
	plan: front + `# Ask

## Steps

### 1. Queue
**ask:** Which queue?
- SQS
- NATS

### 2. Why
**needs:** none
**ask:** Why that one?

### 3. Use
**needs:** 1, 2
**target:** script
**task:**
echo use >> WITNESS
echo "$PITON_STEP_QUEUE $PITON_STEP_WHY" > out
**contract:** ` + "`grep -q \"$PITON_STEP_WHY\" out`" + `
`,
	answer: func(_ *workspace, it item) ([]string, error) {
		switch {
		case it.Kind == "escalation":
			return []string{"retry"}, nil
		case it.Step == "queue":
			return []string{"NATS"}, nil
		}
		return []string{"answer", "--text", "it is small"}, nil
	},
	judge: func(w *workspace, _ []entry) error {
		if got := w.read("out"); got != "NATS it is small\n" {
			return fmt.Errorf("the answers were NATS and it is small; the step that needs them got %q", got)
		}
		return nil
	},
}

// budget has less to spend than it needs, until a person raises it.
var budget = &story{
	name: "budget", steps: 1, bugs: []bug{{name: "raise-lost", in: 2}},
	plan: front + `# Spend

**Budget:** max 10k tokens

## Steps

### 1. Fix
**task:** Fix it.
**contract:** ` + "`test \"$(wc -l < tries)\" -ge 4`" + `
**on_fail:** retry(40), then escalate
`,
	begin: func(w *workspace) error {
		if err := w.write(".piton/config.yaml", "agents:\n  coder: {kind: exec, command: [bash, "+w.dir+"/agent]}\ndefault_agent: coder\n"); err != nil {
			return err
		}
		return w.write("../agent", `echo fix >> WITNESS
echo '{"type":"usage","tokens_in":3000,"tokens_out":1000}' >> "$PITON_REPORT"
echo x >> tries
`)
	},
	answer: func(_ *workspace, it item) ([]string, error) {
		if it.Kind == "escalation" {
			return []string{"retry"}, nil
		}
		return []string{"approve", "--args", `{"tokens":10000000}`}, nil
	},
	judge: raisedOnce,
}

// fits is how many attempts of 4,000 tokens the budget has room for.
const fits = 2

// raisedOnce: before the budget was raised no more was dispatched than it held.
func raisedOnce(w *workspace, entries []entry) error {
	raised, asked, ended := false, 0, 0
	for _, e := range entries {
		switch {
		case e.typ == "work.ended" && e.body.How == "exit":
			ended++
		case e.typ == "item.opened" && e.body.Kind == "approval" && raised:
			return errors.New("the budget was raised, and is asked for again")
		case e.typ == "item.opened" && e.body.Kind == "approval":
			asked++
		case e.typ == "item.answered" && e.body.Choice == "approve":
			raised = true
		case e.typ == "work.dispatched" && asked > 0 && !raised:
			return errors.New("work was dispatched while the budget waited to be raised")
		}
	}
	if asked == 0 && ended > fits { // attempts that were killed leave their line, too
		return errors.New("nobody was asked for a larger budget")
	}
	return nil
}

// worktree merges a step's own worktree. Once that is done the person writes
// behind what was merged: merged again, it would be a conflict.
var worktree = &story{
	name: "worktree", steps: 2, bugs: []bug{{name: "merge-again", near: "effect after end merge", who: both}},
	plan: front + `# Merge

## Steps

### 1. Aside
**target:** script
**workspace:** worktree
**task:**
echo aside >> WITNESS
grep -qx step shared.txt || echo step >> shared.txt; echo new > new.txt
**contract:** ` + "`grep -qx step shared.txt && test -s new.txt`" + `
**on_fail:** escalate

### 2. Last
**target:** script
**task:**
echo last >> WITNESS
cat shared.txt > copy
**contract:** ` + "`grep -qx step copy`" + `
`,
	begin: func(w *workspace) error {
		if err := w.write("shared.txt", "base\n"); err != nil {
			return err
		}
		for _, args := range []string{"init -q -b main", "add -A", "-c user.name=me -c user.email=me@example.org commit -qm start"} {
			if _, err := w.git(strings.Fields(args)...); err != nil {
				return err
			}
		}
		return nil
	},
	answer: func(w *workspace, it item) ([]string, error) {
		if w.edited && strings.Contains(it.Text, "onflict") {
			return nil, fmt.Errorf("what was merged is merged again: %s", it.Text)
		}
		return []string{"retry"}, nil
	},
	after: func(w *workspace, _ []entry) error {
		marks, err := filepath.Glob(filepath.Join(w.dir, "state", "*.worktrees", "*", "aside", "marks.json"))
		if err != nil || len(marks) == 0 || w.edited {
			return err
		}
		body, err := os.ReadFile(marks[0])
		if err != nil || !bytes.Contains(body, []byte(`"merged":`)) {
			return err
		}
		w.edited = true
		return w.write("shared.txt", w.read("shared.txt")+"mine\n")
	},
	judge: func(w *workspace, _ []entry) error {
		want := "base\nstep\n"
		if w.edited {
			want += "mine\n"
		}
		if got := w.read("shared.txt"); got != want || w.read("new.txt") != "new\n" {
			return fmt.Errorf("merged is %q, and should be %q", got, want)
		}
		status, err := w.git("diff", "--cached", "--name-only", "main", "--")
		if err == nil && status != "" {
			err = fmt.Errorf("the person's index holds %q", status)
		}
		return err
	},
}

func (w *workspace) git(args ...string) (string, error) {
	c := exec.Command("git", args...)
	c.Dir, c.Env = w.work, []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + w.dir}
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", args, err, out)
	}
	return string(out), err
}

// overwrite calls a tool that overwrites a file, once a person has said yes.
// After its end is durable the person writes in it, too.
var overwrite = &story{
	name: "overwrite", steps: 2, bugs: []bug{{name: "call-again", in: 2, near: workEnded, who: both}},
	plan: front + `# Overwrite

## Steps

### 1. Write
**tool:** write_file
**args:**
` + "```json\n" + `{"path": "out.txt", "content": "of the plan\n"}
` + "```" + `
**contract:** ` + "`grep -q plan out.txt`" + `

### 2. Last
**target:** script
**task:**
echo last >> WITNESS
cat out.txt > copy
**contract:** ` + "`grep -q plan copy`" + `
`,
	begin: func(w *workspace) error { return w.write("out.txt", "of the person\n") },
	answer: func(_ *workspace, it item) ([]string, error) {
		if it.Kind == "escalation" {
			return []string{"retry"}, nil
		}
		return []string{"approve"}, nil
	},
	after: func(w *workspace, entries []entry) error {
		ended := slices.ContainsFunc(entries, func(e entry) bool {
			return e.typ == "work.ended" && e.body.Step == "write" && e.body.How == "exit"
		})
		if !ended || w.edited {
			return nil
		}
		w.edited = true
		return w.write("out.txt", w.read("out.txt")+"mine\n")
	},
	judge: func(w *workspace, _ []entry) error {
		want := "of the plan\n"
		if w.edited {
			want += "mine\n"
		}
		if got := w.read("out.txt"); got != want {
			return fmt.Errorf("the file is %q, and should be %q", got, want)
		}
		return nil
	},
}

// items runs a sub-plan for each of three items, two at once. The first run of the
// second one fails.
var items = &story{
	name: "items", steps: 6, asks: []string{"port"}, below: 3, stepsBelow: 2, bugs: []bug{{name: "apart", near: "commit"}},
	plan: front + `# Items

**Parallel:** 2

## Steps

### 1. List
**target:** script
**task:**
echo list >> WITNESS
touch listed; echo '["1", "2", "3"]'
**contract:** ` + "`test -e listed`" + `

### 2. Port
**for each:** $list
**plan:** sub.md
**contract:** ` + "`grep -qx \"$PITON_ITEM\" ported`" + `
**on_fail:** retry(40), then escalate

### 3. Join
**target:** script
**task:**
echo join >> WITNESS
sort -u ported > joined
**contract:** ` + "`test \"$(wc -l < joined)\" -eq 3`" + `
`,
	begin: func(w *workspace) error {
		return w.write("sub.md", front+`# Sub

## Steps

### 1. First
**target:** script
**task:**
echo "port.$PITON_ITEM/first" >> WITNESS
echo x >> "tries.$PITON_ITEM"
**contract:** `+"`test -s \"tries.$PITON_ITEM\"`"+`

### 2. Second
**target:** script
**writes:** ported
**task:**
echo "port.$PITON_ITEM/second" >> WITNESS
test "$PITON_ITEM" != 2 || test "$(wc -l < tries.2)" -ge 2 && echo "$PITON_ITEM" >> ported
**contract:** `+"`grep -qx \"$PITON_ITEM\" ported`"+`
**on_fail:** abort
`)
	},
	answer: func(_ *workspace, it item) ([]string, error) {
		if strings.Contains(it.Text, "outside its writes") {
			return nil, fmt.Errorf("what an item changed is asked about as nobody's, at step %s: %s", it.Step, it.Text)
		}
		return []string{"retry"}, nil
	},
	judge: func(w *workspace, _ []entry) error {
		if got := w.read("joined"); got != "1\n2\n3\n" {
			return fmt.Errorf("what the items left is %q", got)
		}
		return nil
	},
}
