package agent

// copilot: messages may tell what was written for them; nothing tells what was read.
var copilot = shape{map[string]event{
	"assistant.message": {words: "data.content", each: true, used: usage{out: "data.outputTokens"}},
	"result":            {},
}, copilotDeeds}

func copilotDeeds(d *doings, kind string, o object) {
	switch kind {
	case "session.start":
		d.do(Deed{Type: Started, Text: o.text("data.model")})
	case "assistant.message":
		if text := o.text("data.content"); text != "" {
			d.do(Deed{Type: SaidIt, Text: text})
		}
	case "tool.execution_start":
		d.begin(o.text("data.toolCallId"), o.text("data.toolName"), o.inner("data.arguments"))
	case "tool.execution_complete":
		d.end(o.text("data.toolCallId"), func(deed *Deed) { copilotEnd(deed, o) })
	case "model.call_failure":
		d.err(o.fault("data.errorMessage", "data.failureKind", "data.statusCode"))
	case "model.call_final_result":
		if o.text("data.result") == "success" {
			d.fault = Fault{}
		}
	case "session.error":
		d.err(o.fault("data.message", "data.errorType", ""))
	}
}

func copilotEnd(deed *Deed, o object) {
	deed.Failed = !o.yes("data.success")
	if o.text("data.error.code") == "denied" {
		deed.refuse(o.text("data.error.message"))
	}
	deed.Exit = o.number("data.shellExecution.exitCode")
	if plus, minus := patchLines(o.text("data.result.detailedContent")); deed.Tool == Edit && plus != nil {
		deed.Plus, deed.Minus = plus, minus
	}
}
