package form

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
)

var (
	// stepHeading begins a step, which only Markdown has.
	stepHeading = lazy.Regexp(`(?m)^#{2,4}[ \t]+[0-9Nn][^\n]*\.`)
	// topKey is a key at the start of a line.
	topKey = lazy.Regexp(`^["']?([A-Za-z]+)["']?[ \t]*:([ \t\r]|$)`)
	// body is a key that a document of these forms has, and prose hardly.
	body = lazy.Regexp(`(?m)^["']?(steps|checklist|maxIterations|currentStepIndex|estimatedDuration)["']?[ \t]*:([ \t\r]|$)`)
)

// Of says which form bytes have. What begins with {, or is a list in JSON, is JSON; what begins with a
// key of these forms, or with any key and has steps below it, but no heading of
// a step, is YAML; all else is Markdown. Between forms of the same syntax their keys decide. The cost is linear.
func Of(src []byte) Form {
	text := strings.TrimPrefix(string(src), "\ufeff")
	switch {
	case strings.HasPrefix(strings.TrimLeft(text, blank), "{"), isList(text):
		return JSON
	case isYAML(text):
		return YAML
	}
	return Markdown
}

// isList reports a list in JSON, which is no plan, but no Markdown either: there a
// text in square brackets is a link or a note.
func isList(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, blank), "[") && json.Valid([]byte(text))
}

func isYAML(text string) bool {
	key := firstKey(text)
	known := slices.Contains(keysOf(sheetFields()), key) || slices.Contains(keysOf(dagFields()), key) || slices.Contains(keysOf(taskFields()), key)
	return key != "" && (known || body().MatchString(text)) && !stepHeading().MatchString(text)
}

// firstKey looks at the first line that is not blank and no comment. A document
// may begin with ---, but what has a second such line is frontmatter.
func firstKey(text string) string {
	started := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, blank)
		switch {
		case line == "" || line[0] == '#':
		case line == "---" && !started:
			started = true
			if _, rest, _ := strings.Cut(text, "---"); strings.Contains(rest, "\n---") {
				return ""
			}
		default:
			if m := topKey().FindStringSubmatch(line); m != nil {
				return m[1]
			}
			return ""
		}
	}
	return ""
}

// formOf says which form the keys of a document are of. Documents that are read
// from YAML and from JSON have the same keys.
func formOf(root *node) Form {
	for _, p := range root.pairs {
		switch p.key {
		case "checklist", "maxIterations", "featureId":
			return TaskPlan
		}
	}
	if root.get("task") != nil {
		return YAML
	}
	if root.get("estimatedDuration") != nil || root.get("taskId") != nil {
		return DAG
	}
	if steps := root.get("steps"); steps != nil {
		for _, s := range steps.items {
			if s.get("tool") != nil || s.get("order") != nil {
				return DAG
			}
		}
	}
	return YAML
}
