package agent

// openCode: each step is one call; input, cache, output and reasoning are apart.
var openCode = shape{map[string]event{
	"step_start": {apart: true},
	"text":       {words: "part.text", piece: "type"},
	"step_finish": {each: true, used: usage{
		in:  "part.tokens.input part.tokens.cache.read part.tokens.cache.write",
		out: "part.tokens.output part.tokens.reasoning", cost: "part.cost",
	}},
	"tool_use": {},
	"error":    {},
}, openCodeDeeds}

func openCodeDeeds(d *doings, kind string, o object) {
	switch kind {
	case "text":
		d.do(Deed{Type: SaidIt, Text: o.text("part.text")})
	case "tool_use":
		d.whole(o.text("part.callID"), o.text("part.tool"), o.inner("part.state.input"), func(deed *Deed) { openCodeEnd(deed, o) })
	case "error":
		d.err(o.fault("error.data.message error.message", "error.name", "error.data.statusCode"))
	}
}

func openCodeEnd(deed *Deed, o object) {
	deed.Failed = o.text("part.state.status") == "error"
	if why := o.text("part.state.error"); deed.Failed && denied(why) {
		deed.refuse(why)
	}
	deed.Exit = o.number("part.state.metadata.exit")
	if plus := o.number("part.state.metadata.filediff.additions"); plus != nil {
		deed.Plus, deed.Minus = plus, o.number("part.state.metadata.filediff.deletions")
	}
}
