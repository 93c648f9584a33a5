package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// What is kept of files, so that they can be put back; larger ones are only
// compared.
const (
	keepProtected = 8 << 20
	keepScanned   = 1 << 20
)

// keep holds contents under their SHA-256. A content that a crash cut short has
// the wrong length and is written again, and nothing leaves it unverified. A nil
// keep holds nothing. Safe for concurrent use.
type keep struct {
	dir  string
	mu   sync.Mutex
	have map[string]bool
}

func openKeep(dir string) (*keep, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory for kept files: %w", err)
	}
	return &keep{dir: dir, have: map[string]bool{}}, nil
}

func (k *keep) path(sum string) string { return filepath.Join(k.dir, sum[:2], sum[2:]) }

// anySize stands for a size that is not known.
const anySize = -1

// has reports whether content of this sum and size is held.
func (k *keep) has(sum string, size int64) bool {
	k.mu.Lock()
	known := k.have[sum]
	k.mu.Unlock()
	if known {
		return true
	}
	info, err := os.Lstat(k.path(sum))
	if err != nil || !info.Mode().IsRegular() || size != anySize && info.Size() != size {
		return false
	}
	k.know(sum)
	return true
}

func (k *keep) know(sum string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.have[sum] = true
}

// put holds content from now on. sum is its SHA-256.
func (k *keep) put(sum string, content []byte) error {
	if k == nil || k.has(sum, int64(len(content))) {
		return nil
	}
	if err := k.write(k.path(sum), content); err != nil {
		return fmt.Errorf("keep a file's content: %w", err)
	}
	k.know(sum)
	return nil
}

func (k *keep) write(name string, content []byte) error {
	err := writeNew(name, content)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Mkdir(filepath.Dir(name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		err = writeNew(name, content)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	// Cut short by a crash, or being written at this moment: both may be replaced.
	tmp, err := os.CreateTemp(k.dir, "part-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // the first error says more
	}
	return err
}

func writeNew(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

var errNotKept = errors.New("its content was not kept")

// get returns content that was put, or errNotKept.
func (k *keep) get(sum string) ([]byte, error) {
	if k == nil || sum == "" {
		return nil, errNotKept
	}
	content, err := os.ReadFile(k.path(sum))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNotKept
	} else if err != nil {
		return nil, fmt.Errorf("read kept content: %w", err)
	}
	if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != sum {
		return nil, fmt.Errorf("kept content %s is damaged: %w", k.path(sum), errNotKept)
	}
	return content, nil
}
