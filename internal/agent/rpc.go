package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// rpc is one end of JSON-RPC 2.0, with one message in a line. Its methods are safe for
// concurrent use.
type rpc struct {
	out io.Writer
	// serve answers a request of the other end. Its ctx ends when that takes the request back,
	// or is gone. An error that is no rpcError is told as one of this program.
	serve    func(ctx context.Context, method string, params json.RawMessage) (any, error)
	answered func() // a request has its answer
	life     context.Context
	end      context.CancelFunc

	writing sync.Mutex
	mu      sync.Mutex
	last    int
	asked   map[string]chan rpcMessage // by id: what waits for an answer
	serving map[string]context.CancelFunc
}

type rpcMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// rpcError is an answer that is an error.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return e.Message }

// Codes of errors that JSON-RPC has.
const (
	noMethod  = -32601
	badParams = -32602
	ownFault  = -32603
)

// errGone is that the other end ended before it answered.
var errGone = errors.New("it is gone")

// cancelRequest is the notification by which either end takes a request back.
const cancelRequest = "$/cancel_request"

type cancelled struct {
	ID json.RawMessage `json:"requestId"`
}

func newRPC(out io.Writer, serve func(context.Context, string, json.RawMessage) (any, error), answered func()) *rpc {
	c := &rpc{out: out, serve: serve, answered: answered, asked: map[string]chan rpcMessage{}, serving: map[string]context.CancelFunc{}}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// take takes a line in. It never waits.
func (c *rpc) take(line []byte) {
	var m rpcMessage
	if json.Unmarshal(line, &m) != nil {
		return
	}
	id := string(bytes.TrimSpace(m.ID))
	switch {
	case m.Method == cancelRequest:
		var x cancelled
		if json.Unmarshal(m.Params, &x) == nil {
			c.mu.Lock()
			stop := c.serving[string(bytes.TrimSpace(x.ID))]
			c.mu.Unlock()
			if stop != nil {
				stop()
			}
		}
	case m.Method == "":
		c.mu.Lock()
		to := c.asked[id]
		delete(c.asked, id)
		c.mu.Unlock()
		if to != nil {
			to <- m // it has room for one
		}
	case id != "":
		ctx, stop := context.WithCancel(c.life)
		c.mu.Lock()
		c.serving[id] = stop
		c.mu.Unlock()
		go func() {
			defer stop()
			c.answer(ctx, m)
			c.mu.Lock()
			delete(c.serving, id)
			c.mu.Unlock()
		}()
	}
}

func (c *rpc) answer(ctx context.Context, m rpcMessage) {
	defer c.answered()
	to := rpcMessage{ID: m.ID}
	result, err := c.serve(ctx, m.Method, m.Params)
	if err == nil {
		to.Result, err = json.Marshal(result)
	}
	if err != nil {
		var is bool
		if to.Error, is = errors.AsType[*rpcError](err); !is {
			to.Error = &rpcError{Code: ownFault, Message: err.Error()}
		}
	}
	_ = c.write(to) // who does not read has no answer
}

func (c *rpc) write(m rpcMessage) error {
	m.Version = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err = c.out.Write(append(line, '\n'))
	return err
}

// notify says something that has no answer.
func (c *rpc) notify(method string, params any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return c.write(rpcMessage{Method: method, Params: body})
}

// call asks for something and waits for the answer, which it decodes into result. It fails with
// an rpcError where the answer is one, with errGone, or as ctx ends.
func (c *rpc) call(ctx context.Context, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	answer := make(chan rpcMessage, 1)
	c.mu.Lock()
	c.last++
	id := strconv.Itoa(c.last)
	c.asked[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asked, id)
		c.mu.Unlock()
	}()
	if c.write(rpcMessage{ID: json.RawMessage(id), Method: method, Params: body}) != nil {
		return errGone
	}
	select {
	case m := <-answer:
		return m.into(result)
	case <-c.life.Done():
	case <-ctx.Done():
		if c.life.Err() == nil {
			go c.notify(cancelRequest, cancelled{json.RawMessage(id)}) //nolint:errcheck // it may read nothing any more
			return context.Cause(ctx)
		}
	}
	select {
	case m := <-answer: // it was there before the end
		return m.into(result)
	default:
		return errGone
	}
}

func (m rpcMessage) into(result any) error {
	if m.Error != nil {
		return m.Error
	}
	if len(m.Result) == 0 {
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("its answer cannot be read: %w", err)
	}
	return nil
}
