package tool_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/piton-dev/piton/internal/tool"
)

// open makes a registry over a workspace with some files.
func open(t testing.TB, c tool.Config, files map[string]string) (*tool.Registry, string) {
	t.Helper()
	if c.Workspace == "" {
		c.Workspace = t.TempDir()
	}
	c.Environ = append(os.Environ(), c.Environ...)
	for name, text := range files {
		put(t, c.Workspace, name, text)
	}
	r, err := tool.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, c.Workspace
}

// args writes arguments as JSON.
func args(t testing.TB, value any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type m = map[string]any

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
