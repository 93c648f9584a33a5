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

// probe finds out at which level steps can be kept apart here, by doing it.
func (o *Owner) probe() (proc.Isolation, error) {
	c := o.proc
	c.Idle = 1
	pool, err := proc.NewPool(c)
	if err != nil {
		return proc.LevelNone, err
	}
	defer pool.Close()
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
	place := o.cfg.Place
	home := proc.Variable(o.cfg.Env, "HOME")
	c := proc.Cell{
		Level: o.level(p.Config), Temp: filepath.Join(place.State, "rooms"),
		Hidden:   []string{filepath.Dir(place.State), place.State, Worktrees(place), home},
		Writable: fromHome(home, p.Config.Sandbox.Writable), Visible: fromHome(home, p.Config.Sandbox.Visible),
	}
	if err := errors.Join(proc.RemoveAll(c.Temp), os.Mkdir(c.Temp, 0o700)); err != nil {
		return c, fmt.Errorf("make a directory for steps: %w", err)
	}
	c.Git = tree.Common(place.Dir)
	return c, nil
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
