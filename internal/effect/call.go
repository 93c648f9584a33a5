package effect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tool"
	"github.com/piton-dev/piton/internal/tree"
)

// Caps on what is kept to be shown of a call, in bytes: its arguments, which are
// whole in an object, each file that would be lost, and all; and of a plan.
const (
	maxArgsShown = 4 << 10
	maxPlanShown = 64 << 10
	maxFileShown = 2 << 10
	maxShown     = 8 << 10
)

// preview looks at what the step's call would do: with the outputs of steps in
// place of references, or with what a person gave instead. It returns the
// arguments. An error is this machine's fault; what is wrong with the call
// itself is in the preview.
func (w *World) preview(ctx context.Context, e engine.Effect) (engine.Preview, []byte, error) {
	args, err := w.arguments(e)
	if err != nil {
		return engine.Preview{}, nil, err
	}
	p := engine.Preview{Args: digest(args.body), Refused: args.refused, Context: shownArgs(args.body)}
	if p.Refused == "" {
		err = w.weigh(ctx, e, args.body, &p)
	}
	p.Hash = cmpHash(p)
	return p, args.body, err
}

// cmpHash is what an approval is bound to, of a call that could not be weighed too.
func cmpHash(p engine.Preview) string {
	if p.Hash != "" {
		return p.Hash
	}
	return digest([]byte(p.Args + "\x00" + p.Refused))
}

// arguments of a call, or why there are none.
type arguments struct {
	body    []byte
	refused string
}

// arguments resolves the references of a call.
func (w *World) arguments(e engine.Effect) (arguments, error) {
	if e.Edited != "" {
		body, err := w.Object(e.Edited)
		if err != nil {
			return arguments{}, fmt.Errorf("read the arguments: %w", err)
		}
		return arguments{body: body}, nil
	}
	var fault error
	body, err := e.Step.Arguments(func(id string) (any, error) {
		text, ok, err := w.output(e, id)
		if err != nil {
			fault = err
			return nil, fault
		}
		if !ok {
			return nil, fmt.Errorf("step %q has no output", id)
		}
		return engine.ValueOf(text)
	})
	if fault != nil {
		return arguments{}, fault
	}
	if err != nil {
		return arguments{body: []byte(cmp.Or(string(e.Step.Args), "{}")), refused: "the arguments cannot be made: " + err.Error()}, nil
	}
	return arguments{body: body}, nil
}

// weigh asks the registry what the call needs. Only a server that does not
// answer may answer later.
func (w *World) weigh(ctx context.Context, e engine.Effect, args []byte, p *engine.Preview) error {
	weight, err := w.Tools.Weigh(ctx, e.Step.Tool, args)
	if problem, ok := errors.AsType[*tool.Problem](err); ok && problem.Code != tool.Unavailable && ctx.Err() == nil {
		p.Refused = fmt.Sprintf("%s cannot be called: %s", e.Step.Tool, problem.Message)
		return nil
	}
	if err != nil {
		return err
	}
	p.Must, p.Effect, p.Hash = weight.Asks, string(weight.Effect), weight.Hash
	for _, t := range weight.Targets {
		p.Targets = append(p.Targets, engine.Target(t))
	}
	risk := engine.Risk(p.Effect, e.Step.Writes, w.loose(e.Step, weight.Named))
	p.Low, p.Reason = !p.Must && risk == "", cmp.Or(weight.Reason, risk)
	if out := outsideScope(p.Targets, e.Step.Writes); out != "" {
		p.Refused = out + " is outside the step's writes"
	}
	p.Context = w.shown(p)
	return nil
}

// outsideScope names a target that the step's scope does not cover.
func outsideScope(targets []engine.Target, writes []string) string {
	if len(writes) == 0 {
		return ""
	}
	changes := make([]engine.Change, len(targets))
	for i, t := range targets {
		changes[i].Path = t.Path
	}
	if out := tree.OutOfScope(changes, writes); len(out) > 0 {
		return out[0].Path
	}
	return ""
}

// shownArgs lays the arguments out for people.
func shownArgs(args []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, args, "", "  ") != nil {
		return cut(string(args), maxArgsShown)
	}
	return cut(b.String(), maxArgsShown)
}

// shown adds what would be lost to the arguments.
func (w *World) shown(p *engine.Preview) string {
	var b strings.Builder
	b.WriteString(p.Context)
	for _, t := range p.Targets {
		switch {
		case t.Before == "":
			continue
		case b.Len() > maxShown-maxFileShown:
			fmt.Fprintf(&b, "\n\n%s would be lost too", t.Path)
			continue
		}
		if text, ok := w.excerpt(t.Path); ok {
			fmt.Fprintf(&b, "\n\n%s is now:\n%s", t.Path, text)
		}
	}
	return b.String()
}

// excerpt is the beginning of a file that is text.
func (w *World) excerpt(path string) (string, bool) {
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		return "", false
	}
	defer root.Close()
	info, err := root.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	f, err := root.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, maxFileShown+1))
	if err != nil || bytes.IndexByte(body, 0) >= 0 {
		return "", false
	}
	return cutOf(string(body), maxFileShown, int(info.Size())), true
}

// cut shortens a text at the end of a letter, and says so.
func cut(s string, most int) string { return cutOf(s, most, len(s)) }

// cutOf is cut for the beginning of a text that has size bytes.
func cutOf(s string, most, size int) string {
	if len(s) <= most {
		return strings.TrimRight(s, "\n")
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return fmt.Sprintf("%s\n… %d bytes more", s[:most], size-most)
}

// call calls the step's tool, bound to what was there when it was looked at.
func (w *World) call(ctx context.Context, e engine.Effect, r Reporter, end *engine.WorkEnded) ([]byte, error) {
	args, err := w.Object(e.Prompt)
	if err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	within, cancel := context.WithTimeout(ctx, e.Step.Timeout)
	defer cancel()
	said := w.saying(e.Key, r.Said)
	defer said.close()
	if w.loose(e.Step, false) == "" {
		within = tool.Within(within, func() (*proc.Room, error) { return w.room(e.Step) })
	}
	o := w.Tools.Call(tool.WithProgress(within, said.progress), e.Step.Tool, args, targets(e.Shown))
	end.How, end.Ms, end.Size, end.Network = engine.Exited, o.Duration.Milliseconds(), int64(len(o.Output)), o.Network
	for _, c := range o.Changes {
		end.Changed = append(end.Changed, c.Path)
	}
	if o.OK {
		return o.Output, nil
	}
	if within.Err() != nil && ctx.Err() == nil {
		end.How, end.Reason = engine.TimedOut, fmt.Sprintf("%s took longer than %v, the timeout of the step", e.Step.Tool, e.Step.Timeout)
		return nil, nil
	}
	return nil, failed(ctx, o.Problem, end)
}

// targets binds a call to what was seen. A call that changes no file it can
// name is bound to nothing.
func targets(shown []engine.Target) []tool.Target {
	if len(shown) == 0 {
		return nil
	}
	list := make([]tool.Target, len(shown))
	for i, t := range shown {
		list[i] = tool.Target(t)
	}
	return list
}

// failed says how a call without an output ended. What is different now than it
// was looked at, and a server that does not answer, are no failure of the step.
func failed(ctx context.Context, p *tool.Problem, end *engine.WorkEnded) error {
	end.Reason = fmt.Sprintf("%s: %s", p.Code, p.Message)
	switch {
	case ctx.Err() != nil:
		end.How, end.Reason = engine.Stopped, "stopped by Piton"
	case p.Code == tool.TimedOut:
		end.How = engine.TimedOut
	case p.Code == tool.Unavailable, p.Code == tool.Changed && len(end.Changed) == 0:
		return p
	default:
		end.Failed, end.Exit = true, p.Exit
	}
	return nil
}
