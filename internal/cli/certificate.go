package cli

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookTime is how long the files of a certificate are not looked at again.
const lookTime = time.Second

// certificate is that of a server, of two files that are read again when they have changed.
type certificate struct {
	cert, key string
	broken    func(error) // told once for each change that leaves no certificate

	mu     sync.Mutex
	looked time.Time
	files  string // as they were when they were read
	pair   tls.Certificate
}

// get is for [tls.Config].
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) >= lookTime {
		c.looked = time.Now()
		if c.state() != c.files {
			if err := c.read(); err != nil {
				c.broken(err)
			}
		}
	}
	pair := c.pair
	return &pair, nil
}

// read reads the files; where that fails, the pair from before stays.
func (c *certificate) read() error {
	c.files = c.state() // before they are read: what changes meanwhile is read again
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err == nil {
		c.pair = pair
	}
	return err
}

// state is other text after the files have changed.
func (c *certificate) state() string { return stateOf(c.cert) + " " + stateOf(c.key) }

func stateOf(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size())
}
