package agent

// gemini: the totals are by line in a stream, by model in a single object. Both count cached
// tokens as input.
var gemini = shape{map[string]event{
	"init":        {used: geminiStream, other: geminiModels},
	"result":      {used: geminiStream, other: geminiModels},
	"message":     {where: [2]string{"role", "assistant"}, orElse: true, words: "content", piece: "delta"},
	"tool_use":    {apart: true},
	"tool_result": {apart: true},
	"":            {any: []string{"response", "stats"}, words: "response", used: geminiStream, other: geminiModels},
}, geminiDeeds}

var (
	geminiStream = usage{in: "stats.input_tokens", out: "stats.output_tokens"}
	geminiModels = usage{in: "stats.models.*.tokens.prompt", out: "stats.models.*.tokens.candidates stats.models.*.tokens.thoughts"}
)

func geminiDeeds(d *doings, kind string, o object) {
	switch kind {
	case "init":
		d.do(Deed{Type: Started, Text: o.text("model")})
	case "message":
		if o.text("role") == "assistant" {
			d.do(Deed{Type: SaidIt, Text: o.text("content"), Piece: o.yes("delta")})
		}
	case "tool_use":
		d.begin(o.text("tool_id"), o.text("tool_name"), o.inner("parameters"))
	case "tool_result":
		d.end(o.text("tool_id"), func(deed *Deed) {
			deed.Failed = o.text("status") == "error"
			why := message(o.text("error.message"))
			switch o.text("error.type") {
			case "policy_violation", "permission_denied":
				deed.refuse(why)
			}
			deed.Exit = exitOf(o.text("output")) // of a command that ends well or not it says "success"
		})
	case "error":
		d.err(o.fault("message", "severity", ""))
	case "result":
		if o.text("status") == "error" {
			d.err(o.fault("error.message", "error.type", ""))
			return
		}
		d.fault = Fault{}
	case "":
		if o.has([]string{"error"}) {
			d.err(o.fault("error.message", "error.type", "error.code"))
		}
	}
}
