package agent

// pi: each message of the assistant is one call, and is told once more at the end of its turn
// and of the run. Input and cache are apart.
var pi = shape{map[string]event{
	"session": {},
	"message_end": {where: [2]string{"message.role", "assistant"}, words: "message.content", apart: true, each: true, used: usage{
		in:  "message.usage.input message.usage.cacheRead message.usage.cacheWrite",
		out: "message.usage.output", cost: "message.usage.cost.total",
	}},
}, piDeeds}

// piDeeds: an error is a message of the assistant whose stopReason says so. The program ends
// with 0 all the same.
func piDeeds(d *doings, kind string, o object) {
	switch kind {
	case "session":
		d.do(Deed{Type: Started})
	case "message_end":
		if o.text("message.role") != "assistant" {
			return
		}
		for _, part := range o.list("message.content") {
			if part.text("type") == "text" {
				d.do(Deed{Type: SaidIt, Text: part.text("text")})
			}
		}
		if o.text("message.stopReason") == "error" {
			d.err(Fault{Text: o.text("message.errorMessage")})
			return
		}
		d.fault = Fault{}
	case "tool_execution_start":
		d.begin(o.text("toolCallId"), o.text("toolName"), o.inner("args"))
	case "tool_execution_end":
		d.end(o.text("toolCallId"), func(deed *Deed) {
			deed.Failed = o.yes("isError")
			text := ""
			if at := o.at("result.content"); len(at) > 0 {
				text = anyText(at[0])
			}
			if deed.Tool == RunIt {
				deed.Exit = new(int)
				if deed.Failed {
					deed.Exit = exitOf(text)
				}
			}
			if plus, minus := patchLines(o.text("result.details.diff")); plus != nil {
				deed.Plus, deed.Minus = plus, minus
			}
		})
	}
}
