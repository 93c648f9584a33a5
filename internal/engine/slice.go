package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// errProgram says that bytes are those of no program.
var errProgram = errors.New("decode program: it is not what was written")

// DecodeSteps reads the steps at some places of what [Program.Encode] wrote, and nothing
// behind the last of them; those that it does not have are left out. The bytes must be those
// that the program's hash stands for.
func DecodeSteps(body []byte, at ...int) (map[int]*Step, error) {
	found := map[int]*Step{}
	_, rest, _ := bytes.Cut(body, []byte(`,"steps":[`)) // a quote inside a text is written otherwise
	for n := 0; len(found) < len(at) && len(rest) > 0 && rest[0] != ']'; n++ {
		end := valueEnd(rest)
		if end < 0 {
			return nil, errProgram
		}
		if slices.Contains(at, n) {
			var s Step
			if err := json.Unmarshal(rest[:end], &s); err != nil {
				return nil, fmt.Errorf("decode step %d: %w", n, err)
			}
			found[n] = &s
		}
		rest = bytes.TrimPrefix(rest[end:], []byte(","))
	}
	return found, nil
}

// valueEnd is where the object ends that text begins with, -1 where it does not end.
func valueEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return -1
}
