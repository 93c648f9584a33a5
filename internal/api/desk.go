package api

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// A Desk takes every change. It returns when the change is durable, or with
// the reason why it was refused. It is safe for concurrent use. The owner's
// loop is one; [Client] is one over the owner's socket.
type Desk interface {
	// Submit hands an input to a stream.
	Submit(ctx context.Context, stream string, in engine.Input, objects ...store.Object) error
	// Activate makes the owner start what the task's run wants.
	Activate(ctx context.Context, stream string) error
}

// An Owner is the desk of the process that owns the workspace.
type Owner interface {
	Desk
	// Carried names the streams whose runs it carries on.
	Carried() []string
}

// request is an input on the socket. Only what a person may ask has a name
// there: results of effects never come from outside.
type request struct {
	Version string          `json:"version"`
	Stream  string          `json:"stream"`
	Kind    string          `json:"kind"`
	Input   json.RawMessage `json:"input,omitempty"`
	Objects [][]byte        `json:"objects,omitempty"`
}

const activate = "activate"

var kinds = map[string]func([]byte) (engine.Input, error){
	"open":      decodeInput[engine.Open],
	"revise":    decodeInput[engine.Revise],
	"order":     decodeInput[engine.Order],
	"reply":     decodeInput[engine.Reply],
	"draft":     decodeInput[engine.Draft],
	"judgement": decodeInput[engine.Judgement],
}

func decodeInput[I engine.Input](body []byte) (engine.Input, error) {
	var in I
	err := json.Unmarshal(body, &in)
	return in, err
}

func kindOf(in engine.Input) (string, error) {
	switch in.(type) {
	case engine.Open:
		return "open", nil
	case engine.Revise:
		return "revise", nil
	case engine.Order:
		return "order", nil
	case engine.Reply:
		return "reply", nil
	case engine.Draft:
		return "draft", nil
	case engine.Judgement:
		return "judgement", nil
	}
	return "", fmt.Errorf("%T cannot be sent to the owner", in)
}

// open gives an Open or a Revise its program back, which is an object on the way.
func (r request) open(in engine.Input, objects []store.Object) (engine.Input, error) {
	var err error
	switch o := in.(type) {
	case engine.Open:
		o.Run.Compiled, err = programOf(o.Run, objects)
		return o, err
	case engine.Revise:
		o.Run.Compiled, err = programOf(o.Run, objects)
		return o, err
	}
	return in, nil
}

func programOf(r engine.RunOpened, objects []store.Object) (*engine.Program, error) {
	for _, obj := range objects {
		if obj.Hash == r.Program {
			return engine.DecodeProgram(obj.Body)
		}
	}
	return nil, &Problem{Code: Invalid, Message: "the run came without its program"}
}
