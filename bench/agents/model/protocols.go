//go:build gate

package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// What each answer is said to have used, in tokens.
const (
	in     = 111
	cached = 11 // of these, or besides: as the protocol counts them
	out    = 22
)

// protocol is one form of talks.
type protocol struct {
	read   func(*http.Request, object) talk
	refuse func(refusal) (int, any)
	write  func(*reply, answer)
}

// speaks is the protocol of an address, nil for none.
func speaks(path string) *protocol {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return &protocol{readChat, refuseOpenAI, writeChat}
	case strings.HasSuffix(path, "/responses"):
		return &protocol{readResponses, refuseOpenAI, writeResponses}
	case strings.HasSuffix(path, "/messages"):
		return &protocol{readMessages, refuseAnthropic, writeMessages}
	case strings.HasSuffix(path, "enerateContent"):
		return &protocol{readGemini, refuseGemini, writeGemini}
	}
	return nil
}

// reply is an answer under way.
type reply struct {
	w      http.ResponseWriter
	id     func(prefix string) string
	model  string
	stream bool
}

func (r *reply) whole(body any) { respond(r.w, http.StatusOK, body) }

// event sends one event of a stream; a name is for protocols that name them.
func (r *reply) event(name string, body any) {
	h := r.w.Header()
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "text/event-stream")
	}
	if name != "" {
		fmt.Fprintf(r.w, "event: %s\n", name)
	}
	text, _ := json.Marshal(body) // maps of texts and numbers
	fmt.Fprintf(r.w, "data: %s\n\n", text)
	_ = http.NewResponseController(r.w).Flush()
}

// text sends a text in pieces. Of one that is cut only the first, and then the
// connection breaks.
func (r *reply) text(a answer, send func(piece string)) {
	for piece := range slices.Chunk([]rune(a.text), 8) {
		send(string(piece))
		if a.cut {
			panic(http.ErrAbortHandler)
		}
	}
}

func (c *call) arguments() string {
	text, _ := json.Marshal(c.args)
	return string(text)
}

func list(v any) []any { l, _ := v.([]any); return l }

func objectOf(v any) object { o, _ := v.(object); return o }

func textOf(v any) string { s, _ := v.(string); return s }

// flat is all text of a value, however it is wrapped.
func flat(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var all []string
		for _, part := range v {
			all = append(all, flat(part))
		}
		return strings.Join(all, "\n")
	case object:
		for _, key := range []string{"text", "content", "output", "parts", "response"} {
			if part, has := v[key]; has {
				return flat(part)
			}
		}
	}
	return ""
}

func schema(name, params any) tool {
	return tool{name: textOf(name), params: objectOf(objectOf(params)["properties"])}
}

// Chat completions.

func readChat(_ *http.Request, q object) talk {
	t := talk{model: textOf(q["model"]), stream: q["stream"] == true}
	for _, m := range list(q["messages"]) {
		m := objectOf(m)
		t.said = append(t.said, line{text: flat(m["content"]), user: m["role"] == "user", tool: m["role"] == "tool"})
	}
	for _, f := range list(q["tools"]) {
		f := objectOf(objectOf(f)["function"])
		t.tools = append(t.tools, schema(f["name"], f["parameters"]))
	}
	return t
}

func refuseOpenAI(r refusal) (int, any) {
	message, code := "the server had an error while it worked on your request", "server_error"
	switch r.kind {
	case noKey:
		message, code = "Incorrect API key provided.", "invalid_api_key"
	case noModel:
		message, code = "The model `"+r.about+"` does not exist or you do not have access to it.", "model_not_found"
	}
	return r.status, object{"error": object{"message": message, "type": "invalid_request_error", "code": code, "param": nil}}
}

func writeChat(r *reply, a answer) {
	id := r.id("chatcmpl")
	message, reason := object{"role": "assistant", "content": a.text}, "stop"
	if a.call != nil {
		reason = "tool_calls"
		message["tool_calls"] = []object{{"index": 0, "id": r.id("call"), "type": "function", "function": object{"name": a.call.name, "arguments": a.call.arguments()}}}
	}
	used := object{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out, "prompt_tokens_details": object{"cached_tokens": cached}}
	frame := func(kind, key string, part object, reason any) object {
		return object{"id": id, "object": kind, "created": 1, "model": r.model, "choices": []object{{"index": 0, key: part, "finish_reason": reason}}}
	}
	if !r.stream {
		body := frame("chat.completion", "message", message, reason)
		body["usage"] = used
		r.whole(body)
		return
	}
	piece := func(part object, reason any) { r.event("", frame("chat.completion.chunk", "delta", part, reason)) }
	piece(object{"role": "assistant", "content": ""}, nil)
	r.text(a, func(text string) { piece(object{"content": text}, nil) })
	if a.call != nil {
		piece(object{"tool_calls": message["tool_calls"]}, nil)
	}
	piece(object{}, reason)
	last := frame("chat.completion.chunk", "delta", nil, nil)
	last["choices"], last["usage"] = []object{}, used
	r.event("", last)
	fmt.Fprint(r.w, "data: [DONE]\n\n")
}

// Responses.

func readResponses(_ *http.Request, q object) talk {
	t := talk{model: textOf(q["model"]), stream: true}
	if text := textOf(q["input"]); text != "" {
		t.said = append(t.said, line{text: text, user: true})
	}
	for _, m := range list(q["input"]) {
		m := objectOf(m)
		result := strings.HasSuffix(textOf(m["type"]), "call_output")
		t.said = append(t.said, line{text: flat(m), user: m["role"] == "user", tool: result})
	}
	t.tools = responseTools(list(q["tools"]))
	return t
}

func responseTools(all []any) (tools []tool) {
	for _, f := range all {
		f := objectOf(f)
		if f["type"] == "namespace" {
			for _, t := range responseTools(list(f["tools"])) {
				t.group = textOf(f["name"])
				tools = append(tools, t)
			}
			continue
		}
		tools = append(tools, schema(f["name"], f["parameters"]))
	}
	return tools
}

func writeResponses(r *reply, a answer) {
	n := 0
	event := func(kind string, body object) {
		body["type"], body["sequence_number"] = kind, n
		n++
		r.event(kind, body)
	}
	response := object{"id": r.id("resp"), "object": "response", "created_at": 1, "model": r.model, "status": "in_progress", "output": []object{}}
	event("response.created", object{"response": response})
	var item object
	if a.call != nil {
		item = object{"type": "function_call", "id": r.id("fc"), "call_id": r.id("call"), "name": a.call.name, "arguments": a.call.arguments(), "status": "completed"}
		if a.call.group != "" {
			item["namespace"] = a.call.group
		}
		event("response.output_item.added", object{"output_index": 0, "item": item})
	} else {
		id := r.id("msg")
		event("response.output_item.added", object{"output_index": 0, "item": object{"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []object{}}})
		r.text(a, func(text string) {
			event("response.output_text.delta", object{"output_index": 0, "content_index": 0, "item_id": id, "delta": text})
		})
		item = object{"type": "message", "id": id, "role": "assistant", "status": "completed", "content": []object{{"type": "output_text", "text": a.text, "annotations": []object{}}}}
	}
	event("response.output_item.done", object{"output_index": 0, "item": item})
	response["status"], response["output"] = "completed", []object{item}
	response["usage"] = object{"input_tokens": in, "input_tokens_details": object{"cached_tokens": cached}, "output_tokens": out, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": in + out}
	event("response.completed", object{"response": response})
}

// Anthropic's messages.

func readMessages(_ *http.Request, q object) talk {
	t := talk{model: textOf(q["model"]), stream: q["stream"] == true}
	for _, m := range list(q["messages"]) {
		m := objectOf(m)
		user := m["role"] == "user"
		if text := textOf(m["content"]); text != "" {
			t.said = append(t.said, line{text: text, user: user})
		}
		for _, part := range list(m["content"]) {
			p := objectOf(part)
			t.said = append(t.said, line{text: flat(p), user: user && p["type"] == "text", tool: p["type"] == "tool_result"})
		}
	}
	for _, f := range list(q["tools"]) {
		f := objectOf(f)
		t.tools = append(t.tools, schema(f["name"], f["input_schema"]))
	}
	return t
}

func refuseAnthropic(r refusal) (int, any) {
	kind, message := "api_error", "Internal server error"
	switch r.kind {
	case noKey:
		kind, message = "authentication_error", "invalid x-api-key"
	case noModel:
		kind, message = "not_found_error", "model: "+r.about
	}
	return r.status, object{"type": "error", "error": object{"type": kind, "message": message}}
}

func writeMessages(r *reply, a answer) {
	part, delta, reason := object{"type": "text", "text": a.text}, object{}, "end_turn"
	if a.call != nil {
		part, reason = object{"type": "tool_use", "id": r.id("toolu"), "name": a.call.name, "input": a.call.args}, "tool_use"
		delta = object{"type": "input_json_delta", "partial_json": a.call.arguments()}
	}
	used := object{"input_tokens": in, "output_tokens": out, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0}
	message := object{"id": r.id("msg"), "type": "message", "role": "assistant", "model": r.model, "content": []object{part}, "stop_reason": reason, "stop_sequence": nil, "usage": used}
	if !r.stream {
		r.whole(message)
		return
	}
	event := func(kind string, body object) {
		body["type"] = kind
		r.event(kind, body)
	}
	message["content"], message["stop_reason"] = []object{}, nil
	event("message_start", object{"message": message})
	if a.call != nil {
		part["input"] = object{}
	} else {
		part = object{"type": "text", "text": ""}
	}
	event("content_block_start", object{"index": 0, "content_block": part})
	if a.call != nil {
		event("content_block_delta", object{"index": 0, "delta": delta})
	}
	r.text(a, func(text string) {
		event("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": text}})
	})
	event("content_block_stop", object{"index": 0})
	event("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": out}})
	event("message_stop", object{})
}

// Gemini's generateContent.

func readGemini(r *http.Request, q object) talk {
	name, method, _ := strings.Cut(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], ":")
	t := talk{model: name, stream: strings.HasPrefix(method, "stream")}
	for _, c := range list(q["contents"]) {
		c := objectOf(c)
		for _, part := range list(c["parts"]) {
			p := objectOf(part)
			result, isResult := p["functionResponse"]
			t.said = append(t.said, line{text: textOf(p["text"]) + flat(result), user: c["role"] == "user", tool: isResult})
		}
	}
	for _, group := range list(q["tools"]) {
		for _, f := range list(objectOf(group)["functionDeclarations"]) {
			f := objectOf(f)
			params, has := f["parametersJsonSchema"]
			if !has {
				params = f["parameters"]
			}
			t.tools = append(t.tools, schema(f["name"], params))
		}
	}
	return t
}

// refuseGemini says a wrong key as Google does: with 400.
func refuseGemini(r refusal) (int, any) {
	status, message := "INTERNAL", "An internal error has occurred."
	switch r.kind {
	case noKey:
		return http.StatusBadRequest, object{"error": object{
			"code": http.StatusBadRequest, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT",
			"details": []object{{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}},
		}}
	case noModel:
		status, message = "NOT_FOUND", "models/"+r.about+" is not found for API version v1beta, or is not supported for generateContent."
	}
	return r.status, object{"error": object{"code": r.status, "message": message, "status": status}}
}

func writeGemini(r *reply, a answer) {
	frame := func(part object, reason string) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": []object{part}}}
		body := object{"candidates": []object{candidate}, "modelVersion": r.model, "responseId": r.id("r")}
		if reason != "" {
			candidate["finishReason"] = reason
			body["usageMetadata"] = object{"promptTokenCount": in, "candidatesTokenCount": out, "totalTokenCount": in + out, "cachedContentTokenCount": cached}
		}
		return body
	}
	switch {
	case !r.stream:
		r.whole(frame(object{"text": a.text}, "STOP"))
	case a.call != nil:
		r.event("", frame(object{"functionCall": object{"name": a.call.name, "args": a.call.args}}, "STOP"))
	default:
		r.text(a, func(text string) { r.event("", frame(object{"text": text}, "")) })
		r.event("", frame(object{"text": ""}, "STOP"))
	}
}
