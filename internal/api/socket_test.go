package api_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// desk keeps what it is told, and answers with err.
type desk struct {
	streams []string
	inputs  []engine.Input
	active  []string
	err     error
}

func (d *desk) Submit(_ context.Context, stream string, in engine.Input, _ ...store.Object) error {
	d.streams, d.inputs = append(d.streams, stream), append(d.inputs, in)
	return d.err
}

func (d *desk) Activate(_ context.Context, stream string) error {
	d.active = append(d.active, stream)
	return d.err
}

func (d *desk) Carried() []string { return d.active }

func listen(t *testing.T, d api.Owner, foreign bool) (api.Place, *api.Listener) {
	t.Helper()
	p := api.Place{State: t.TempDir()}
	l, err := api.Listen(p, d, "1.0", func(int) bool { return foreign }, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return p, l
}

func TestSubmitOverTheSocket(t *testing.T) {
	d := &desk{}
	p, _ := listen(t, d, false)
	c := api.Dial(p, "1.0")
	order := engine.Order{Command: engine.Command{Verb: engine.DoSkip, Step: "a", Why: "because", By: "ann"}}
	if err := c.Submit(t.Context(), "t-1", order); err != nil {
		t.Fatal(err)
	}
	if err := c.Activate(t.Context(), "t-1"); err != nil {
		t.Fatal(err)
	}
	if streams, err := c.Carried(t.Context()); err != nil || !slices.Equal(streams, []string{"t-1"}) {
		t.Errorf("it carries on %v, %v", streams, err)
	}
	if len(d.inputs) != 1 || d.inputs[0] != order || d.streams[0] != "t-1" || len(d.active) != 1 {
		t.Errorf("the desk got %v for %v and was activated for %v", d.inputs, d.streams, d.active)
	}
	if info, err := os.Stat(p.Socket()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
}

func TestRefusalsKeepTheirWords(t *testing.T) {
	p, _ := listen(t, &desk{err: &engine.Refusal{Code: engine.Conflict, Message: "run 1 is done", Hint: "open another"}}, false)
	err := api.Dial(p, "1.0").Submit(t.Context(), "t-1", engine.Reply{})
	problem, ok := errors.AsType[*api.Problem](err)
	if !ok || problem.Code != api.Conflict || problem.Message != "run 1 is done" || problem.Hint != "open another" {
		t.Errorf("got %#v", err)
	}
}

func TestProcessesOfARunAreRefused(t *testing.T) {
	d := &desk{}
	p, _ := listen(t, d, true)
	if api.Descends(os.Getpid()) {
		t.Error("a process counts as its own child")
	}
	err := api.Dial(p, "1.0").Submit(t.Context(), "t-1", engine.Order{})
	if problem, ok := errors.AsType[*api.Problem](err); !ok || problem.Code != api.Denied {
		t.Errorf("got %v", err)
	}
	if len(d.inputs) > 0 {
		t.Error("the command reached the desk")
	}
}

func TestOtherVersionsAreRefused(t *testing.T) {
	d := &desk{}
	p, _ := listen(t, d, false)
	err := api.Dial(p, "2.0").Submit(t.Context(), "t-1", engine.Order{})
	if problem, ok := errors.AsType[*api.Problem](err); !ok || problem.Code != api.Unavailable || !strings.Contains(problem.Message, "1.0") {
		t.Errorf("got %v", err)
	}
	if len(d.inputs) > 0 {
		t.Error("the command reached the desk")
	}
}

// Results of effects never come from outside: nobody can send a verdict.
func TestResultsCannotBeSent(t *testing.T) {
	p, _ := listen(t, &desk{}, false)
	for _, in := range []engine.Input{engine.Checked{}, engine.Ended{}, engine.Prepared{}, engine.Begin{}} {
		if err := api.Dial(p, "1.0").Submit(t.Context(), "t-1", in); err == nil {
			t.Errorf("%T was sent", in)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	err := api.Dial(api.Place{State: t.TempDir()}, "1.0").Submit(t.Context(), "t-1", engine.Order{})
	if problem, ok := errors.AsType[*api.Problem](err); !ok || problem.Code != api.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestChanges(t *testing.T) {
	p, l := listen(t, &desk{}, false)
	told := make(chan struct{}, 8)
	over := make(chan error, 1)
	go func() {
		over <- api.Dial(p, "1.0").Changes(t.Context(), func() error { told <- struct{}{}; return nil })
	}()
	<-told // once at the beginning
	l.Changed()
	<-told
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err != nil {
		t.Errorf("the owner's end is %v", err)
	}
}

func TestLocate(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PITON_STATE": state}
	alone, err := api.Locate(deep, env)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".piton"), 0o755); err != nil {
		t.Fatal(err)
	}
	found, err := api.Locate(deep, env)
	if err != nil {
		t.Fatal(err)
	}
	real, _ := filepath.EvalSymlinks(dir)
	if alone.Dir != filepath.Join(real, "a", "b") || found.Dir != real || found.ID == alone.ID {
		t.Errorf("alone %v, with a mark %v", alone, found)
	}
	again, _ := api.Locate(dir, env)
	if again != found {
		t.Errorf("%v and %v are one workspace", again, found)
	}
	if _, err := api.Locate(dir, map[string]string{"PITON_STATE": filepath.Join(dir, "state")}); err == nil {
		t.Error("a state directory inside the workspace is taken")
	}
}
