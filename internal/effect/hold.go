package effect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

// loose says why the system does not hold what a step runs, "" if it does: without network,
// home and state, and unable to change a file but below the directories of its scope. named
// says that the configuration allows its very words, held or not.
func (w *World) loose(s *engine.Step, named bool) string {
	if named {
		return ""
	}
	if _, why := engine.Rooms(s.Writes); why != "" {
		return why
	}
	if err := w.Pool.Holds(); err != nil {
		return "the system cannot hold it: " + err.Error()
	}
	return ""
}

// held is the room of what an effect runs; nil where it needs none of its own, or somebody
// allowed that this machine has none.
func (w *World) held(e engine.Effect) (*proc.Room, error) {
	if !e.Held || e.Unsealed && w.Pool.Holds() != nil {
		return nil, nil
	}
	return w.room(e.Step)
}

// room is what holds the processes of a step: they may change the directories of its scope.
func (w *World) room(s *engine.Step) (*proc.Room, error) {
	dirs, why := engine.Rooms(s.Writes)
	if why != "" {
		return nil, errors.New(why)
	}
	room := &proc.Room{Dir: w.Dir, Fixed: true}
	for _, name := range dirs {
		dir, err := w.directory(name)
		if err != nil {
			return nil, err
		}
		room.Writable = append(room.Writable, dir)
	}
	return room, nil
}

// directory makes sure that a directory of the scope is there, and no link leads out of it.
func (w *World) directory(name string) (string, error) {
	top, err := filepath.EvalSymlinks(w.Dir)
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.FromSlash(name), 0o777); err != nil {
		return "", fmt.Errorf("make %s, which the step may write: %w", name, err)
	}
	dir := filepath.Join(top, filepath.FromSlash(name))
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
		return "", fmt.Errorf("%s, which the step may write, is reached through a link", name)
	}
	return dir, nil
}
