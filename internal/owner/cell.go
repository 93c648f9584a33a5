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
	c.Git = repository(place.Dir)
	return c, nil
}

// repository finds the directory that all worktrees of the repository have in common that a
// workspace lies in; "" for none.
func repository(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		info, err := os.Stat(git)
		switch {
		case err == nil && info.IsDir():
			return git
		case err == nil:
			return common(git)
		case filepath.Dir(dir) == dir:
			return ""
		}
	}
}

// common follows the file that stands for the directory of git in a linked worktree. It
// answers only what looks like one.
func common(file string) string {
	text, err := os.ReadFile(file)
	to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(file), to)
	}
	if filepath.Base(filepath.Dir(to)) == "worktrees" {
		to = filepath.Dir(filepath.Dir(to))
	}
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(to, name)); err != nil {
			return ""
		}
	}
	return to
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
