package tool

import (
	"encoding/json"
	"strings"
)

// A Function is a tool as the common model APIs name it: letters, digits, - and _
// only. Tool is the name to call it by here.
type Function struct {
	Tool        string
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Functions are the tools under names that every model API takes. A name that is
// too long or taken ends in some digits of a hash.
func Functions(list []Definition) []Function {
	taken := map[string]bool{}
	out := make([]Function, 0, len(list))
	for _, d := range list {
		name := strings.Map(func(r rune) rune {
			if isName(string(r)) {
				return r
			}
			return '_'
		}, strings.ReplaceAll(d.Name, ".", "__"))
		if len(name) > 64 || taken[name] {
			name = name[:min(len(name), 55)] + "_" + hashOf([]byte(d.Name))[:8]
		}
		taken[name] = true
		out = append(out, Function{d.Name, name, d.Description, d.Input})
	}
	return out
}

// OpenAI writes a function as the chat API of OpenAI and its kin take it.
func (f Function) OpenAI() json.RawMessage {
	return must(map[string]any{"type": "function", "function": map[string]any{
		"name": f.Name, "description": f.Description, "parameters": f.Parameters,
	}})
}

// Anthropic writes a function as the messages API of Anthropic takes it.
func (f Function) Anthropic() json.RawMessage {
	return must(map[string]any{"name": f.Name, "description": f.Description, "input_schema": f.Parameters})
}

// MCP writes a tool as a server of the Model Context Protocol lists it. An output
// that is no object has no place there.
func (d Definition) MCP() json.RawMessage {
	t := map[string]any{"name": d.Name, "description": d.Description, "inputSchema": d.Input, "annotations": map[string]any{
		"readOnlyHint": d.Effect == Read, "destructiveHint": d.Effect != Read && d.Effect != Create, "openWorldHint": d.Foreign || d.Effect == Network || d.Effect == Command,
	}}
	var output struct{ Type string }
	if json.Unmarshal(d.Output, &output) == nil && output.Type == "object" {
		t["outputSchema"] = d.Output
	}
	return must(t)
}

// must writes what is JSON already, in parts.
func must(value any) json.RawMessage {
	text, err := encode(value)
	if err != nil {
		return json.RawMessage("null") // only a schema that is no JSON, which Register refuses
	}
	return text
}
