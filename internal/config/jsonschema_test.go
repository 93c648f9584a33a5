package config_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
	"golang.org/x/tools/txtar"

	"github.com/piton-dev/piton/internal/config"
)

// blind lists the files with problems that no schema can see: what stands in
// another file or setting, and what YAML itself does not show.
var blind = map[string]string{
	"bad-direction-override":     "a character that nobody sees",
	"bad-alias":                  "an alias stands for the value itself",
	"bad-merge-key":              "an alias stands for the value itself",
	"bad-agent-files":            "agents have files of their own",
	"bad-references":             "a setting that names another one",
	"bad-model-both":             "keys that exclude each other",
	"bad-model-half":             "a key that needs another one",
	"bad-model-no-api":           "a key that needs another one",
	"bad-environment":            "the environment is wrong",
	"bad-flags":                  "the flags are wrong",
	"bad-places":                 "where a path leads",
	"bad-tag":                    "a tag is gone once the file is read",
	"bad-two-documents":          "only the first document is looked at",
	"bad-second-document-broken": "only the first document is looked at",
}

// dash is a lone one in brackets, which YAML alone does not read.
var dash = regexp.MustCompile(`([\[{,:]\s*)-(\s*[,\]}])`)

// quoted puts every other dash of a row in quotes.
func quoted(text []byte) []byte { return dash.ReplaceAll(text, []byte("$1'-'$2")) }

// TestSchemaJudgesAlike gives the schema the files that the reader is tested
// with: all that it accepts, and all that it refuses.
func TestSchemaJudgesAlike(t *testing.T) {
	schema := compiled(t)
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			wrong := misfit(t, schema, file)
			switch good := strings.HasPrefix(name, "good-"); {
			case good && wrong != nil:
				t.Errorf("the schema refuses it: %v", wrong)
			case !good && wrong == nil && blind[name] == "":
				t.Error("the schema accepts it")
			case !good && wrong != nil && blind[name] != "":
				t.Errorf("the schema sees it; it is no longer blind: %v", wrong)
			}
		})
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("config.json")
}

// misfit is the first thing that the schema finds in the files of an archive,
// or that keeps YAML from being read at all.
func misfit(t *testing.T, schema *jsonschema.Schema, file string) error {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range txtar.Parse(text).Files {
		if !strings.HasSuffix(part.Name, ".yaml") {
			continue
		}
		var value any
		if err := yaml.Unmarshal(quoted(quoted(part.Data)), &value); err != nil {
			return err
		}
		body, err := json.Marshal(value)
		if err != nil {
			return err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			return err
		}
	}
	return nil
}
