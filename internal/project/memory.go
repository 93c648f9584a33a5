package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/plan"
)

// NewMemory writes a text to a file of its own in a directory of the workspace, all of
// it or nothing, never over another one and never through a link. A file that has this
// very text already is it.
func NewMemory(workspace, dir, title string, text []byte) (name string, err error) {
	for at := dir; at != "."; at = path.Dir(at) {
		info, err := os.Lstat(filepath.Join(workspace, filepath.FromSlash(at)))
		if err == nil && !info.IsDir() {
			return "", fmt.Errorf("%s is no directory", at)
		}
	}
	into := filepath.Join(workspace, filepath.FromSlash(dir))
	if err := os.MkdirAll(into, 0o755); err != nil {
		return "", err
	}
	slug := plan.Slug(title)
	for n, base := 2, slug; ; n++ {
		file := filepath.Join(into, base+".md")
		err := durable.Create(filepath.Dir(into), file, text, 0o644)
		if errors.Is(err, fs.ErrExist) {
			if was, other := durable.ReadFile(file, int64(len(text))); other != nil || !bytes.Equal(was, text) {
				base = fmt.Sprintf("%s-%d", slug, n)
				continue
			}
			err = nil
		}
		return path.Join(dir, base+".md"), err
	}
}
