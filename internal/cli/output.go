package cli

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// output is a standard output that is no terminal. It keeps the first error of a
// write: who reads a file or a pipe must not take half of the data for the whole.
type output struct {
	w    io.Writer
	mu   sync.Mutex
	lost error
	left func() // where the reader may leave: called when it has
	gone bool
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone {
		return len(p), nil
	}
	n, err := o.w.Write(p)
	if o.left != nil && errors.Is(err, syscall.EPIPE) {
		o.gone = true
		o.left()
		return len(p), nil
	}
	if o.lost == nil {
		o.lost = err
	}
	return n, err
}

// leave notices that the reader has left, once.
func (o *output) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.gone {
		o.gone = true
		o.left()
	}
}

// err is the first error of a write, nil if everything was written.
func (o *output) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}

// outlive lets the reader of standard output leave while this process goes on:
// left is called then, and what more is printed goes nowhere. Without it the
// system ends the process.
func (a *app) outlive(left func()) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the write fails instead
	if o, ok := a.out.(*output); ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.left = left
		if f, ok := o.w.(*os.File); ok {
			go func() { awaitLeave(f); o.leave() }()
		}
	}
}
