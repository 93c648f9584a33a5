package agent

import "github.com/piton-dev/piton/internal/engine"

// shapeOf returns how to read one object that an agent printed; nil if the
// preset is not known. A shape reports whether the object told something, or
// was at least one of those it knows to tell something.
//
// Tokens in are all that a model read, those from a cache and those written to
// one included: agents that count these apart have them added. Tokens out are
// all that it wrote, with its reasoning where the agent tells it.
func shapeOf(p Preset) func(*said, []byte) bool {
	switch p {
	case Codex:
		return codexEvent
	case Claude:
		return claudeEvent
	case Gemini:
		return geminiEvent
	case OpenCode:
		return opencodeEvent
	case Copilot:
		return copilotEvent
	case Qwen:
		return qwenEvent
	case Pi:
		return piEvent
	case Cline:
		return clineEvent
	}
	return nil
}

// codexEvent: usage is of the whole thread so far, with the cached tokens in
// input_tokens and the reasoning in output_tokens. A thread that was taken up
// again counts its earlier turns too.
func codexEvent(s *said, line []byte) bool {
	e, ok := decode[struct {
		Type   string `json:"type"`
		Thread string `json:"thread_id"`
		Item   struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"item"`
		Usage struct {
			In  number `json:"input_tokens"`
			Out number `json:"output_tokens"`
		} `json:"usage"`
	}](line)
	if !ok {
		return false
	}
	switch e.Type {
	case "thread.started":
		s.setSession(e.Thread)
	case "item.completed":
		if e.Item.Type == "agent_message" {
			s.say(e.Item.Text)
		}
	case "turn.completed":
		s.total(engine.Usage{In: e.Usage.In.tokens(), Out: e.Usage.Out.tokens()})
	default:
		return false
	}
	return true
}

// claudeLine is a line of claude, and of qwen, which prints the like.
type claudeLine struct {
	Type    string      `json:"type"`
	Session string      `json:"session_id"`
	Result  string      `json:"result"`
	Cost    number      `json:"total_cost_usd"`
	Usage   claudeUsage `json:"usage"`
	Message struct {
		ID      string      `json:"id"`
		Content []part      `json:"content"`
		Usage   claudeUsage `json:"usage"`
	} `json:"message"`
}

type claudeUsage struct {
	In         number `json:"input_tokens"`
	CacheWrite number `json:"cache_creation_input_tokens"`
	CacheRead  number `json:"cache_read_input_tokens"`
	Out        number `json:"output_tokens"`
}

// part is a piece of a message.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// sayParts takes the text among parts as one message.
func (s *said) sayParts(parts []part) {
	s.apart = true
	for _, p := range parts {
		if p.Type == "text" {
			s.more(p.Text)
		}
	}
	s.apart = true
}

// claudeEvent: the result has the totals. What single messages tell of usage is
// not final, and repeated.
func claudeEvent(s *said, line []byte) bool {
	e, ok := decode[claudeLine](line)
	if !ok {
		return false
	}
	switch e.Type {
	case "system":
	case "assistant":
		s.sayParts(e.Message.Content)
	case "result":
		s.say(e.Result)
		u := e.Usage
		s.total(engine.Usage{
			In:  added(u.In.tokens(), u.CacheWrite.tokens(), u.CacheRead.tokens()),
			Out: u.Out.tokens(), CostMicros: e.Cost.micros(),
		})
	default:
		return false
	}
	s.setSession(e.Session)
	return true
}

// qwenEvent: each message has the usage of its call, with the cached tokens in
// input_tokens. The result's is taken where it is more, and never added.
func qwenEvent(s *said, line []byte) bool {
	e, ok := decode[claudeLine](line)
	if !ok {
		return false
	}
	switch e.Type {
	case "system":
	case "assistant":
		s.sayParts(e.Message.Content)
		s.add(e.Message.ID, engine.Usage{In: e.Message.Usage.In.tokens(), Out: e.Message.Usage.Out.tokens()})
	case "result":
		s.say(e.Result)
		s.total(engine.Usage{In: larger(s.usage.In, e.Usage.In.tokens()), Out: larger(s.usage.Out, e.Usage.Out.tokens())})
	default:
		return false
	}
	s.setSession(e.Session)
	return true
}

func larger(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// geminiStats are the totals of a run: by line in a stream, by model in a
// single object. Both count cached tokens as input.
type geminiStats struct {
	In     number `json:"input_tokens"`
	Out    number `json:"output_tokens"`
	Models map[string]struct {
		Tokens struct {
			Prompt     number `json:"prompt"`
			Candidates number `json:"candidates"`
			Thoughts   number `json:"thoughts"`
		} `json:"tokens"`
	} `json:"models"`
}

func (g geminiStats) usage() engine.Usage {
	u := engine.Usage{In: g.In.tokens(), Out: g.Out.tokens()}
	if u != (engine.Usage{}) {
		return u
	}
	for _, m := range g.Models {
		u.In = added(u.In, m.Tokens.Prompt.tokens())
		u.Out = added(u.Out, m.Tokens.Candidates.tokens(), m.Tokens.Thoughts.tokens())
	}
	return u
}

func geminiEvent(s *said, line []byte) bool {
	e, ok := decode[struct {
		Type     string       `json:"type"`
		Session  string       `json:"session_id"`
		Role     string       `json:"role"`
		Content  string       `json:"content"`
		Delta    bool         `json:"delta"`
		Response *string      `json:"response"`
		Stats    *geminiStats `json:"stats"`
	}](line)
	if !ok {
		return false
	}
	switch {
	case e.Type == "init", e.Type == "result":
	case e.Type == "message" && e.Role == "assistant" && e.Delta:
		s.more(e.Content)
	case e.Type == "message" && e.Role == "assistant":
		s.say(e.Content)
	case e.Type == "message", e.Type == "tool_use", e.Type == "tool_result":
		s.apart = true
	case e.Type == "" && e.Response != nil:
		s.say(*e.Response)
	case e.Type == "" && e.Stats != nil: // a run that failed
	default:
		return false
	}
	s.setSession(e.Session)
	if e.Stats != nil {
		s.total(e.Stats.usage())
	}
	return true
}

// opencodeEvent: each step is one call; input, cache, output and reasoning are
// apart from each other.
func opencodeEvent(s *said, line []byte) bool {
	e, ok := decode[struct {
		Type    string `json:"type"`
		Session string `json:"sessionID"`
		Part    struct {
			Text   string `json:"text"`
			Cost   number `json:"cost"`
			Tokens struct {
				In        number `json:"input"`
				Out       number `json:"output"`
				Reasoning number `json:"reasoning"`
				Cache     struct {
					Read  number `json:"read"`
					Write number `json:"write"`
				} `json:"cache"`
			} `json:"tokens"`
		} `json:"part"`
	}](line)
	if !ok {
		return false
	}
	switch e.Type {
	case "step_start":
		s.apart = true
	case "text":
		s.more(e.Part.Text)
	case "step_finish":
		t := e.Part.Tokens
		s.add("", engine.Usage{
			In:         added(t.In.tokens(), t.Cache.Read.tokens(), t.Cache.Write.tokens()),
			Out:        added(t.Out.tokens(), t.Reasoning.tokens()),
			CostMicros: e.Part.Cost.micros(),
		})
	case "tool_use", "error":
	default:
		return false
	}
	s.setSession(e.Session)
	return true
}

// copilotEvent: messages may tell what was written for them; nothing tells what
// was read.
func copilotEvent(s *said, line []byte) bool {
	e, ok := decode[struct {
		Type    string `json:"type"`
		Session string `json:"sessionId"`
		Data    struct {
			Content string `json:"content"`
			Out     number `json:"outputTokens"`
		} `json:"data"`
	}](line)
	if !ok {
		return false
	}
	switch e.Type {
	case "assistant.message":
		s.say(e.Data.Content)
		s.add("", engine.Usage{Out: e.Data.Out.tokens()})
	case "result":
		s.setSession(e.Session)
	default:
		return false
	}
	return true
}

// piEvent: each message of the assistant is one call, and is told once more at
// the end of its turn and of the run. Input and cache are apart.
func piEvent(s *said, line []byte) bool {
	e, ok := decode[struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Message struct {
			Role    string `json:"role"`
			Content []part `json:"content"`
			Usage   struct {
				In         number `json:"input"`
				Out        number `json:"output"`
				CacheRead  number `json:"cacheRead"`
				CacheWrite number `json:"cacheWrite"`
				Cost       struct {
					Total number `json:"total"`
				} `json:"cost"`
			} `json:"usage"`
		} `json:"message"`
	}](line)
	if !ok {
		return false
	}
	switch e.Type {
	case "session":
		s.setSession(e.ID)
	case "message_end":
		if e.Message.Role != "assistant" {
			break
		}
		s.sayParts(e.Message.Content)
		u := e.Message.Usage
		s.add("", engine.Usage{
			In:  added(u.In.tokens(), u.CacheRead.tokens(), u.CacheWrite.tokens()),
			Out: u.Out.tokens(), CostMicros: u.Cost.Total.micros(),
		})
	default:
		return false
	}
	return true
}

// clineEvent: the last line has the totals.
func clineEvent(s *said, line []byte) bool {
	e, ok := decode[struct {
		Type  string `json:"type"`
		Task  string `json:"taskId"`
		Text  string `json:"text"`
		Usage struct {
			In   number `json:"inputTokens"`
			Out  number `json:"outputTokens"`
			Cost number `json:"totalCost"`
		} `json:"usage"`
	}](line)
	if !ok {
		return false
	}
	s.setSession(e.Task)
	if e.Type != "run_result" {
		return e.Type == "agent_event"
	}
	s.say(e.Text)
	s.total(engine.Usage{In: e.Usage.In.tokens(), Out: e.Usage.Out.tokens(), CostMicros: e.Usage.Cost.micros()})
	return true
}
