package agent

import (
	"encoding/json"
	"fmt"
	"strings"
)

// claude: the result has the totals. What single messages tell of usage is not final, and
// repeated.
var claude = shape{map[string]event{
	"system":    {},
	"assistant": {words: "message.content", apart: true},
	"result": {words: "result", used: usage{
		in:  "usage.input_tokens usage.cache_creation_input_tokens usage.cache_read_input_tokens",
		out: "usage.output_tokens", cost: "total_cost_usd",
	}},
}, claudeDeeds}

// qwen: each message has the usage of its call, with the cached tokens in input_tokens. The
// result's is never added.
var qwen = shape{map[string]event{
	"system": {},
	"assistant": {
		words: "message.content", apart: true, each: true, call: "message.id",
		used: usage{in: "message.usage.input_tokens", out: "message.usage.output_tokens"},
	},
	"result": {words: "result", used: usage{in: "usage.input_tokens", out: "usage.output_tokens"}},
}, claudeDeeds}

func claudeDeeds(d *doings, kind string, o object) {
	switch kind {
	case "system":
		claudeSystem(d, o)
	case "assistant":
		if o.text("error") != "" { // its words are those of the program, not of a model
			return
		}
		for _, part := range o.list("message.content") {
			switch part.text("type") {
			case "text":
				d.do(Deed{Type: SaidIt, Text: part.text("text")})
			case "tool_use":
				d.begin(part.text("id"), part.text("name"), part.inner("input"))
			}
		}
	case "user":
		for _, part := range o.list("message.content") {
			if part.text("type") == "tool_result" {
				claudeResult(d, part, o.inner("tool_use_result"))
			}
		}
	case "result":
		claudeEnd(d, o)
	}
}

func claudeSystem(d *doings, o object) {
	switch o.text("subtype") {
	case "init":
		d.do(Deed{Type: Started, Text: o.text("model")})
	case "api_retry":
		f := o.fault("", "error", "error_status")
		f.Text = "the model's service did not answer"
		if f.Status != 0 {
			f.Text = fmt.Sprintf("%s (HTTP %d), again and again", f.Code, f.Status)
		}
		d.err(f)
	}
}

func claudeResult(d *doings, part, more object) {
	text := ""
	if at := part.at("content"); len(at) > 0 {
		text = anyText(at[0])
	}
	d.end(part.text("tool_use_id"), func(deed *Deed) {
		deed.Failed = part.yes("is_error")
		switch {
		case deed.Failed && denied(text):
			deed.refuse(text)
		case deed.Tool == RunIt && deed.Failed:
			deed.Exit = exitOf(text)
		case deed.Tool == RunIt:
			deed.Exit = new(int)
		case deed.Failed:
			deed.Text = short(oneLine(toolError.Replace(text)), maxWhy)
		}
		if patches := more.list("structuredPatch"); len(patches) > 0 {
			deed.Plus, deed.Minus = new(int), new(int)
			for _, p := range patches {
				var lines []string
				if at := p.at("lines"); len(at) > 0 && json.Unmarshal(at[0], &lines) == nil {
					plus, minus := patchLines(strings.Join(lines, "\n") + "\n")
					*deed.Plus, *deed.Minus = *deed.Plus+*plus, *deed.Minus+*minus
				}
			}
		}
	})
}

// toolError takes away the marks of what a tool says that failed.
var toolError = strings.NewReplacer("<tool_use_error>", "", "</tool_use_error>", "")

// unused reports that no model wrote anything: words that are there are the program's.
func unused(o object) bool {
	out := o.number("usage.output_tokens")
	return out != nil && *out == 0
}

// claudeEnd: what went wrong is told by is_error, and not by subtype; by qwen in its words only.
func claudeEnd(d *doings, o object) {
	said := o.text("result")
	if !o.yes("is_error") && !(strings.HasPrefix(said, "[API Error: ") && unused(o)) {
		d.fault = Fault{}
		return
	}
	f := o.fault("result error.message", "subtype", "api_error_status")
	if f.Code == "success" {
		f.Code = ""
	}
	d.err(f)
}
