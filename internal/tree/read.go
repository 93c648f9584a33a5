package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// file returns the digest of a regular file.
func (c *cursor) file(dir *os.Root, base, name string, info fs.FileInfo) (Digest, error) {
	return c.once(dir, base, name, name, info, func(f *os.File) (Digest, error) {
		sum, err := c.hash(f, info.Size())
		return Digest(string(fileKind(info.Mode())) + ":" + sum), err
	})
}

// digestKey returns the digest of a path or path#part. The digest of a part is
// that of all the path where it is no regular file, too large, or malformed. A
// file without the part is like one that is absent.
func (c *cursor) digestKey(key string) (Digest, error) {
	name, part := splitPart(key)
	if part == "" {
		return c.digest(name)
	}
	dir, err := c.enter(name)
	if err != nil || dir.root == nil {
		return dir.block, err
	}
	info, err := lstat(dir.root, baseOf(name))
	if err != nil {
		return unreachable(name, err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxManifest {
		return c.digest(name)
	}
	return c.once(dir.root, baseOf(name), name, key, info, func(f *os.File) (Digest, error) {
		text, err := c.all(f, info.Size())
		if err != nil {
			return "", err
		}
		return c.part(name, part, text)
	})
}

func (c *cursor) part(name, part string, text []byte) (Digest, error) {
	counts, err := formatOf(name, part).extract(text, part)
	d := digestOf('p', counts)
	switch {
	case err != nil:
		d, counts = digestOf('f', text), text
	case len(counts) == 0:
		return Absent, nil
	}
	if c.keep < 0 {
		return d, nil
	}
	return d, c.t.keep.put(d.sum(), counts)
}

// once computes a digest from the content of the regular file that info
// describes, but only if the file looks other than when that was last done for key.
func (c *cursor) once(dir *os.Root, base, name, key string, info fs.FileInfo, compute func(*os.File) (Digest, error)) (Digest, error) {
	id, known := identify(info)
	if known {
		if d, ok := c.t.cache.get(key, id); ok && c.kept(d, info.Size()) {
			return d, nil
		}
	}
	at := time.Now()
	f, err := openFile(dir, base, info)
	if err != nil {
		return unreachable(name, err)
	}
	defer f.Close()
	d, err := compute(f)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	if now, err := f.Stat(); err == nil && known {
		if after, _ := identify(now); after == id {
			c.t.cache.put(key, id, d, at)
		}
	}
	return d, nil
}

// kept reports whether the content that belongs to d is kept, if it should be.
func (c *cursor) kept(d Digest, size int64) bool {
	if c.keep < 0 || d == Absent || d.kind() != 'p' && size > c.keep {
		return true
	}
	return c.t.keep.has(d.sum())
}

// openFile opens the regular file that info describes, and nothing that took
// its place: a pipe keeps nobody waiting.
func openFile(dir *os.Root, base string, info fs.FileInfo) (*os.File, error) {
	f, err := dir.OpenFile(disk(base), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		_ = f.Close()
		return nil, errors.Join(err, errSwapped)
	}
	return f, nil
}

// open opens a path that is a regular file.
func (c *cursor) open(name string) (*os.File, fs.FileInfo, error) {
	dir, err := c.enter(name)
	if err != nil {
		return nil, nil, err
	}
	if dir.root == nil {
		return nil, nil, fs.ErrNotExist
	}
	info, err := lstat(dir.root, baseOf(name))
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := openFile(dir.root, baseOf(name), info)
	return f, info, err
}

// hash returns the SHA-256 of f in hex, and keeps the content if it is small enough.
func (c *cursor) hash(f *os.File, size int64) (string, error) {
	if size > c.keep {
		return sumOf(c.ctx, f, size)
	}
	content, err := c.all(f, size)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	text := hex.EncodeToString(sum[:])
	return text, c.t.keep.put(text, content)
}

// all reads the first size bytes of f into the cursor's buffer, where they stay until
// the next read.
func (c *cursor) all(f io.Reader, size int64) ([]byte, error) {
	if int64(cap(c.buf)) < size {
		c.buf = make([]byte, max(size, 64<<10))
	}
	n, err := io.ReadFull(f, c.buf[:size])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // it was cut meanwhile
	}
	return c.buf[:n], err
}
