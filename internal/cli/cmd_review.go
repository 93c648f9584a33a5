package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/template"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) reviewCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "review PLAN",
		Short: "Review a plan step by step, change it, approve it",
		Long: `Shows the steps with what was found in them, and the one that you choose. One key edits it in
$EDITOR, moves it, leaves it out of runs, gives your comment to the planner, adds one after it, or
removes it. With TERM=dumb it asks about one step after the other, in plain lines. Each answer is
written to the file at once, so you can stop at any time. A step of a plan in YAML or JSON is edited as Markdown and written back in the
form of the file. A change that the form cannot hold is refused, and so is any change of a file
with something that would not be kept, such as a comment or a key that the form does not know. At
the end it asks for your approval of the whole plan, as piton approve does.`,
		Example: "  piton review plans/fix.md\n  EDITOR=nano piton review plans/fix.md",
		Args:    exactly("a plan", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.review(c.Context(), args[0]) },
	}
}

func (a *app) review(ctx context.Context, path string) error {
	if err := a.byPerson(); err != nil {
		return err
	}
	if !a.asks() {
		return misuse("review asks questions and needs a terminal", "piton show PLAN shows the plan, piton approve PLAN approves it")
	}
	return a.with(ctx, func(s *session) error {
		r := &review{session: s, path: path, in: bufio.NewReader(a.in), theme: a.theme(a.err), full: a.draws(a.err) && !a.json}
		return r.walk(ctx)
	})
}

// review is one walk through a plan. What it says goes to standard error.
type review struct {
	*session
	theme theme
	path  string
	in    *bufio.Reader

	doc     *api.Document
	md      *plan.Plan // the plan as Markdown, in which steps are edited
	at      int        // the step that is looked at
	full    bool       // at a whole terminal
	said    []string   // since the plan was drawn
	changes int
}

// errQuit ends a walk; what was changed is in the file already.
var errQuit = errors.New("the review was stopped")

// reviewDoc is what came of a walk, for programs.
type reviewDoc struct {
	File     string `json:"file"`
	Changes  int    `json:"changes"`
	Approved bool   `json:"approved"`
}

func (r *review) walk(ctx context.Context) error {
	look := r.steps
	if r.full {
		look = r.pages
	}
	err := look(ctx)
	approved := false
	if err == nil {
		approved, err = r.approve(ctx)
	}
	if r.app.json && (err == nil || errors.Is(err, errQuit)) {
		r.app.document("review", reviewDoc{r.path, r.changes, approved})
	}
	switch {
	case errors.Is(err, errQuit):
		return r.left(ctx)
	case err == nil && !approved:
		return ended(exitWaiting)
	}
	return err
}

// left says how the plan stands when a walk was left.
func (r *review) left(ctx context.Context) error {
	if r.doc != nil {
		was, err := r.approved(ctx, r.doc)
		if err != nil {
			return err
		}
		if was != nil {
			r.say("Stopped. %s; %s.", r.changed(), r.theme.approvedAlready(was, r.path))
			return nil
		}
	}
	r.say("Stopped. %s; the plan is not approved. To continue: piton review %s", r.changed(), engine.ShellWord(r.path))
	return ended(exitWaiting)
}

func (r *review) changed() string {
	if r.changes == 0 {
		return "Nothing was changed"
	}
	return view.Plural(r.changes, "change is", "changes are") + " in the file"
}

// steps asks about one step after the other.
func (r *review) steps(ctx context.Context) error {
	if err := r.read(ctx); err != nil {
		return err
	}
	r.say("%s: %s, %s. Every answer is written at once; q leaves.", r.path, r.theme.line(r.doc.Plan.Title.Value), view.Plural(len(r.doc.Plan.Steps), "step", "steps"))
	for r.at < len(r.doc.Plan.Steps) {
		r.show()
		answer, err := r.ask("keep, edit, move, skip, add, remove, back, quit [k/e/m/s/a/r/b/q]")
		if err != nil {
			return err
		}
		if err := r.do(answer); err != nil {
			return err
		}
		if err := r.read(ctx); err != nil {
			return err
		}
	}
	return nil
}

// read takes the file as it is now: somebody may have changed it.
func (r *review) read(ctx context.Context) (err error) {
	if r.doc, err = r.Named(ctx, r.path); err != nil {
		return err
	}
	if r.doc.Plan == nil || len(r.doc.Plan.Steps) == 0 {
		return r.app.refuse(r.doc)
	}
	r.md, err = r.doc.InMarkdown()
	return err
}

func (r *review) show() {
	p, s := r.doc.Plan, r.doc.Plan.Steps[r.at]
	fmt.Fprintln(r.app.err)
	r.say("Step %d of %d", r.at+1, len(p.Steps))
	lines := r.theme.planStep(s, r.doc, view.NeedsOf(p, p.Refs(), r.at))
	if plan.LeftOut(s) {
		lines = append(lines, r.theme.under(3, youTone, "left out of runs (when: false)")...)
	}
	for _, f := range r.found(r.at) {
		lines = append(lines, r.finding(f)...)
	}
	printLines(r.app.err, lines)
}

// found is what the verifier says of a step.
func (r *review) found(at int) (all []verify.Finding) {
	p := r.doc.Plan
	s := p.Steps[at]
	for _, f := range r.doc.Findings {
		if f.Step == s.ID.Value || f.Line >= s.Pos.Line && (at+1 == len(p.Steps) || f.Line < p.Steps[at+1].Pos.Line) {
			all = append(all, f)
		}
	}
	return all
}

// finding is what the verifier says of the step, within the terminal's width.
func (r *review) finding(f verify.Finding) []string {
	text := fmt.Sprintf("line %d: %s: %s %s", f.Line, f.Severity, f.Code, f.Message)
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	return r.theme.under(3, findingTone(f.Severity), r.theme.line(text))
}

// say prints a sentence within the terminal's width.
func (r *review) say(format string, args ...any) {
	text := r.theme.line(fmt.Sprintf(format, args...))
	r.said = append(r.said, text)
	printLines(r.app.err, r.theme.under(0, plainTone, text))
}

// ask gets one line; the end of the input leaves.
func (r *review) ask(question string) (string, error) {
	fmt.Fprintf(r.app.err, "%s ", question)
	line, err := r.in.ReadString('\n')
	if err != nil && line == "" {
		fmt.Fprintln(r.app.err)
		return "", errQuit
	}
	return strings.TrimSpace(line), nil
}

// do carries one answer out.
func (r *review) do(answer string) error {
	switch strings.ToLower(answer) {
	case "k", "keep", "":
		r.at++
	case "e", "edit":
		return r.edit()
	case "m", "move":
		return r.move()
	case "s", "skip":
		return r.skip()
	case "a", "add":
		return r.add()
	case "r", "remove":
		return r.remove()
	case "b", "back":
		r.at = max(0, r.at-1)
	case "q", "quit":
		return errQuit
	default:
		r.say("%q is not an answer; one letter is enough.", r.theme.line(answer))
	}
	return nil
}

// write puts an edited text in the place of the file, in the form of that, unless somebody
// else did. Where the form cannot hold it, nothing is written.
func (r *review) write(text []byte) error {
	if bytes.Equal(text, r.md.Source) {
		r.say("Nothing was changed.")
		return nil
	}
	text, err := r.doc.Rewritten(text)
	if err != nil {
		r.say("Nothing was changed: %s. Edit the file itself.", r.theme.line(err.Error()))
		return nil
	}
	if err := r.app.rewrite(r.path, r.doc.Source, text); err != nil {
		if api.Explain(err).Code != api.Conflict {
			return err
		}
		r.say("%s was changed by somebody else; here is the new text.", r.path)
		return nil
	}
	r.changes++
	return nil
}

func (r *review) edit() error {
	s := r.md.Steps[r.at]
	text := bytes.TrimRight(r.md.Source[s.Start:s.End], "\r\n")
	for text = append(text, '\n'); ; {
		changed, err := r.editor(text)
		if err != nil {
			r.say("The step stays as it is: %v", err)
			return nil
		}
		if bytes.Equal(changed, text) {
			r.say("Nothing was changed.")
			return nil
		}
		whole, err := plan.RewrittenStep(r.md, r.at, changed)
		if err == nil {
			return r.write(whole)
		}
		r.say("This is not a single step: %v", err)
		again, err := r.ask("Edit it again? [Y/n]")
		if err != nil {
			return err
		}
		if strings.HasPrefix(strings.ToLower(again), "n") {
			return nil
		}
		text = changed
	}
}

// editor lets the person change a text in their own editor.
func (r *review) editor(text []byte) ([]byte, error) {
	f, err := os.CreateTemp("", "piton-step-*.md")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	env := r.app.environ()
	name := cmp.Or(env["VISUAL"], env["EDITOR"], "vi")
	words := strings.Fields(name)
	if path, err := proc.Find(name, proc.SearchPath(r.app.env)); err == nil {
		words = []string{path} // with blanks in its name
	}
	c := exec.Command(words[0], append(words[1:], f.Name())...)
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = r.app.dir, r.app.env, r.app.in, r.app.err, r.app.err
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("the editor %s: %w; set EDITOR to another", name, err)
	}
	g, err := os.Open(f.Name())
	if err != nil {
		return nil, err
	}
	defer g.Close()
	return io.ReadAll(io.LimitReader(g, plan.MaxBytes+1))
}

func (r *review) move() error {
	p := r.doc.Plan
	answer, err := r.ask(fmt.Sprintf("To which place, 1 to %d?", len(p.Steps)))
	if err != nil {
		return err
	}
	place, err := strconv.Atoi(answer)
	if err != nil || place < 1 || place > len(p.Steps) {
		r.say("%q is not a place from 1 to %d; the step stays.", r.theme.line(answer), len(p.Steps))
		return nil
	}
	if place-1 == r.at {
		r.say("It is there already.")
		return nil
	}
	if names := view.Misplaced(r.md, r.at, place-1); len(names) > 0 {
		verb := "is needed by"
		if place-1 < r.at {
			verb = "needs"
		}
		r.say("The step %s %s: it cannot go to place %d, and stays.", verb, r.theme.line(view.Join(names)), place)
		return nil
	}
	before := r.changes
	if err := r.write(plan.MovedStep(r.md, r.at, place-1)); err != nil || r.changes == before {
		return err
	}
	moved := "Moved. Numbers do not change"
	if r.doc.Form.Form == form.Markdown {
		moved += "; a step without needs now waits for the step before it"
	}
	r.say("%s.", moved)
	switch {
	case r.full:
		r.at = place - 1
	case place-1 < r.at:
		r.at++ // the steps before were looked at already
	}
	return nil
}

func (r *review) skip() error {
	text, err := plan.ToggledStep(r.md, r.at)
	if err != nil {
		r.say("Nothing was changed: %s.", r.theme.line(err.Error()))
		return nil
	}
	return r.write(text)
}

func (r *review) add() error {
	title, err := r.ask("Title of the new step:")
	if err != nil {
		return err
	}
	if title == "" {
		r.say("No title, no step.")
		return nil
	}
	before := r.changes
	if err := r.write(plan.WithStep(r.md, r.at+1, plan.FreshStep(r.md, template.Empty("").Steps[0], title))); err != nil || r.changes == before {
		return err
	}
	r.at++
	r.say("Added; fill it in with edit.")
	return nil
}

func (r *review) remove() error {
	p := r.doc.Plan
	if len(p.Steps) == 1 {
		r.say("It is the only step; a plan needs one.")
		return nil
	}
	if names := view.Needing(p, r.at); len(names) > 0 {
		r.say("These steps wait for it: %s", r.theme.line(view.Join(names)))
	}
	answer, err := r.ask("Remove the step? [y/N]")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(strings.ToLower(answer), "y") {
		return nil
	}
	return r.write(plan.WithoutStep(r.md, r.at))
}

// approve asks for a yes to the bytes that were read last.
func (r *review) approve(ctx context.Context) (bool, error) {
	fmt.Fprintln(r.app.err)
	r.say("That was all. %s.", r.changed())
	if _, err := r.fit(r.doc); err != nil {
		r.say("The plan cannot be approved yet. Once it is fixed: piton review %s", engine.ShellWord(r.path))
		return false, err
	}
	was, err := r.approved(ctx, r.doc)
	if err != nil {
		return false, err
	}
	if was != nil {
		r.say("%s.", r.theme.approvedAlready(was, r.path))
		return true, nil
	}
	answer, err := r.ask(fmt.Sprintf("Approve this plan of %s? [y/N]", view.Plural(len(r.doc.Plan.Steps), "step", "steps")))
	if err != nil {
		return false, err
	}
	if !strings.HasPrefix(strings.ToLower(answer), "y") {
		r.say("Not approved.")
		return false, nil
	}
	said, err := r.sayApproved(ctx, r.path, r.doc, approveFlags{}, true)
	if err == nil {
		r.say("Approved. Start it with: piton run %s", engine.ShellWord(said.Path))
	}
	return err == nil, err
}
