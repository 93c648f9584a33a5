package tool

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"unicode/utf8"
)

// Limits of what is read.
const (
	maxRead    = 1 << 20
	maxEntries = 10_000
)

// looking makes a Weigh function of one that returns the path of the arguments.
func looking[A any](path func(A) string) func(context.Context, json.RawMessage) (Weight, error) {
	return weighing(func(_ context.Context, a A) (Weight, error) {
		_, err := clean(path(a))
		return Weight{Effect: Read}, err
	})
}

// with makes a tool's function of one with typed arguments and output.
func with[A, O any](do func(context.Context, *Call, A) (O, error)) func(context.Context, *Call) (json.RawMessage, error) {
	return func(ctx context.Context, c *Call) (json.RawMessage, error) {
		var args A
		if err := json.Unmarshal(c.Args, &args); err != nil {
			return nil, problem(InvalidArguments, "the arguments do not fit: %v", err)
		}
		out, err := do(ctx, c, args)
		if err != nil {
			return nil, err
		}
		return encode(out)
	}
}

type listArgs struct {
	Path  string `json:"path"`
	Depth int    `json:"depth"`
}

type dirEntry struct {
	Path string `json:"path"`
	Type string `json:"type"`
	Size *int64 `json:"size,omitempty"`
}

type listing struct {
	Entries   []dirEntry `json:"entries"`
	Truncated bool       `json:"truncated"`
}

func (r *room) list(ctx context.Context, _ *Call, a listArgs) (listing, error) {
	dir, err := clean(orHere(a.Path))
	if err != nil {
		return listing{}, err
	}
	out := listing{Entries: []dirEntry{}}
	err = r.walk(ctx, dir, max(a.Depth, 1), func(name string, d fs.DirEntry) error {
		if len(out.Entries) == maxEntries {
			out.Truncated = true
			return errEnough
		}
		out.Entries = append(out.Entries, entryOf(name, d))
		return nil
	})
	return out, err
}

func orHere(name string) string {
	if name == "" {
		return "."
	}
	return name
}

func entryOf(name string, d fs.DirEntry) dirEntry {
	e := dirEntry{Path: name, Type: "other"}
	switch {
	case d.IsDir():
		e.Type = "directory"
	case d.Type()&fs.ModeSymlink != 0:
		e.Type = "link"
	case d.Type().IsRegular():
		e.Type = "file"
		if info, err := d.Info(); err == nil {
			e.Size = new(info.Size())
		}
	}
	return e
}

// errEnough ends a walk that has all it wants.
var errEnough = errors.New("enough")

// walk visits what is below a directory in the order of names, a directory before
// its contents, down to a depth. It follows no link. What cannot be read, but for
// the first directory, is passed over.
func (r *room) walk(ctx context.Context, dir string, depth int, visit func(name string, d fs.DirEntry) error) error {
	list, err := r.entries(dir)
	if err != nil {
		return err
	}
	err = r.visit(ctx, dir, list, depth, visit)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (r *room) visit(ctx context.Context, dir string, list []fs.DirEntry, depth int, each func(string, fs.DirEntry) error) error {
	for _, d := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(dir, d.Name())
		err := each(name, d)
		if errors.Is(err, fs.SkipDir) {
			continue
		}
		if err != nil {
			return err
		}
		if !d.IsDir() || depth <= 1 {
			continue
		}
		below, err := r.entries(name)
		if err != nil {
			continue
		}
		if err := r.visit(ctx, name, below, depth-1, each); err != nil {
			return err
		}
	}
	return nil
}

func (r *room) entries(dir string) ([]fs.DirEntry, error) {
	info, err := r.root.Stat(filepath.FromSlash(dir))
	if err != nil {
		return nil, onFile(dir, err)
	}
	if !info.IsDir() {
		return nil, problem(NotAFile, "%s is no directory", dir)
	}
	f, err := r.root.OpenFile(filepath.FromSlash(dir), os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, onFile(dir, err)
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	if err != nil {
		return nil, onFile(dir, err)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	return list, nil
}

type readArgs struct {
	Path     string `json:"path"`
	Encoding string `json:"encoding"`
	From     int    `json:"from"`
	Lines    int    `json:"lines"`
}

func (r *room) read(ctx context.Context, _ *Call, a readArgs) (string, error) {
	name, err := clean(a.Path)
	if err != nil {
		return "", err
	}
	f, info, err := r.open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var content []byte
	if a.From == 0 && a.Lines == 0 {
		if info.Size() > maxRead {
			return "", problem(TooLarge, "%s has %d bytes, and %d are the most; read some lines of it with from and lines", name, info.Size(), maxRead)
		}
		content, err = io.ReadAll(io.LimitReader(f, maxRead+1))
	} else {
		content, err = someLines(ctx, f, max(a.From, 1), a.Lines)
	}
	switch {
	case err != nil:
		return "", onFile(name, err)
	case len(content) > maxRead:
		return "", problem(TooLarge, "that part of %s has more than %d bytes", name, maxRead)
	case a.Encoding == "base64":
		return base64.StdEncoding.EncodeToString(content), nil
	case !isText(content):
		return "", problem(NotText, "%s is no UTF-8 text; read it with encoding base64", name)
	}
	return string(content), nil
}

// someLines reads lines, counted from 1; all that are left where n is 0.
func someLines(ctx context.Context, f io.Reader, from, n int) ([]byte, error) {
	in := bufio.NewReaderSize(f, 64<<10)
	var out []byte
	for line := 1; n == 0 || line-from < n; {
		part, err := in.ReadSlice('\n')
		if line >= from {
			out = append(out, part...)
		}
		if err == nil {
			line++
		}
		switch {
		case errors.Is(err, io.EOF) || len(out) > maxRead:
			return out, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("read a line: %w", err)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
	return out, nil
}

func isText(b []byte) bool {
	return utf8.Valid(b) && !slices.Contains(b, 0)
}
