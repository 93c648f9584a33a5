package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// errProgram says that bytes are those of no program.
var errProgram = errors.New("decode program: it is not what was written")

// DecodeStep reads the i-th step of what [Program.Encode] wrote, and nothing else of it; nil
// where it has fewer. The bytes must be those that the program's hash stands for.
func DecodeStep(body []byte, i int) (*Step, error) {
	_, rest, ok := bytes.Cut(body, []byte(`,"steps":[`)) // a quote inside a text is written otherwise
	if !ok || i < 0 {
		return nil, nil
	}
	for n := 0; len(rest) > 0 && rest[0] != ']'; n++ {
		end := valueEnd(rest)
		if end < 0 {
			return nil, errProgram
		}
		if n == i {
			var s Step
			if err := json.Unmarshal(rest[:end], &s); err != nil {
				return nil, fmt.Errorf("decode step %d: %w", i, err)
			}
			return &s, nil
		}
		rest = bytes.TrimPrefix(rest[end:], []byte(","))
	}
	return nil, nil
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
