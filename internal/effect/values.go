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

// values are the variables in which scripts and checks of the step find the
// outputs that they read, and their item: the text as it was put out, less the line ends behind
// it. An output that fits no variable is an error.
func (w *World) values(e engine.Effect) (map[string]string, error) {
	set := map[string]string{}
	if len(e.Step.Item) > 0 {
		text, err := e.Step.ItemText()
		if err == nil {
			err = engine.FitsVariable(engine.ItemVariable, text)
		}
		if err != nil {
			return nil, misfit(fmt.Sprintf("the item of step %q: %v", e.Step.ID, err))
		}
		set[engine.ItemVariable] = text
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
