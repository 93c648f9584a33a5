package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/piton-dev/piton/internal/api"
)

// word refuses what can be no name, id or path.
func word(what, s string) error {
	switch {
	case s == "":
		return refused("give it", "%s is empty", what)
	case len(s) > maxWord:
		return refused("give a shorter one", "%s has %d bytes, more than %d", what, len(s), maxWord)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unseen):
		return refused("give the plain text", "%s has characters that cannot be seen", what)
	}
	return nil
}

func unseen(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// id refuses what can be no id of a run, a step or a revision. "" is the newest run.
func id(what, s string) error {
	if s == "" {
		return nil
	}
	err := word(what, s)
	if err == nil && (strings.HasPrefix(s, ".") || strings.Contains(s, "..") || strings.ContainsAny(s, `\`) || filepath.IsAbs(s)) {
		err = refused("plan_list shows the ids of runs, run_status those of steps", "%s %q is no id", what, s)
	}
	return err
}

// within is the path of a regular file of the workspace, relative to it: links are followed
// as long as they stay inside.
func within(dir, path string) (rel string, err error) {
	if err := word("the path", path); err != nil {
		return "", err
	}
	rel = filepath.Clean(path)
	if filepath.IsAbs(path) {
		if rel, err = filepath.Rel(dir, rel); err != nil {
			rel = ".."
		}
	}
	if !filepath.IsLocal(rel) {
		return "", outside(path)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	info, err := root.Stat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &api.Problem{Code: api.NotFound, Message: path + ": there is no such file in the workspace", Hint: "plan_list names the plans that there are"}
	case err != nil:
		return "", outside(path)
	case !info.Mode().IsRegular():
		return "", refused("give the path of a plan document", "%s is no file", path)
	}
	return rel, nil
}

func outside(path string) error {
	return &api.Problem{Code: api.Denied, Message: path + " leads out of the workspace", Hint: "give a path inside, such as plans/fix.md"}
}
