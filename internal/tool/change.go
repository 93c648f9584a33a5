package tool

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

type changed struct {
	Change
	Bytes int64 `json:"bytes"`
}

// weighing makes a Weigh function of one with typed arguments.
func weighing[A any](do func(context.Context, A) (Weight, error)) func(context.Context, json.RawMessage) (Weight, error) {
	return func(ctx context.Context, text json.RawMessage) (Weight, error) {
		var args A
		if err := json.Unmarshal(text, &args); err != nil {
			return Weight{}, problem(InvalidArguments, "the arguments do not fit: %v", err)
		}
		return do(ctx, args)
	}
}

type writeArgs struct {
	Path      string          `json:"path"`
	Content   json.RawMessage `json:"content"`
	Encoding  string          `json:"encoding"`
	Overwrite *bool           `json:"overwrite"`
}

// bytes is what is to be written.
func (a writeArgs) bytes() ([]byte, error) {
	var text string
	if json.Unmarshal(a.Content, &text) == nil && string(a.Content) != "null" {
		if a.Encoding != "base64" {
			return []byte(text), nil
		}
		content, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, problem(InvalidArguments, "the content is no base64: %v", err)
		}
		return content, nil
	}
	if a.Encoding == "base64" {
		return nil, problem(InvalidArguments, "the content is no text, and encoding base64 needs one")
	}
	var value any
	value, _, err := decode(a.Content)
	if err != nil {
		return nil, problem(InvalidArguments, "the content is no JSON: %v", err)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(value)
	return []byte(b.String()), err
}

func (r *room) weighWrite(_ context.Context, a writeArgs) (Weight, error) {
	name, err := changeable(a.Path)
	if err != nil {
		return Weight{}, err
	}
	if _, err := a.bytes(); err != nil {
		return Weight{}, err
	}
	t, err := r.target(name)
	if err != nil {
		return Weight{}, err
	}
	w := Weight{Effect: Create, Targets: []Target{t}}
	if t.Before != "" {
		if a.Overwrite != nil && !*a.Overwrite {
			return Weight{}, problem(Exists, "%s is there already", name)
		}
		w.Asks, w.Effect, w.Reason = true, Overwrite, name+" is there and would be overwritten"
	}
	return w, nil
}

func (r *room) write(_ context.Context, c *Call, a writeArgs) (changed, error) {
	name, err := changeable(a.Path)
	if err != nil {
		return changed{}, err
	}
	content, err := a.bytes()
	if err != nil {
		return changed{}, err
	}
	p, err := r.place(name, true)
	if err != nil {
		return changed{}, err
	}
	defer p.close()
	from := func(w io.Writer) (string, error) {
		_, err := w.Write(content)
		return hashOf(content), err
	}
	change, err := p.put(c, from, 0o666, a.Overwrite == nil || *a.Overwrite)
	return changed{change, int64(len(content))}, err
}

// put makes or replaces the file at the place in one step: others see what was
// there or what is there now, and nothing between.
func (p place) put(c *Call, from func(io.Writer) (string, error), mode fs.FileMode, replace bool) (Change, error) {
	before, info, err := p.look()
	if err != nil {
		return Change{}, err
	}
	if info != nil && !replace {
		return Change{}, problem(Exists, "%s is there already", p.path)
	}
	if err := c.bound(Target{p.path, before}); err != nil {
		return Change{}, err
	}
	if info != nil {
		mode = info.Mode().Perm()
	}
	temp, after, err := p.temp(from, mode, info != nil)
	if err != nil {
		return Change{}, err
	}
	if err := p.settle(temp, info); err != nil {
		p.dir.Remove(temp) //nolint:errcheck // the first error is the one to tell
		return Change{}, err
	}
	change := Change{p.path, before, after}
	c.Changes = append(c.Changes, change)
	return change, nil
}

// temp writes a new file beside the place and returns its name. A mode that is
// exact is not narrowed by the system's mask.
func (p place) temp(from func(io.Writer) (string, error), mode fs.FileMode, exact bool) (name, hash string, err error) {
	name = ".piton-" + rand.Text()
	f, err := p.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", "", onFile(p.path, err)
	}
	hash, err = from(f)
	if err == nil && exact {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		p.dir.Remove(name) //nolint:errcheck // the first error is the one to tell
		return "", "", onFile(p.path, err)
	}
	return name, hash, nil
}

// settle gives a new file its name. Where nothing was, a file that appeared
// meanwhile is not replaced; where one was, it must still be the same.
func (p place) settle(temp string, was fs.FileInfo) error {
	if was == nil {
		err := p.dir.Link(temp, p.base)
		if err == nil {
			return p.dir.Remove(temp)
		}
		if errors.Is(err, fs.ErrExist) {
			return problem(Changed, "%s appeared meanwhile", p.path)
		}
		return p.settleUnlinked(temp)
	}
	now, err := p.dir.Lstat(p.base)
	if err != nil || !same(was, now) {
		return problem(Changed, "%s was changed meanwhile", p.path)
	}
	if err := p.dir.Rename(temp, p.base); err != nil {
		return onFile(p.path, err)
	}
	return nil
}

// settleUnlinked is for file systems without hard links: it takes the name first.
func (p place) settleUnlinked(temp string) error {
	f, err := p.dir.OpenFile(p.base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return problem(Changed, "%s appeared meanwhile", p.path)
	}
	if err != nil {
		return onFile(p.path, err)
	}
	f.Close()
	if err := p.dir.Rename(temp, p.base); err != nil {
		p.dir.Remove(p.base) //nolint:errcheck // the first error is the one to tell
		return onFile(p.path, err)
	}
	return nil
}

// same reports whether a file is the same one and was not written to.
func same(was, now fs.FileInfo) bool {
	return os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
}

type moveArgs struct {
	From      string `json:"from"`
	To        string `json:"to"`
	Overwrite bool   `json:"overwrite"`
}

func (a moveArgs) paths() (from, to string, err error) {
	if from, err = changeable(a.From); err != nil {
		return "", "", err
	}
	if to, err = changeable(a.To); err != nil {
		return "", "", err
	}
	if from == to {
		return "", "", problem(InvalidArguments, "%s would be moved to where it is", from)
	}
	return from, to, nil
}

func (r *room) weighMove(_ context.Context, a moveArgs) (Weight, error) {
	from, to, err := a.paths()
	if err != nil {
		return Weight{}, err
	}
	source, err := r.there(from)
	if err != nil {
		return Weight{}, err
	}
	target, err := r.target(to)
	if err != nil {
		return Weight{}, err
	}
	w := Weight{Effect: Move, Targets: []Target{source, target}}
	if target.Before != "" {
		if !a.Overwrite {
			return Weight{}, problem(Exists, "%s is there already", to)
		}
		w.Asks, w.Effect, w.Reason = true, Overwrite, to+" is there and would be overwritten"
	}
	return w, nil
}

// there is the target of a file that must be there.
func (r *room) there(name string) (Target, error) {
	t, err := r.target(name)
	if err == nil && t.Before == "" {
		err = problem(NotFound, "%s is not there", name)
	}
	return t, err
}

// move copies and then removes, so that each end is reached without following a
// link; if it is cut short both files are there, and never none.
func (r *room) move(_ context.Context, c *Call, a moveArgs) (changed, error) {
	from, to, err := a.paths()
	if err != nil {
		return changed{}, err
	}
	source, err := r.place(from, false)
	if err != nil {
		return changed{}, err
	}
	defer source.close()
	hash, info, err := source.existing(c)
	if err != nil {
		return changed{}, err
	}
	target, err := r.place(to, true)
	if err != nil {
		return changed{}, err
	}
	defer target.close()
	if there, err := target.dir.Lstat(target.base); err == nil && os.SameFile(there, info) {
		return changed{}, problem(InvalidArguments, "%s and %s are one file", from, to)
	}
	change, err := target.put(c, source.copier(hash), info.Mode().Perm(), a.Overwrite)
	if err != nil {
		return changed{}, err
	}
	if err := source.drop(c, hash, info); err != nil {
		return changed{}, err
	}
	return changed{change, info.Size()}, nil
}

// existing looks at a file that must be there, as it was shown.
func (p place) existing(c *Call) (string, fs.FileInfo, error) {
	hash, info, err := p.look()
	if err != nil {
		return "", nil, err
	}
	if info == nil {
		return "", nil, problem(NotFound, "%s is not there", p.path)
	}
	return hash, info, c.bound(Target{p.path, hash})
}

// copier writes the file, which must have a hash.
func (p place) copier(want string) func(io.Writer) (string, error) {
	return func(w io.Writer) (string, error) {
		f, err := p.dir.OpenFile(p.base, os.O_RDONLY|nonBlocking, 0)
		if err != nil {
			return "", onFile(p.path, err)
		}
		defer f.Close()
		got, err := digest(p.path, f, w)
		if err == nil && got != want {
			err = problem(Changed, "%s was changed meanwhile", p.path)
		}
		return got, err
	}
}

// drop removes the file, if it is still the one that was looked at.
func (p place) drop(c *Call, hash string, was fs.FileInfo) error {
	now, err := p.dir.Lstat(p.base)
	if err != nil || !same(was, now) {
		return problem(Changed, "%s was changed meanwhile, and stays", p.path)
	}
	if err := p.dir.Remove(p.base); err != nil {
		return onFile(p.path, err)
	}
	c.Changes = append(c.Changes, Change{Path: p.path, Before: hash})
	return nil
}

type removeArgs struct {
	Path string `json:"path"`
}

func (r *room) weighRemove(_ context.Context, a removeArgs) (Weight, error) {
	name, err := changeable(a.Path)
	if err != nil {
		return Weight{}, err
	}
	t, err := r.there(name)
	return Weight{Asks: true, Effect: Delete, Targets: []Target{t}, Reason: name + " would be deleted"}, err
}

func (r *room) remove(_ context.Context, c *Call, a removeArgs) (changed, error) {
	name, err := changeable(a.Path)
	if err != nil {
		return changed{}, err
	}
	p, err := r.place(name, false)
	if err != nil {
		return changed{}, err
	}
	defer p.close()
	hash, info, err := p.existing(c)
	if err != nil {
		return changed{}, err
	}
	if err := p.drop(c, hash, info); err != nil {
		return changed{}, err
	}
	return changed{Change{Path: name, Before: hash}, info.Size()}, nil
}
