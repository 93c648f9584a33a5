package owner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tree"
)

// probe finds out at which level steps can be kept apart here, by doing it. The processes
// that it starts for that are those of the first rig.
func (o *Owner) probe() (proc.Isolation, error) {
	pool, err := proc.NewPool(o.proc)
	if err != nil {
		return proc.LevelNone, err
	}
	o.tried.Store(pool)
	return pool.Best()
}

// level is the level in force under a configuration.
func (o *Owner) level(c config.Config) proc.Isolation {
	if c.Policy.Isolation == string(proc.LevelNone) {
		return proc.LevelNone
	}
	best, _ := o.best()
	return best
}

// cell says how the processes of steps are held. What a killed owner has left in it goes.
func (o *Owner) cell(p *api.Product) (proc.Cell, error) {
	c := cellOf(o.cfg.Place, o.cfg.Env, p.Config, o.cfg.Program, o.level(p.Config), filepath.Join(o.cfg.Place.State, "rooms"))
	if err := errors.Join(proc.RemoveAll(c.Temp), os.Mkdir(c.Temp, 0o700)); err != nil {
		return c, fmt.Errorf("make a directory for steps: %w", err)
	}
	return c, nil
}

// cellOf says how processes are held at a level, with a directory for what they need.
func cellOf(place api.Place, env []string, c config.Config, piton string, level proc.Isolation, temp string) proc.Cell {
	home := proc.Variable(env, "HOME")
	visible := fromHome(home, c.Sandbox.Visible)
	for _, a := range c.Agents {
		if server := reportServer(a, piton); len(server) > 0 {
			visible = append(visible, server[0])
		}
	}
	return proc.Cell{
		Level: level, Temp: temp, Git: tree.Common(place.Dir),
		Hidden:   []string{filepath.Dir(place.State), place.State, Worktrees(place), home},
		Writable: fromHome(home, c.Sandbox.Writable), Visible: visible,
	}
}

// fromHome makes paths of a configuration absolute.
func fromHome(home string, paths []string) []string {
	var all []string
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(home, rest)
		}
		if filepath.IsAbs(path) {
			all = append(all, path)
		}
	}
	return all
}
