package effect

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// maxVariable is the largest output that an environment variable takes: systems
// refuse to start a program with one that is a little larger.
const maxVariable = 96 << 10

// misfit is an output that no variable can hold: trying again changes nothing.
type misfit string

func (m misfit) Error() string { return string(m) }

// values are the variables in which scripts and checks of the step find the
// outputs that they read: the text as it was put out, less the line ends behind
// it. An output that fits no variable is an error.
func (w *World) values(e engine.Effect) (map[string]string, error) {
	set := map[string]string{}
	for _, id := range e.Step.Reads {
		hash, ok := e.Outputs[id]
		if !ok {
			continue
		}
		body, err := w.Object(hash)
		if err != nil {
			return nil, fmt.Errorf("read the output of step %q: %w", id, err)
		}
		body = bytes.TrimRight(body, "\r\n")
		if len(body) > maxVariable || bytes.IndexByte(body, 0) >= 0 {
			return nil, misfit(fmt.Sprintf("the output of step %q, %d bytes, does not fit into %s: at most %d bytes of text do; let the step write a file instead",
				id, len(body), engine.Variable(id), maxVariable))
		}
		set[engine.Variable(id)] = strings.ToValidUTF8(string(body), "\ufffd")
	}
	return set, nil
}
