package sqlite

import (
	"errors"
	"os"
	"path/filepath"
)

// replaceFile makes path hold body, whole or not at all, and durably: the bytes
// are synced before they get their name, and the directory after. The stages
// are told to at as they are reached; any may be "".
func replaceFile(path string, body []byte, at func(string), before, synced, renamed string) error {
	at(before)
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if err := writeSynced(f, body); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	at(synced)
	if err := os.Rename(f.Name(), path); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	at(renamed)
	return syncDir(filepath.Dir(path))
}

func writeSynced(f *os.File, body []byte) error {
	_, err := f.Write(body)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// makeDir makes a directory that only this user may enter, and its parents, and
// makes their names durable.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncDir(parent)
}
