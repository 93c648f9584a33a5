package verify

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/piton-dev/piton/internal/shell"
)

// isPackager reports the programs that look for others in node_modules.
func isPackager(tool string) bool {
	switch tool {
	case "npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx":
		return true
	}
	return false
}

// packageScripts follows the scripts of a package.json that npm runs for the
// names in the arguments, with what it runs before and after them.
func (g *guarding) packageScripts(to target, text string, from shell.Frame) {
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &manifest) != nil {
		return
	}
	for _, w := range to.args {
		for _, name := range []string{"pre" + w.Text, w.Text, "post" + w.Text} {
			line, ok := manifest.Scripts[name]
			if !ok {
				continue
			}
			from.Dir = to.dir
			s := shell.Read(line, from)
			if s.Fault != "" {
				continue
			}
			for _, c := range s.Calls {
				g.installed(c)
			}
			g.commands(s)
		}
	}
}

// module guards what python -m runs: a runner of tests, and whatever could stand
// in its place, or a module of the workspace.
func (g *guarding) module(c shell.Call) {
	w := c.Words[0]
	if !w.Known {
		g.lose(w.At, "which module runs here")
		return
	}
	name := strings.ReplaceAll(w.Text, ".", "/")
	top, _, _ := strings.Cut(name, "/")
	switch {
	case c.Dir == shell.UnknownDir:
	case isRunner(top) || isStandard(top):
		g.config(c.Dir, top+".py", top+"/__init__.py")
	default:
		for _, file := range []string{name + ".py", name + "/__main__.py", name + "/__init__.py"} {
			p := shell.Within(c.Dir, file)
			if p == shell.UnknownDir {
				continue
			}
			beyond := g.beyond
			g.beyond = true
			g.put(plainName.Replace(p), false)
			g.beyond = beyond
			g.follow(target{kind: pythonKind, file: p, dir: c.Dir})
		}
	}
}

func isRunner(module string) bool {
	switch module {
	case "pytest", "coverage", "tox", "nox", "behave", "nose", "mypy", "ruff", "pre_commit", "hatch", "build":
		return true
	}
	return false
}

// pythonFile guards what a script imports from its own directory: modules that
// stand beside it, and the absence of those that would stand in for a module of
// Python. In the root of the workspace modules are the work itself as often as a
// part of the check: only that absence counts.
func (g *guarding) pythonFile(to target, text string) {
	dir := path.Dir(to.file)
	if dir == "." {
		dir = ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		for _, module := range imported(strings.TrimSpace(line)) {
			top, _, _ := strings.Cut(module, ".")
			switch {
			case top == "" || len(top) > 100 || strings.Trim(top, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "":
			case isStandard(top):
				g.config(dir, top+".py", top+"/__init__.py")
			case dir != "":
				g.existing(dir, top+".py", top+"/__init__.py")
				g.follow(target{kind: pythonKind, file: path.Join(dir, top+".py"), dir: to.dir})
			}
		}
	}
}

// imported returns the modules of a line of Python.
func imported(line string) []string {
	if rest, ok := strings.CutPrefix(line, "from "); ok {
		module, _, ok := strings.Cut(strings.TrimSpace(rest), " ")
		if !ok {
			return nil
		}
		return []string{strings.TrimPrefix(module, ".")}
	}
	rest, ok := strings.CutPrefix(line, "import ")
	if !ok {
		return nil
	}
	var list []string
	rest, _, _ = strings.Cut(rest, "#")
	for part := range strings.SplitSeq(rest, ",") {
		if fields := strings.Fields(part); len(fields) > 0 {
			list = append(list, strings.TrimRight(fields[0], ";"))
		}
	}
	return list
}

// isStandard reports the modules of Python's standard library that are not
// part of the interpreter itself, so that a file of that name comes first.
func isStandard(module string) bool {
	switch module {
	case "abc", "argparse", "ast", "asyncio", "base64", "bisect", "bz2", "calendar", "cmath", "cmd", "code", "codecs", "collections",
		"colorsys", "compileall", "concurrent", "configparser", "contextlib", "contextvars", "copy", "copyreg", "csv", "ctypes",
		"dataclasses", "datetime", "decimal", "difflib", "dis", "doctest", "email", "enum", "filecmp", "fileinput", "fnmatch",
		"fractions", "ftplib", "functools", "getopt", "getpass", "gettext", "glob", "graphlib", "gzip", "hashlib", "heapq", "hmac",
		"html", "http", "imaplib", "importlib", "inspect", "io", "ipaddress", "json", "keyword", "linecache", "locale", "logging",
		"lzma", "math", "mimetypes", "multiprocessing", "netrc", "numbers", "operator", "os", "pathlib", "pdb", "pickle", "pkgutil",
		"platform", "plistlib", "poplib", "pprint", "profile", "pstats", "py_compile", "pydoc", "queue", "quopri", "random", "re",
		"readline", "reprlib", "runpy", "sched", "secrets", "select", "selectors", "shelve", "shlex", "shutil", "signal", "site",
		"smtplib", "socket", "socketserver", "sqlite3", "ssl", "stat", "statistics", "string", "stringprep", "struct", "subprocess",
		"symtable", "sysconfig", "tarfile", "tempfile", "textwrap", "threading", "timeit", "token", "tokenize", "tomllib", "trace",
		"traceback", "tracemalloc", "types", "typing", "unicodedata", "unittest", "urllib", "uuid", "venv", "warnings", "wave",
		"weakref", "webbrowser", "xml", "xmlrpc", "zipapp", "zipfile", "zipimport", "zlib", "zoneinfo":
		return true
	}
	return false
}
