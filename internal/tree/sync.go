package tree

import (
	"os"

	"github.com/piton-dev/piton/internal/durable"
)

// A syncer makes safe on disk what was written. Tests watch one, and have it fail.
type syncer struct {
	file func(*os.File) error
	dir  func(*os.Root) error // the names in it
}

// newSyncer asks the system.
func newSyncer() *syncer { return &syncer{(*os.File).Sync, durable.SyncRoot} }

// names makes safe the names in a directory that is not open.
func (s *syncer) names(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return s.dir(root)
}
