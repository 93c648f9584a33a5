package cli

import (
	"io"
	"sync"
)

// output is a standard output that is no terminal. It keeps the first error of a
// write: who reads a file or a pipe must not take half of the data for the whole.
type output struct {
	w    io.Writer
	mu   sync.Mutex
	lost error
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.w.Write(p)
	if o.lost == nil {
		o.lost = err
	}
	return n, err
}

// err is the first error of a write, nil if everything was written.
func (o *output) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}
