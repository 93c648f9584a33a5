package cli

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookTime is the shortest time between two looks at the files of a certificate.
const lookTime = time.Second

// certificate is that of a server, of two files that are read again and again.
type certificate struct {
	cert, key string
	now       func() time.Time
	broken    func(error) // told once for each reason why the files cannot be used

	mu     sync.Mutex
	looked time.Time
	files  string // as they were read last
	wrong  string // why they could not be used
	pair   tls.Certificate
}

// get is for [tls.Config].
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Sub(c.looked) >= lookTime {
		err := c.read()
		if err != nil && err.Error() != c.wrong {
			c.wrong = err.Error()
			c.broken(err)
		}
		if err == nil {
			c.wrong = ""
		}
	}
	pair := c.pair
	return &pair, nil
}

// read reads the files; where they cannot be used, the pair from before stays.
func (c *certificate) read() error {
	c.looked = c.now()
	cert, err := os.ReadFile(c.cert)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(c.key)
	if err != nil {
		return err
	}
	files := string(cert) + "\x00" + string(key)
	if files == c.files {
		return nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err == nil && c.looked.After(pair.Leaf.NotAfter) {
		err = fmt.Errorf("%s has expired", c.cert)
	}
	if err == nil {
		c.files, c.pair = files, pair
	}
	return err
}
