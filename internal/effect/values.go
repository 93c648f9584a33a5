package effect

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// misfit is what trying again does not change, as an output that no variable can hold.
type misfit string

func (m misfit) Error() string { return string(m) }

// item is the variable in which whoever works for the step finds the item, if
// there is one.
func item(e engine.Effect) (map[string]string, error) {
	if len(e.Item) == 0 {
		return map[string]string{}, nil
	}
	text, err := engine.ItemText(e.Item)
	if err != nil {
		return nil, misfit(fmt.Sprintf("the item of step %q: %v", e.Step.ID, err))
	}
	return map[string]string{engine.ItemVariable: text}, nil
}

// values are the variables in which scripts and checks of the step find the
// outputs that they read, and their item: the text as it was put out, less the line ends behind
// it. An output that fits no variable is an error.
func (w *World) values(e engine.Effect) (map[string]string, error) {
	set, err := item(e)
	if err != nil {
		return nil, err
	}
	for _, id := range e.Step.Reads {
		body, ok, err := w.output(e, id)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		body = bytes.TrimRight(body, "\r\n")
		if err := engine.FitsVariable(engine.Variable(id), string(body)); err != nil {
			return nil, misfit(fmt.Sprintf("the output of step %q: %v; let the step write a file instead", id, err))
		}
		set[engine.Variable(id)] = strings.ToValidUTF8(string(body), "\ufffd")
	}
	return set, nil
}
