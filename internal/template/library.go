package template

import (
	"embed"
	"path"
	"strings"
)

//go:embed library/*.md
var library embed.FS

// Library is what comes with the program, by name.
func Library() ([]*Template, error) {
	entries, err := library.ReadDir("library")
	if err != nil {
		return nil, err
	}
	var all []*Template
	for _, e := range entries {
		file := path.Join("library", e.Name())
		text, err := library.ReadFile(file)
		if err != nil {
			return nil, err
		}
		t, err := Parse(strings.TrimSuffix(e.Name(), ".md"), file, text)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}
