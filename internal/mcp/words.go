package mcp

import (
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
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

// within is the path of a regular file of the workspace, relative to it.
func within(w *Workspace, path string) (rel string, err error) {
	if err := word("the path", path); err != nil {
		return "", err
	}
	return w.Inside(path)
}
