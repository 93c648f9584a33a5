package tool

import (
	"context"
	"encoding/json"
	"path"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

type dataArgs struct {
	Path   string `json:"path"`
	Format string `json:"format"`
}

// readData reads a file as the value that it holds. YAML is read as plans and arguments
// are: without aliases and tags, by which a small text becomes a large value.
func (r *room) readData(ctx context.Context, c *Call, a dataArgs) (any, error) {
	text, err := r.read(ctx, c, readArgs{Path: a.Path})
	if err != nil {
		return nil, err
	}
	text = strings.TrimPrefix(text, "\ufeff")
	format := a.Format
	if format == "" {
		format = "json"
		if ext := path.Ext(a.Path); ext == ".yaml" || ext == ".yml" {
			format = "yaml"
		}
	}
	if format == "json" {
		var value json.RawMessage
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return nil, problem(Failed, "%s is not JSON: %v", a.Path, err)
		}
		return value, nil
	}
	if strings.TrimSpace(text) == "" {
		return nil, problem(Failed, "%s holds no value", a.Path)
	}
	value, err := form.ReadArguments(plan.Text{Value: text, Lang: "yaml", Pos: plan.Pos{Line: 1, Column: 1}})
	if err != nil {
		return nil, problem(Failed, "%s cannot be read as YAML: %v", a.Path, err)
	}
	return value.Value, nil
}
