package agent

// cline: the last line has the totals.
var cline = shape{map[string]event{
	"agent_event": {},
	"run_result":  {words: "text", used: usage{in: "usage.inputTokens", out: "usage.outputTokens", cost: "usage.totalCost"}},
}, clineDeeds}

func clineDeeds(d *doings, kind string, o object) {
	if kind == "run_result" {
		clineOver(d, o)
		return
	}
	if kind != "agent_event" {
		return
	}
	e := o.inner("event")
	tool := e.text("contentType") == "tool"
	switch e.text("type") {
	case "content_start":
		if tool {
			d.begin(e.text("toolCallId"), e.text("toolName"), e.inner("input"))
		}
	case "content_end":
		if !tool {
			d.do(Deed{Type: SaidIt, Text: e.text("text")})
			return
		}
		d.end(e.text("toolCallId"), func(deed *Deed) { clineEnd(deed, e) })
	case "error":
		d.err(e.fault("error.message", "errorClass", ""))
	}
}

// clineEnd: the output of a call is one answer, or a list of them.
func clineEnd(deed *Deed, e object) {
	answers := e.list("output")
	if one := e.inner("output"); len(one) > 0 {
		answers = []object{one}
	}
	why := e.text("error")
	for _, a := range answers {
		deed.Failed = deed.Failed || a.has([]string{"success"}) && !a.yes("success")
		if why == "" {
			why = a.text("error")
		}
	}
	deed.Failed = deed.Failed || why != ""
	switch {
	case deed.Failed && denied(why):
		deed.refuse(why)
	case deed.Tool == RunIt && deed.Failed:
		deed.Exit = exitOf(why)
	case deed.Tool == RunIt:
		deed.Exit = new(int)
	}
}

func clineOver(d *doings, o object) {
	if o.text("finishReason") == "error" {
		d.err(Fault{Text: o.text("text")})
		return
	}
	d.fault = Fault{}
}
