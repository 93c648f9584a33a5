package run_test

import (
	"context"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// planted is a bug that a world is given on purpose. The zero value is none.
type planted struct {
	name  string
	rule  string // that the auditor must find broken
	store func(*life, store.Store) store.Store
	do    func(*life, run.Do) run.Do
	plan  func(engine.Definition) engine.Definition // what runs in place of what was approved
	say   func(*life, submit) submit
}

type submit func(ctx context.Context, stream string, in engine.Input, objects ...store.Object) error

func (b planted) storeOf(l *life) store.Store {
	if b.store == nil {
		return l.disk
	}
	return b.store(l, l.disk)
}

func (b planted) doOf(l *life) run.Do {
	if b.do == nil {
		return l.do
	}
	return b.do(l, l.do)
}

func (b planted) submitOf(l *life) submit {
	if b.say == nil {
		return l.host.Submit
	}
	return b.say(l, l.host.Submit)
}
