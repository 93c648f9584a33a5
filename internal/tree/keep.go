package tree

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// What is kept of files, so that they can be put back; larger ones are only
// compared.
const (
	keepProtected = 8 << 20
	keepScanned   = 1 << 20
)

// keep holds contents by their SHA-256, one after the other in pack files: a
// file each would take a hundred times as long to make as to hash. Each opening
// writes a pack of its own, and reads all. What a crash cut short is not there,
// and nothing leaves a pack unverified. A nil keep holds nothing. It is safe for
// concurrent use.
type keep struct {
	dir  string
	sync *syncer

	mu    sync.Mutex
	held  map[string]place // by hex SHA-256; nil until first needed
	pack  *os.File         // that is written; nil until the first content
	size  int64            // of pack, less what waits
	waits []byte           // what is not safe on disk yet
}

// A place is where a content is in a pack.
type place struct {
	pack   string
	offset int64
	size   int64
}

// Each content has a header: a mark, its SHA-256, its length.
const (
	packMark   = "kept"
	packHeader = len(packMark) + sha256.Size + 8
	packWaits  = 4 << 20 // bytes that wait to be written together
)

func openKeep(dir string, s *syncer) (*keep, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory for kept files: %w", err)
	}
	return &keep{dir: dir, sync: s}, nil
}

func (k *keep) close() error {
	if k == nil {
		return nil
	}
	err := k.flush()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pack != nil {
		err = errors.Join(err, k.pack.Close())
		k.pack = nil
	}
	return err
}

// index reads what there is, once.
func (k *keep) index() error {
	if k.held != nil {
		return nil
	}
	return k.reindex()
}

// reindex reads what others wrote.
func (k *keep) reindex() error {
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		return err
	}
	held := map[string]place{}
	for _, e := range entries {
		name := filepath.Join(k.dir, e.Name())
		if !strings.HasPrefix(e.Name(), "pack-") || k.pack != nil && name == k.pack.Name() {
			continue
		}
		if err := indexPack(name, held); err != nil {
			return err
		}
	}
	maps.Copy(held, k.held)
	k.held = held
	return nil
}

// indexPack adds the contents of one pack, up to where it was cut short.
func indexPack(name string, held map[string]place) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(f, 64<<10)
	header := make([]byte, packHeader)
	for at := int64(0); ; {
		if _, err := io.ReadFull(r, header); err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		} else if err != nil {
			return err
		}
		size := int64(binary.BigEndian.Uint64(header[packHeader-8:]))
		at += int64(packHeader)
		if !bytes.HasPrefix(header, []byte(packMark)) || size < 0 || size > info.Size()-at {
			return nil
		}
		sum := hex.EncodeToString(header[len(packMark) : packHeader-8])
		held[sum] = place{pack: name, offset: at, size: size}
		at += size
		if err := skip(f, r, at, size); err != nil {
			return err
		}
	}
}

// skip moves a buffered reader of f over size bytes, to the offset at.
func skip(f *os.File, r *bufio.Reader, at, size int64) error {
	if size <= int64(r.Buffered()) {
		_, err := r.Discard(int(size))
		return err
	}
	_, err := f.Seek(at, io.SeekStart)
	r.Reset(f)
	return err
}

// has reports whether content of this SHA-256 is held.
func (k *keep) has(sum string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.index() != nil {
		return false // put will say what is wrong
	}
	_, ok := k.held[sum]
	return ok
}

// put holds content from now on. sum is its SHA-256. It is safe on disk after
// flush.
func (k *keep) put(sum string, content []byte) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.index(); err != nil {
		return fmt.Errorf("keep a file's content: %w", err)
	}
	if _, ok := k.held[sum]; ok {
		return nil
	}
	if err := k.add(sum, content); err != nil {
		return fmt.Errorf("keep a file's content: %w", err)
	}
	return nil
}

func (k *keep) add(sum string, content []byte) error {
	raw, err := hex.DecodeString(sum)
	if err != nil {
		return err
	}
	if k.pack == nil {
		if err := k.begin(); err != nil {
			return err
		}
	}
	if len(k.waits) > 0 && len(k.waits)+len(content) > packWaits {
		if err := k.write(); err != nil {
			return err
		}
	}
	k.waits = append(append(k.waits, packMark...), raw...)
	k.waits = binary.BigEndian.AppendUint64(k.waits, uint64(len(content)))
	k.held[sum] = place{pack: k.pack.Name(), offset: k.size + int64(len(k.waits)), size: int64(len(content))}
	k.waits = append(k.waits, content...)
	return nil
}

// begin makes a pack.
func (k *keep) begin() error {
	pack, err := os.CreateTemp(k.dir, "pack-*")
	if err != nil {
		return err
	}
	if err := k.sync.names(k.dir); err != nil {
		return errors.Join(err, pack.Close(), os.Remove(pack.Name()))
	}
	k.pack = pack
	return nil
}

// write makes safe what waits. After a failure it waits on, and the next write begins where
// this one did: a second sync alone would say nothing of what the first one lost.
func (k *keep) write() error {
	_, err := k.pack.WriteAt(k.waits, k.size)
	if err == nil {
		err = k.sync.file(k.pack)
	}
	if err != nil {
		return err
	}
	k.size += int64(len(k.waits))
	k.waits = k.waits[:0]
	return nil
}

// flush returns when everything that was put is safe on disk.
func (k *keep) flush() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.waits) == 0 {
		return nil
	}
	if err := k.write(); err != nil {
		return fmt.Errorf("keep files' contents: %w", err)
	}
	return nil
}

var errNotKept = errors.New("its content was not kept")

// get returns content that was put, or errNotKept.
func (k *keep) get(sum string) ([]byte, error) {
	if k == nil || sum == "" {
		return nil, errNotKept
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p, ok := k.held[sum]
	if !ok { // another Tree may have kept it
		if err := k.reindex(); err != nil {
			return nil, fmt.Errorf("read kept content: %w", err)
		}
		if p, ok = k.held[sum]; !ok {
			return nil, errNotKept
		}
	}
	if k.pack != nil && p.pack == k.pack.Name() && p.offset >= k.size {
		at := p.offset - k.size
		return slices.Clone(k.waits[at : at+p.size]), nil
	}
	content, err := p.read()
	if err != nil {
		return nil, fmt.Errorf("read kept content: %w", err)
	}
	if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != sum {
		return nil, fmt.Errorf("kept content in %s is damaged: %w", p.pack, errNotKept)
	}
	return content, nil
}

func (p place) read() ([]byte, error) {
	f, err := os.Open(p.pack)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content := make([]byte, p.size)
	if n, err := f.ReadAt(content, p.offset); errors.Is(err, io.EOF) && n < len(content) {
		return nil, fmt.Errorf("%s is cut short: %w", p.pack, errNotKept)
	} else if n < len(content) {
		return nil, err
	}
	return content, nil
}
