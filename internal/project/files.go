package project

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

// The files that follow the runs of a workspace, below its directory.
const (
	own     = ".piton"
	pointer = own + "/current-task.yaml"
	records = own + "/plans"
	ignored = own + "/.gitignore"
)

// Written reports whether a path of the workspace is that of a file that follows a run,
// and so no plan document.
func Written(rel string) bool {
	return rel == pointer || path.Dir(rel) == records && strings.HasSuffix(rel, ".yaml")
}

// Recorded is what became of a run, as [Files] writes it.
type Recorded struct {
	Document form.Document // the pinned text; it is the caller's own, and is changed
	Head     engine.HeadRow
	Revision *engine.Revision
	Steps    []engine.StepRow
	Deeds    Deeds
	Current  bool // the run is the one that the workspace is at
}

// Files writes a run into the files that show it below the workspace. They are written
// only where the directory is marked as a workspace already: else they would mark it.
// Each is replaced as a whole. Nothing waits for the disk: what is lost is written anew.
func Files(dir string, r Recorded) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if !marked(root) {
		return nil
	}
	if err := prepare(root); err != nil {
		return err
	}
	for _, s := range r.Document.Plan.Steps {
		s.Writes = plan.Field[[]plan.Text]{} // what it may change is not what it did
	}
	text := Record(r.Document, form.YAML, r.Head, r.Revision, r.Steps, r.Deeds).Text()
	err = put(root, records+"/"+r.Revision.Drafted.Plan+".yaml", text)
	if r.Current {
		err = errors.Join(err, put(root, pointer, form.Pointer(r.Head.Title, r.Revision.Drafted.Plan, runWord(r.Head.Status))))
	}
	return err
}

func marked(root *os.Root) bool {
	for _, name := range []string{own, ".git"} {
		if _, err := root.Lstat(name); err == nil {
			return true
		}
	}
	return false
}

// prepare makes the directories, and keeps git from taking the files for somebody's work.
func prepare(root *os.Root) error {
	if err := root.MkdirAll(records, 0o755); err != nil {
		return err
	}
	if _, err := root.Lstat(ignored); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return put(root, ignored, []byte("# Piton writes these files to show its runs, and never reads them.\n/.gitignore\n/current-task.yaml\n/plans/*.yaml\n.*.new\n"))
}

// put replaces a file as a whole.
func put(root *os.Root, name string, text []byte) error {
	dir, base := path.Split(name)
	tmp := dir + "." + base + ".new"
	if err := root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	return nil
}
