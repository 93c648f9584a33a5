package proc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A loan is a login that is a single file. A child has a copy in its own home, and can put
// another file in its place, as programs do. When the child has ended, what it leaves there
// becomes the file. If somebody else has changed the file meanwhile, their change stays.
type loan struct {
	name string // in the home
	file string // that it stands for, links followed
	own  string // the child's home
	was  []byte // nil: there was none
	mode os.FileMode

	obeyed []string // keys of it, at any depth, under which nothing may change
}

// maxLoan is how large such a file may be.
const maxLoan = 64 << 20

// lend copies the logins that are files, or nothing yet, into what will be a child's home.
// The rest are directories, or lie in what the child finds in its home as it is.
func (c Cell) lend(home, temp string, logins []string) (loans []loan, rest []string, err error) {
	own := ownDir(temp, resolved(home))
	if home == "" {
		return nil, logins, nil
	}
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, nil, err
	}
	whole := slices.Concat(under(home, Tools), present(under(home, logins)), c.Visible, c.Writable)
	for _, path := range under(home, logins) {
		name, err := filepath.Rel(home, path)
		if err != nil {
			return nil, nil, err
		}
		l := loan{name: name, file: resolved(path), own: own, mode: 0o600}
		inOther := slices.ContainsFunc(whole, func(dir string) bool { return dir != path && inside(dir, path) })
		if inOther || !l.take(path) {
			rest = append(rest, name)
			continue
		}
		if l.was != nil {
			at := filepath.Join(own, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, l.was, l.mode)); err != nil {
				return nil, nil, err
			}
		}
		loans = append(loans, l)
	}
	return loans, rest, nil
}

// take reads the file, and reports whether it can be lent.
func (l *loan) take(path string) bool {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxLoan {
		return false
	}
	l.mode = info.Mode().Perm()
	l.was, err = os.ReadFile(path)
	if l.was == nil {
		l.was = []byte{}
	}
	return err == nil
}

// giveBack is to be called when nothing of the child lives.
func (l loan) giveBack() error {
	left, err := l.left()
	if err != nil || !l.whole(left) || bytes.Equal(left, l.was) || !l.obeys(left) {
		return err
	}
	now, err := os.ReadFile(l.file)
	if gone := errors.Is(err, os.ErrNotExist); gone != (l.was == nil) || !gone && (err != nil || !bytes.Equal(now, l.was)) {
		return nil // somebody has made it, changed it, or taken it away
	}
	f, err := os.CreateTemp(filepath.Dir(l.file), "."+filepath.Base(l.file)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(left)
	if err = errors.Join(err, f.Chmod(l.mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), l.file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// obeys reports whether what a child left has the same under the keys that its program obeys.
func (l loan) obeys(left []byte) bool {
	if len(l.obeyed) == 0 {
		return true
	}
	var was, is any
	if json.Unmarshal(left, &is) != nil {
		return false
	}
	_ = json.Unmarshal(l.was, &was) // else there is nothing in it
	for _, key := range l.obeyed {
		if !reflect.DeepEqual(keyed(was, key), keyed(is, key)) {
			return false
		}
	}
	return true
}

// keyed are the values that a document has under a key, by the way there, but for what is empty:
// programs write that for each new project.
func keyed(doc any, key string) map[string]any {
	all := map[string]any{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, one := range v {
				way := at + strconv.Quote(name)
				switch {
				case name != key:
					walk(way, one)
				case !nothing(one):
					all[way] = one
				}
			}
		case []any:
			for i, one := range v {
				walk(at+strconv.Itoa(i)+",", one)
			}
		}
	}
	walk("", doc)
	return all
}

// nothing reports whether there is nothing in a value of JSON.
func nothing(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil
}

// whole reports whether what a child left can be a login. One that was killed while it wrote
// leaves none of it, or a part.
func (l loan) whole(left []byte) bool {
	return len(left) > 0 && (filepath.Ext(l.name) != ".json" || json.Valid(left))
}

// left is what the child has left of it; nil where that is no file.
func (l loan) left() ([]byte, error) {
	root, err := os.OpenRoot(l.own)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(l.name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe keeps nobody waiting
	if err != nil {
		return nil, nil // there is none
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxLoan {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(f, maxLoan+1))
	if len(body) > maxLoan {
		return nil, nil
	}
	return body, err
}

// ownDir is where a child's own directory lies that it sees at a path.
func ownDir(temp, path string) string {
	return filepath.Join(temp, strings.ReplaceAll(strings.Trim(path, "/"), "/", "-"))
}
