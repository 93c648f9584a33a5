package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// File is where a workspace keeps its configuration, relative to its root.
const File = ".piton/config.yaml"

// Sources are the places a configuration is read from, weakest last: Flags,
// Env, the workspace's files, the user's file, the defaults.
type Sources struct {
	WorkspaceDir string            // root of the workspace; empty = no file there
	UserDir      string            // directory of the user's config.yaml, see [UserDir]; empty = none
	Env          []string          // name=value, as os.Environ gives it
	Flags        map[string]string // by dotted path: "policy.max_parallel"
}

// UserDir is the directory of the user's configuration in an environment:
// $XDG_CONFIG_HOME/piton, else ~/.config/piton; empty where neither is known.
// A relative XDG_CONFIG_HOME is ignored, as the base directory specification asks.
func UserDir(env []string) string {
	vars := environment(env)
	if dir := vars["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		return filepath.Join(dir, "piton")
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home := vars[name]; filepath.IsAbs(home) {
			return filepath.Join(home, ".config", "piton")
		}
	}
	return ""
}

// Default is the configuration of an installation without any source: the
// defaults and the agent [Script].
func Default() Config {
	c := Config{
		Agents:  map[string]Agent{Script: {Kind: Shell}},
		origins: map[string]Origin{},
	}
	setDefaults(reflect.ValueOf(&c).Elem())
	script := c.Agents[Script]
	setDefaults(reflect.ValueOf(&script).Elem())
	c.Agents[Script] = script
	return c
}

// Load reads all sources. Problems are what the authors of the sources must
// mend, in the order of the sources and of their lines; with any of them the configuration is
// not fit for use. The error says that a file could not be read at all; a file
// that does not exist is none.
func Load(from Sources) (Config, []Problem, error) {
	c := Default()
	d := &decoder{origins: c.origins, refused: map[string]bool{}}
	if from.UserDir != "" {
		name := filepath.Join(from.UserDir, "config.yaml")
		text, err := readFile(os.Stat, os.Open, name)
		if err != nil {
			return c, nil, fmt.Errorf("read user configuration: %w", err)
		}
		d.document(&c, name, text)
	}
	if from.WorkspaceDir != "" {
		text, err := readInside(from.WorkspaceDir)
		if err != nil {
			return c, nil, fmt.Errorf("read configuration of the workspace: %w", err)
		}
		d.document(&c, File, text)
		if err := d.agentFiles(&c, from.WorkspaceDir); err != nil {
			return c, nil, fmt.Errorf("read the agents of the workspace: %w", err)
		}
	}
	d.environment(&c, from.Env)
	d.flags(&c, from.Flags)
	d.check(&c)
	byPosition(d.problems)
	sayOnce(d.problems)
	return c, d.problems, nil
}

// readInside reads the workspace's file without following a link out of it.
func readInside(dir string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readFile(root.Stat, root.Open, filepath.FromSlash(File))
}

// readFile reads a regular file up to one byte more than a configuration may have.
func readFile(stat func(string) (fs.FileInfo, error), open func(string) (*os.File, error), name string) ([]byte, error) {
	info, err := stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

func (d *decoder) document(c *Config, file string, text []byte) {
	d.file = file
	root, problems := parseYAML(file, text)
	d.problems = append(d.problems, problems...)
	if root != nil {
		d.group("", root, reflect.ValueOf(c).Elem())
	}
}

const policyEnv = "PITON_POLICY_"

// environment sets the scalars with a fixed path from variables: PITON_ and the
// path in capitals. An empty variable counts as unset. Other PITON_ variables
// belong to somebody else, except under PITON_POLICY_, where a slip of the pen
// would silently weaken a rule.
func (d *decoder) environment(c *Config, env []string) {
	vars := environment(env)
	var policies []string
	scalars(reflect.ValueOf(c).Elem(), "", func(path string, v reflect.Value, tag reflect.StructTag) {
		name := envName(path)
		if policy, ok := strings.CutPrefix(name, policyEnv); ok {
			policies = append(policies, policy)
		}
		if text := vars[name]; text != "" {
			d.word(path, Origin{Source: "env " + name}, v, text, tag)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		policy, ok := strings.CutPrefix(name, policyEnv)
		if ok && !slices.Contains(policies, policy) {
			d.problems = append(d.problems, Problem{
				Origin: Origin{Source: "env " + name}, Message: "no policy has this name", Hint: plan.Nearest(policy, policies),
			})
		}
	}
}

func (d *decoder) flags(c *Config, flags map[string]string) {
	left := maps.Clone(flags)
	var known []string
	scalars(reflect.ValueOf(c).Elem(), "", func(path string, v reflect.Value, tag reflect.StructTag) {
		known = append(known, path)
		if text, ok := left[path]; ok {
			d.word(path, Origin{Source: "flag " + path}, v, text, tag)
			delete(left, path)
		}
	})
	for _, path := range slices.Sorted(maps.Keys(left)) {
		d.problems = append(d.problems, Problem{
			Origin: Origin{Source: "flag " + path}, Message: "no setting has this name", Hint: plan.Nearest(path, known),
		})
	}
}

func (d *decoder) word(path string, from Origin, v reflect.Value, text string, tag reflect.StructTag) {
	if err := setScalar(v, text, tag); err != nil {
		d.problems = append(d.problems, Problem{Origin: from, Message: fmt.Sprintf("%s %s", path, err)})
		return
	}
	d.origins[path] = from
}

// environment turns name=value entries into a map; the last one counts, as for
// a child process.
func environment(env []string) map[string]string {
	vars := make(map[string]string, len(env))
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok {
			vars[name] = value
		}
	}
	return vars
}
