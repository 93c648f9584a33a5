package tree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/piton-dev/piton/internal/durable"
)

// An entry is a line of a quarantine's listing: written before the path is moved.
type entry struct {
	Path string `json:"path"`
	What string `json:"what"`
	Was  Digest `json:"was"`            // what it had to be
	Is   Digest `json:"is"`             // what it was instead
	Link string `json:"link,omitempty"` // where it led, if it was a link
	Kept string `json:"kept"`           // its name in the quarantine
}

// quarantined is a quarantine directory that is being filled.
type quarantined struct {
	ctx  context.Context
	dir  string
	sync *syncer
	list *os.File
	n    int
}

// open makes the directory when the first path goes into it.
func (q *quarantined) open() error {
	if q.list != nil {
		return nil
	}
	if err := durable.MakeDir(filepath.Clean(q.dir)); err != nil {
		return err
	}
	var err error
	q.list, err = os.OpenFile(filepath.Join(q.dir, "listing.jsonl"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	return err
}

func (q *quarantined) close() {
	if q.list != nil {
		_ = q.list.Close() // each line was written and checked
	}
}

// name returns one that is free.
func (q *quarantined) name(base string) string {
	for {
		q.n++
		name := fmt.Sprintf("%04d-%s", q.n, plainName(base))
		if _, err := os.Lstat(filepath.Join(q.dir, name)); err != nil {
			return name
		}
	}
}

// take moves base out of dir, whatever it is, or copies it if it stays. What it took is safe on
// disk before anything takes its place.
func (q *quarantined) take(dir *os.Root, info fs.FileInfo, stays bool, e entry) error {
	if err := q.open(); err != nil {
		return err
	}
	base := baseOf(e.Path)
	e.Kept = q.name(base)
	if info.Mode().Type() == fs.ModeSymlink {
		e.Link, _ = dir.Readlink(disk(base)) // for people; the link itself is moved
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := q.list.Write(append(line, '\n')); err != nil {
		return err
	}
	if err := q.sync.file(q.list); err != nil {
		return err
	}
	if stays {
		err := q.copyFile(dir, disk(base), info, filepath.Join(q.dir, e.Kept))
		if err == nil {
			return q.sync.names(q.dir)
		}
		if !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	if moved, err := move(dir, disk(base), q.dir, e.Kept); err != nil {
		return err
	} else if moved {
		return q.sync.names(q.dir)
	}
	if err := q.copyTree(dir, disk(base), info, filepath.Join(q.dir, e.Kept)); err != nil {
		return err
	}
	if err := q.sync.names(q.dir); err != nil {
		return err
	}
	return dir.RemoveAll(disk(base))
}

// plainName keeps of a name what is harmless everywhere.
func plainName(base string) string {
	base = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '_'
	}, base)
	return base[max(0, len(base)-60):]
}

// copyTree copies what is at base to a path that does not exist. Of a link it
// writes down where it leads; devices and their like leave nothing.
func (q *quarantined) copyTree(dir *os.Root, base string, info fs.FileInfo, to string) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return q.copyFile(dir, base, info, to)
	case mode.IsDir():
		return q.copyDir(dir, base, info, to)
	case mode.Type() == fs.ModeSymlink:
		target, err := dir.Readlink(base)
		if err != nil {
			return err
		}
		return q.write(to, func(f *os.File) error {
			_, err := f.WriteString(target)
			return err
		})
	}
	return nil
}

// write makes a file, safe on disk.
func (q *quarantined) write(to string, fill func(*os.File) error) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = q.sync.file(f)
	}
	return errors.Join(err, f.Close())
}

func (q *quarantined) copyFile(dir *os.Root, base string, info fs.FileInfo, to string) error {
	from, err := openFile(dir, wire(base), info)
	if err != nil {
		return err
	}
	defer from.Close()
	return q.write(to, func(f *os.File) error {
		err := eachBlock(q.ctx, from, info.Size(), func(at int64, block []byte) error {
			_, err := f.WriteAt(block, at)
			return err
		})
		return errors.Join(err, f.Truncate(info.Size()))
	})
}

func (q *quarantined) copyDir(parent *os.Root, base string, info fs.FileInfo, to string) error {
	if err := q.ctx.Err(); err != nil {
		return err
	}
	unlock(parent, base, info)
	dir, err := openDir(parent, wire(base), info)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := readDir(dir)
	if err == nil {
		err = os.Mkdir(to, 0o700)
	}
	for _, e := range entries {
		if err != nil {
			return err
		}
		if info, err = dir.Lstat(e.Name()); err == nil {
			err = q.copyTree(dir, e.Name(), info, filepath.Join(to, e.Name()))
		}
	}
	if err == nil {
		err = q.sync.names(to)
	}
	return err
}
