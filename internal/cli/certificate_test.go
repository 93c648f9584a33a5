package cli

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A change of the files holds for the next connection. What is broken is told once, and the
// certificate from before stays.
func TestCertificateAgain(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write := func(file, kind string, body []byte) {
		t.Helper()
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: body}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made := func(serial int64, lasts time.Duration) (body, secret []byte) {
		t.Helper()
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		is := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(lasts)}
		if body, err = x509.CreateCertificate(nil, is, is, public, private); err == nil {
			secret, err = x509.MarshalPKCS8PrivateKey(private)
		}
		if err != nil {
			t.Fatal(err)
		}
		return body, secret
	}
	first, firstKey := made(1, time.Hour)
	second, secondKey := made(2, time.Hour)
	write(cert, "CERTIFICATE", first)
	write(key, "PRIVATE KEY", firstKey)
	complaints, now := 0, time.Now()
	c := &certificate{cert: cert, key: key, now: func() time.Time { return now }, broken: func(error) { complaints++ }}
	if err := c.read(); err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: c.get})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.(*tls.Conn).Handshake() //nolint:errcheck // the other side says what is wrong
			conn.Close()
		}
	}()
	defer func() { l.Close(); <-ended }()
	shows := func(what string, serial int64, told int) {
		t.Helper()
		conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		if is := conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(); is != serial || complaints != told {
			t.Errorf("%s: certificate %d, told %d times; want %d, %d", what, is, complaints, serial, told)
		}
	}
	later := func() { c.mu.Lock(); now = now.Add(lookTime); c.mu.Unlock() }
	shows("at first", 1, 0)
	write(cert, "CERTIFICATE", second)
	shows("at once", 1, 0)
	later()
	shows("a half of the new pair", 1, 1)
	later()
	shows("the same half", 1, 1)
	write(key, "PRIVATE KEY", secondKey)
	later()
	shows("the new pair", 2, 1)
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	later()
	shows("no key", 2, 2)
	later()
	shows("still no key", 2, 2)
	write(key, "PRIVATE KEY", firstKey)
	write(cert, "CERTIFICATE", first)
	later()
	shows("the pair from before", 1, 2)
	old, oldKey := made(3, -time.Hour)
	write(key, "PRIVATE KEY", oldKey)
	write(cert, "CERTIFICATE", old)
	later()
	shows("an expired one", 1, 3)
}
