package owner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/model"
	"github.com/piton-dev/piton/internal/probe"
)

// Limits of a copy of the workspace.
const (
	copyFiles = 20_000
	copyBytes = 256 << 20
)

// reading asks an agent that is to read and to change nothing. For every question it
// starts in a copy of the workspace, which is thrown away with all that it wrote there.
type reading struct {
	model.Agent
	product *api.Product
}

// noCopy tells the agent why it sees no files.
const noCopy = "\n\nThe workspace is too large to be copied for you. The directory in which you start is empty; read nothing elsewhere.\n"

// Ask makes the copy first. The agent of a workspace that is too large for one starts in
// an empty directory.
func (r reading) Ask(ctx context.Context, q model.Question) (model.Answer, error) {
	scratch, done, err := r.Scratch()
	if err != nil {
		return model.Answer{}, &model.Failure{How: engine.NoStart, Reason: err.Error()}
	}
	defer done()
	q.Dir = filepath.Join(scratch, "work")
	if err = copyWorkspace(ctx, r.product, q.Dir); errors.Is(err, errTooLarge) {
		q.Prompt += noCopy
		err = errors.Join(os.RemoveAll(q.Dir), os.Mkdir(q.Dir, 0o700))
	}
	if err != nil {
		return model.Answer{}, &model.Failure{How: engine.NoStart, Reason: "the workspace cannot be copied for the agent: " + err.Error()}
	}
	return r.Agent.Ask(ctx, q)
}

var errTooLarge = fmt.Errorf("the workspace has more than %d files or %d MiB, too much for a copy", copyFiles, copyBytes>>20)

// copyWorkspace makes the directory and copies the files into it that git does not ignore.
func copyWorkspace(ctx context.Context, p *api.Product, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	names := probe.Files(ctx, probe.Env{Workspace: p.Place.Dir, Environ: p.Env, Config: p.Config})
	if len(names) > copyFiles {
		return errTooLarge
	}
	from, err := os.OpenRoot(p.Place.Dir)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	left, made := int64(copyBytes), map[string]bool{".": true}
	for _, name := range names {
		if above := filepath.Dir(filepath.FromSlash(name)); !made[above] {
			if err := to.MkdirAll(above, 0o755); err != nil {
				return err
			}
			made[above] = true
		}
		if err := copyFile(from, to, filepath.FromSlash(name), &left); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// copyFile copies a regular file, and a link that stays inside. What has gone meanwhile
// is left out, like all else.
func copyFile(from, to *os.Root, name string, left *int64) error {
	info, err := from.Lstat(name)
	if err != nil {
		return nil //nolint:nilerr // it is gone
	}
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if err != nil || filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.Dir(name), target)) {
			return nil //nolint:nilerr // it leads elsewhere
		}
		return to.Symlink(target, name)
	case !info.Mode().IsRegular():
		return nil
	}
	if *left -= info.Size(); *left < 0 {
		return errTooLarge
	}
	in, err := from.Open(name)
	if err != nil {
		return nil //nolint:nilerr // nobody may read it
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	return errors.Join(err, out.Close())
}
