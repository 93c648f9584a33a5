package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// room is the workspace, which no path leaves: all access is through root.
type room struct {
	root *os.Root
	dir  string
}

// Limits of files.
const (
	maxPath   = 4096
	maxHashed = 256 << 20 // bytes of a file that is overwritten, moved or deleted
)

// clean reads a path of arguments: relative to the workspace, with slashes.
func clean(name string) (string, error) {
	switch {
	case name == "":
		return "", problem(InvalidArguments, "the path is empty; the workspace itself is .")
	case len(name) > maxPath:
		return "", problem(InvalidArguments, "a path of %d bytes, and %d are the most", len(name), maxPath)
	case strings.ContainsFunc(name, unicode.IsControl), strings.ContainsRune(name, unicode.ReplacementChar):
		return "", problem(InvalidArguments, "the path %q has characters that no file name needs", name)
	case path.IsAbs(name), filepath.IsAbs(filepath.FromSlash(name)):
		return "", problem(OutsideWorkspace, "%s is absolute; paths are relative to the workspace", name)
	case !filepath.IsLocal(filepath.FromSlash(name)):
		return "", problem(OutsideWorkspace, "%s leads out of the workspace", name)
	}
	return path.Clean(name), nil
}

// keptBy names the program whose directory a path lies in or is; "" if nobody's.
// Names compare as file systems do that fold case, drop dots and spaces at the
// end, ignore invisible characters, or have short names.
func keptBy(name string) string {
	for part := range strings.SplitSeq(name, "/") {
		part, _, _ = strings.Cut(strings.ReplaceAll(part, `\`, "/"), ":")
		part = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1
			}
			return unicode.ToLower(r)
		}, part)
		switch strings.TrimRight(part, " .") {
		case ".git", "git~1":
			return "Git"
		case ".piton", "piton~1":
			return "Piton"
		}
	}
	return ""
}

// changeable reads the path of a file that is to be made, changed or removed.
func changeable(name string) (string, error) {
	p, err := clean(name)
	if err != nil {
		return "", err
	}
	if p == "." || strings.HasSuffix(name, "/") {
		return "", problem(NotAFile, "%s is a directory", name)
	}
	if who := keptBy(p); who != "" {
		return "", problem(Denied, "%s belongs to %s, and no tool writes there", p, who)
	}
	return p, nil
}

// open opens a regular file to read. It follows links that stay in the workspace.
func (r *room) open(name string) (*os.File, fs.FileInfo, error) {
	info, err := r.root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, nil, onFile(name, err)
	}
	if err := regular(name, info); err != nil {
		return nil, nil, err
	}
	f, err := r.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, nil, onFile(name, err)
	}
	if info, err = f.Stat(); err == nil {
		err = regular(name, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, onFile(name, err)
	}
	return f, info, nil
}

func regular(name string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return problem(NotAFile, "%s is a directory", name)
	case mode&fs.ModeSymlink != 0:
		return problem(NotAFile, "%s is a link; name the file that it leads to", name)
	default:
		return problem(NotAFile, "%s is no ordinary file", name)
	}
}

// A place is where a file is or will be: its directory, opened, and its name there.
// No link was followed on the way, so that nobody can turn the way around.
type place struct {
	dir  *os.Root
	base string
	path string // for people
}

func (p place) close() { p.dir.Close() }

// place goes to a changeable path. Missing directories are made if make is set.
func (r *room) place(name string, create bool) (place, error) {
	dir, err := r.root.OpenRoot(".")
	if err != nil {
		return place{}, onFile(".", err)
	}
	parts := strings.Split(name, "/")
	for i, part := range parts[:len(parts)-1] {
		next, err := r.enter(dir, part, create)
		dir.Close()
		if err != nil {
			return place{}, onFile(strings.Join(parts[:i+1], "/"), err)
		}
		dir = next
	}
	return place{dir, parts[len(parts)-1], name}, nil
}

// enter opens a directory that is none of those that belong to others.
func (r *room) enter(dir *os.Root, part string, create bool) (*os.Root, error) {
	seen, err := dir.Lstat(part)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err = dir.Mkdir(part, 0o777); err == nil || errors.Is(err, fs.ErrExist) {
			seen, err = dir.Lstat(part)
		}
	}
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, problem(NotAFile, "%s is no directory; a link to one is not followed to write", part)
	}
	next, err := dir.OpenRoot(part)
	if err != nil {
		return nil, err
	}
	if opened, err := next.Stat("."); err != nil || !os.SameFile(seen, opened) {
		next.Close()
		return nil, problem(Changed, "%s was exchanged while it was opened", part)
	}
	for _, name := range []string{".git", ".piton"} {
		if kept, err := r.root.Lstat(name); err == nil && os.SameFile(kept, seen) {
			next.Close()
			return nil, problem(Denied, "%s is %s, and no tool writes there", part, name)
		}
	}
	return next, nil
}

// look returns the hash of the file at the place, "" if nothing is there.
func (p place) look() (hash string, info fs.FileInfo, err error) {
	info, err = p.dir.Lstat(p.base)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	if err == nil {
		err = regular(p.path, info)
	}
	if err != nil {
		return "", nil, onFile(p.path, err)
	}
	f, err := p.dir.OpenFile(p.base, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return "", nil, onFile(p.path, err)
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return "", nil, onFile(p.path, err)
	}
	if !os.SameFile(info, opened) {
		return "", nil, problem(Changed, "%s was exchanged while it was opened", p.path)
	}
	if opened.Size() > maxHashed {
		return "", nil, tooLarge(p.path)
	}
	hash, err = digest(p.path, f, io.Discard)
	return hash, opened, err
}

// digest copies a file and returns the hash of its bytes.
func digest(name string, f io.Reader, to io.Writer) (string, error) {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(sum, to), io.LimitReader(f, maxHashed+1))
	if err != nil {
		return "", onFile(name, err)
	}
	if n > maxHashed { // it has grown
		return "", tooLarge(name)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func tooLarge(name string) error {
	return problem(TooLarge, "%s is larger than %d bytes, the most that a tool changes", name, maxHashed)
}

// target is what is at a changeable path now.
func (r *room) target(name string) (Target, error) {
	p, err := r.place(name, false)
	if asNotFound(err) {
		return Target{Path: name}, nil
	}
	if err != nil {
		return Target{}, err
	}
	defer p.close()
	hash, _, err := p.look()
	return Target{Path: name, Before: hash}, err
}

func asNotFound(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Code == NotFound
}
