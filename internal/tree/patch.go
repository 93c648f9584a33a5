package tree

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/piton-dev/piton/internal/engine"
)

// MaxPatch is how many bytes of a difference are kept. Files beyond it are named only.
const MaxPatch = 1 << 20

// Patch writes what changed from one manifest to another as git does, for people, and of text
// for `git apply`. Files that are no text, and those of which not everything is kept, are named
// as binary.
func (t *Tree) Patch(ctx context.Context, was, is Manifest, changes []engine.Change) ([]byte, error) {
	var b bytes.Buffer
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		from, to := was.digest(c.Path), is.digest(c.Path)
		if !plain(from) || !plain(to) {
			continue // a directory, or nothing that a difference can show
		}
		text := t.hunks(c.Path, from, to)
		if b.Len()+len(text) > MaxPatch {
			text = unshown(c.Path, from, to)
		}
		b.WriteString(heading(c.Path, from, to) + text)
	}
	return b.Bytes(), nil
}

// Lines are the changed lines of a protected file between two bases, as git writes them; ""
// where there is nothing to show: of a part of a file, or of what is no text.
func (t *Tree) Lines(was, is *Base, key string) string {
	if _, part := splitPart(key); part != "" {
		return ""
	}
	from, to := cmp.Or(was.content.Files[key], Absent), cmp.Or(is.content.Files[key], Absent)
	if !plain(from) || !plain(to) {
		return ""
	}
	return t.hunks(key, from, to)
}

// heading names a file, and what became of it beside its lines.
func heading(name string, from, to Digest) string {
	text := fmt.Sprintf("diff --git %s %s\n", side("a/", name), side("b/", name))
	switch {
	case from == Absent:
		return text + "new file mode " + gitMode(to) + "\n"
	case to == Absent:
		return text + "deleted file mode " + gitMode(from) + "\n"
	case from.kind() != to.kind():
		return text + "old mode " + gitMode(from) + "\nnew mode " + gitMode(to) + "\n"
	}
	return text
}

// side is a file's name on one side, quoted as git does where it has to be.
func side(prefix, name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) {
		return fmt.Sprintf("%q", prefix+name)
	}
	return prefix + name
}

func gitMode(d Digest) string {
	switch d.kind() {
	case 'x':
		return "100755"
	case 'l':
		return "120000"
	}
	return "100644"
}

// hunks are the changed lines of a file.
func (t *Tree) hunks(name string, from, to Digest) string {
	if from.sum() == to.sum() {
		return ""
	}
	before, err := t.Content(from)
	after, other := t.Content(to)
	if err != nil || other != nil || !showable(before) || !showable(after) {
		return unshown(name, from, to)
	}
	a, b := labels(name, from, to)
	return udiff.Unified(a, b, string(before), string(after))
}

func showable(content []byte) bool { return len(content) == 0 || isText(content) }

func unshown(name string, from, to Digest) string {
	a, b := labels(name, from, to)
	return fmt.Sprintf("Binary files %s and %s differ\n", a, b)
}

// labels are the names of the two sides; a file that is not there has none.
func labels(name string, from, to Digest) (a, b string) {
	a, b = side("a/", name), side("b/", name)
	if from == Absent {
		a = "/dev/null"
	}
	if to == Absent {
		b = "/dev/null"
	}
	return a, b
}
