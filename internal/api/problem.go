package api

import (
	"errors"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// Code is the machine's word for what went wrong; the faces show it as is.
type Code string

const (
	Invalid     Code = "invalid"
	Conflict    Code = "conflict"
	NotFound    Code = "not_found"
	Denied      Code = "denied"
	Unavailable Code = "unavailable"
	Internal    Code = "internal"
)

// Problem is an error for people: what is wrong and what to do.
type Problem struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (p *Problem) Error() string { return p.Message }

// Explain turns any error into a problem.
func Explain(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		return &Problem{Code: Code(r.Code), Message: r.Message, Hint: r.Hint}
	}
	code := Internal
	switch {
	case errors.Is(err, store.ErrOwned), errors.Is(err, store.ErrFenced), errors.Is(err, run.ErrStopped),
		errors.Is(err, store.ErrFull), errors.Is(err, store.ErrReadOnly):
		code = Unavailable
	case errors.Is(err, store.ErrNotFound):
		code = NotFound
	}
	return &Problem{Code: code, Message: err.Error()}
}
