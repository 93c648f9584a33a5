package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrNotText says that a file is none that can be read as a whole.
var ErrNotText = errors.New("not a regular file, or too large")

// ReadFile reads a file that others can write. It fails with ErrNotText on one of more
// than most bytes, and on anything but a regular file; a pipe keeps nobody waiting.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: path, Err: ErrNotText}
	}
	body, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(body)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: ErrNotText}
	}
	return body, err
}

// A Stage is how far Replace has come.
type Stage int

// The stages of Replace.
const (
	Begun   Stage = iota // nothing is written yet
	Synced               // the bytes are on the disk, under another name
	Renamed              // the file has its name, which may not be on the disk yet
)

// Replace is [ReplaceThrough] with the bytes written beside path first.
func Replace(path string, body []byte, mode fs.FileMode, at func(Stage) error) error {
	return ReplaceThrough(filepath.Dir(path), path, body, mode, at)
}

// ReplaceThrough makes path hold body with this mode, whole or not at all, and durably:
// the bytes are synced before they get their name, and the directory after. at,
// unless it is nil, is told the stages as they are reached; its error stops Replace.
// An error leaves what was there before, unless the file has its name. The bytes are
// written in the directory through first, so that who lists that of path never sees
// them under another name. On another file system they are written beside path.
func ReplaceThrough(through, path string, body []byte, mode fs.FileMode, at func(Stage) error) error {
	err := replaceThrough(through, path, body, mode, at)
	beside := filepath.Dir(path)
	if _, apart := errors.AsType[*os.LinkError](err); apart && through != beside {
		return replaceThrough(beside, path, body, mode, at)
	}
	return err
}

func replaceThrough(through, path string, body []byte, mode fs.FileMode, at func(Stage) error) error {
	if at == nil {
		at = func(Stage) error { return nil }
	}
	if err := at(Begun); err != nil {
		return err
	}
	f, err := os.CreateTemp(through, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if err = write(f, body, mode); err == nil {
		err = at(Synced)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return errors.Join(at(Renamed), SyncDir(filepath.Dir(path)))
}

// private is the mode of a new temporary file.
const private = 0o600

func write(f *os.File, body []byte, mode fs.FileMode) error {
	_, err := f.Write(body)
	if err == nil && mode != private {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// MakeDir makes a directory that only this user may enter, and its parents, and
// makes their names durable.
func MakeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MakeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return SyncDir(parent)
}

// A Volume is the file system that a directory is on.
type Volume struct {
	Kind    string
	Network bool   // locks and syncs may reach no further than this machine
	Free    uint64 // bytes that this account may still write
}

// Create makes a file that is not there yet, all of it or nothing; of one that is there
// it fails with ErrExist. The bytes are in through for a moment, a directory of the same
// volume, under a hidden name.
func Create(through, path string, body []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(through, ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := write(f, body, mode); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}
