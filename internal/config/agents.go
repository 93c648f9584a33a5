package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/piton-dev/piton/internal/plan"
)

// AgentDir is where a workspace keeps agents in files of their own, relative to its root.
const AgentDir = ".piton/agents"

const (
	maxAgentFiles   = 500
	maxInstructions = 64 << 10
)

// Files are the globs of the files that a workspace's configuration is made of.
func Files() []string { return []string{File, AgentDir + "/**"} }

// IsFile reports whether a path relative to the workspace is one of [Files].
func IsFile(name string) bool { return name == File || strings.HasPrefix(name, AgentDir+"/") }

// agentFiles reads the agents that have files of their own: NAME.md, whose front matter
// has the keys of an agent and whose text is its instructions. A link is not followed.
func (d *decoder) agentFiles(c *Config, dir string) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), AgentDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return path.Ext(e.Name()) != ".md" })
	if len(entries) > maxAgentFiles {
		return fmt.Errorf("%s has more than %d files", AgentDir, maxAgentFiles)
	}
	for _, e := range entries {
		name := path.Join(AgentDir, e.Name())
		text, err := readFile(root.Lstat, root.Open, name)
		if err != nil {
			return err
		}
		d.agentFile(c, name, text)
	}
	return nil
}

func (d *decoder) agentFile(c *Config, file string, text []byte) {
	d.file = file
	name := strings.TrimSuffix(path.Base(file), ".md")
	front, body, ok := frontMatter(text)
	at := join("agents", name)
	earlier, twice := d.origins[at]
	switch p, bad := unreadable(file, text); {
	case bad:
		d.problems = append(d.problems, p)
		return
	case !isWord(name):
		d.refuse(1, "rename it", "an agent cannot be called %q", name)
		return
	case twice && earlier.File == File:
		d.refuse(1, "keep one of them", "agent %q stands in %s too, line %d", name, File, earlier.Line)
		return
	case !ok:
		d.refuse(1, "begin with ---, the agent's keys and ---; its instructions follow", "has no front matter")
		return
	case len(body) > maxInstructions:
		d.refuse(1, "", "has instructions of more than %d KiB", maxInstructions>>10)
		return
	}
	keys, problems := parseYAML(file, front)
	d.problems = append(d.problems, problems...)
	if len(problems) > 0 {
		d.refused[at] = true
	}
	if keys == nil {
		keys = &yaml.Node{Kind: yaml.MappingNode}
	}
	if c.Agents == nil {
		c.Agents = map[string]Agent{}
	}
	d.entry(at, reflect.ValueOf(name), keys, Origin{File: file, Line: 1, Column: 1}, reflect.ValueOf(c.Agents))
	a, key := c.Agents[name], at+".instructions"
	switch said := strings.TrimSpace(string(body)); {
	case said != "" && d.origins[key] != (Origin{}):
		d.wrong(key, "leave the key out", "%s is the text of the file below its front matter", key)
	case said != "":
		a.Instructions, d.origins[key] = said, Origin{File: file, Line: 1 + bytes.Count(front, []byte("\n")), Column: 1}
		c.Agents[name] = a
	}
}

func (d *decoder) refuse(line int, hint, format string, args ...any) {
	d.problems = append(d.problems, Problem{Origin: Origin{File: d.file, Line: line, Column: 1}, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// frontMatter divides a text between two lines of dashes at its head from what follows.
// Of front the lines are where they are in the text.
func frontMatter(text []byte) (front, body []byte, ok bool) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	dashes := func(line []byte) bool { return strings.TrimRight(string(line), " \t\r\n") == "---" }
	if !dashes(lines[0]) {
		return nil, nil, false
	}
	end := slices.IndexFunc(lines[1:], dashes)
	if end < 0 {
		return nil, nil, false
	}
	return append([]byte("#\n"), bytes.Join(lines[1:end+1], nil)...), bytes.Join(lines[end+2:], nil), true
}

// alike fills what an agent does not say itself from the one that it is like.
func (d *decoder) alike(c *Config, name string) {
	a, at := c.Agents[name], join("agents", name)
	if a.As == "" {
		return
	}
	of, ok := c.Agents[a.As]
	switch {
	case !ok || a.As == name:
		others := slices.DeleteFunc(agentNames(c), func(n string) bool { return n == name })
		d.wrong(at+".as", plan.Nearest(a.As, others), "%s.as names %q, which is no other agent", at, a.As)
		d.refused[at] = true
		return
	case of.As != "":
		d.wrong(at+".as", "name "+of.As, "%s.as names %q, which is like another agent itself", at, a.As)
		d.refused[at] = true
		return
	case of.Kind == Shell:
		d.wrong(at+".as", "name an agent of the kind exec or acp", "%s.as names %q, which runs scripts", at, a.As)
		d.refused[at] = true
		return
	}
	d.fill(at, reflect.ValueOf(&a).Elem(), join("agents", a.As), reflect.ValueOf(of))
	c.Agents[name] = a
}

// fill sets what no source has set, but for what says when an agent is the one.
func (d *decoder) fill(at string, v reflect.Value, from string, of reflect.Value) {
	for _, s := range settings(v.Type()) {
		p, q := join(at, s.key), join(from, s.key)
		switch f := v.Field(s.index); {
		case s.key == "when" || s.key == "as":
		case f.Kind() == reflect.Struct && !isScalar(f.Type()):
			d.fill(p, f, q, of.Field(s.index))
		case f.Kind() == reflect.Map && f.Len() == 0:
			f.Set(of.Field(s.index))
			for _, name := range f.MapKeys() {
				d.origins[join(p, name.String())] = d.origins[join(q, name.String())]
			}
		case f.Kind() != reflect.Map && d.origins[p] == (Origin{}):
			f.Set(of.Field(s.index))
			if o, ok := d.origins[q]; ok {
				d.origins[p] = o
			}
		}
	}
}
