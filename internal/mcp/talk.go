package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// talk is what a client and a server say to each other, a message a line. The server reads
// those that are messages. Any other line is answered here: to the library it would be the
// end.
type talk struct {
	in *bufio.Reader
	io.Closer
	rest []byte // of the line that is being read

	writing sync.Mutex
	out     io.Writer
}

func newTalk(in io.ReadCloser, out io.Writer) *talk {
	return &talk{in: bufio.NewReader(in), Closer: in, out: out}
}

// Write writes whole lines, one call at a time.
func (t *talk) Write(p []byte) (int, error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	return t.out.Write(p)
}

// Read gives at most the rest of one message.
func (t *talk) Read(p []byte) (int, error) {
	for len(t.rest) == 0 {
		line, err := t.line()
		if err != nil {
			return 0, err
		}
		if len(line) == 0 {
			continue
		}
		if wrong := amiss(line); wrong != nil {
			if err := t.refuse(wrong); err != nil {
				return 0, err
			}
			continue
		}
		t.rest = append(line, '\n')
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// line is the next line without spaces around it. Of one that is too long it is the
// beginning, and longer than any message.
func (t *talk) line() ([]byte, error) {
	var line []byte
	for {
		part, err := t.in.ReadSlice('\n')
		line = append(line, part[:min(len(part), maxMessage+1-len(line))]...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0, err == nil:
			return bytes.TrimSpace(line), nil
		default:
			return nil, err
		}
	}
}

// amiss is what is wrong with a line that is no message.
func amiss(line []byte) *jsonrpc.Error {
	if len(line) > maxMessage {
		return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: fmt.Sprintf("a message has %d bytes at most, on one line", maxMessage)}
	}
	if !json.Valid(line) {
		return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the line is no JSON; a message is one line"}
	}
	if line[0] != '{' {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a message is one JSON object; batches are not taken"}
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: cut(err.Error(), maxLine)}
	}
	return nil
}

// refuse answers a line from which no id can be told.
func (t *talk) refuse(wrong *jsonrpc.Error) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": wrong})
	if err == nil {
		_, err = t.Write(append(body, '\n'))
	}
	return err
}
