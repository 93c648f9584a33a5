//go:build gate

// Package model is a language model on the loopback that does what its prompt says, so
// that agent programs that others wrote can be tried without a network.
//
// It speaks four protocols: chat completions, responses, Anthropic's messages and Gemini's
// generateContent. It keeps nothing between two requests: the script is a line of the
// prompt, and the place in it is the number of tool results that came after. So agents may
// work beside each other, ask again, and take a conversation up again.
//
//	SCRIPT [{"write": "a.txt", "content": "hi"}, {"run": "sh test.sh"}, {"say": "Done."}]
//
// It must never answer to a key that is not its own.
package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
)

// Models, by name.
const (
	Scripted = "scripted"      // does what the prompt says, as any other name does
	Missing  = "no-such-model" // does not exist
	Broken   = "broken-model"  // fails with 500
	Cut      = "cut-model"     // breaks the connection in the middle of each answer
)

// Server is a model that listens.
type Server struct {
	URL string
	key string
	srv *http.Server
	ids atomic.Int64
}

// Start listens on a port of the loopback, and answers those who have the key.
func Start(key string) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + l.Addr().String(), key: key}
	s.srv = &http.Server{Handler: s}
	go func() { _ = s.srv.Serve(l) }()
	return s, nil
}

// Close ends all connections.
func (s *Server) Close() { _ = s.srv.Close() }

// step is what the model does once. In its texts {path} is the first absolute path in what
// the tool before it said.
type step struct {
	Write   string `json:"write"` // a file
	Content string `json:"content"`
	Run     string `json:"run"`  // a command
	Note    string `json:"note"` // a text for the tool of that name, of a server called piton
	Say     string `json:"say"`
}

// talk is a request, in whichever protocol.
type talk struct {
	model  string
	stream bool
	said   []line
	tools  []tool
}

// line is what one side said, or what came of a tool.
type line struct {
	text       string
	user, tool bool
}

type tool struct {
	name   string
	group  string // that it is called in, where a protocol has groups
	params object
}

// answer is what the model says to a talk.
type answer struct {
	text string
	call *call
	cut  bool
}

type call struct {
	tool
	args object
}

// refusal is an answer that is none.
type refusal struct {
	status int
	kind   reason
	about  string
}

// reason is why, in the words of the protocols.
type reason int

const (
	noKey reason = iota
	noModel
	broken
)

type object = map[string]any

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	p := speaks(r.URL.Path)
	if p == nil {
		s.aside(w, r)
		return
	}
	var q object
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, "this is no JSON: "+err.Error(), http.StatusBadRequest)
		return
	}
	t := p.read(r, q)
	a, no := s.answer(t, keyOf(r))
	if no != nil {
		status, body := p.refuse(*no)
		respond(w, status, body)
		return
	}
	if a.cut && !t.stream { // as some ask again when a stream was cut
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "{") // nobody reads it
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	p.write(&reply{w: w, id: s.id, model: t.model, stream: t.stream}, a)
}

// aside answers what is asked besides.
func (s *Server) aside(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		respond(w, http.StatusOK, object{"input_tokens": in})
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		respond(w, http.StatusOK, object{"totalTokens": in})
	case strings.HasSuffix(r.URL.Path, "/models"):
		respond(w, http.StatusOK, object{"object": "list", "data": []object{{"id": "scripted", "object": "model", "owned_by": "nobody"}}})
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) id(prefix string) string { return fmt.Sprintf("%s_%d", prefix, s.ids.Add(1)) }

// keyOf is the key of a request, wherever its protocol has it.
func keyOf(r *http.Request) string {
	for _, key := range []string{strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Header.Get("X-Api-Key"), r.Header.Get("X-Goog-Api-Key"), r.URL.Query().Get("key")} {
		if key != "" {
			return key
		}
	}
	return ""
}

// answer plays the next step of the script. Programs ask for titles and summaries besides,
// and then offer no tools.
func (s *Server) answer(t talk, key string) (answer, *refusal) {
	switch {
	case key != s.key:
		return answer{}, &refusal{http.StatusUnauthorized, noKey, ""}
	case t.model == Missing:
		return answer{}, &refusal{http.StatusNotFound, noModel, t.model}
	case t.model == Broken:
		return answer{}, &refusal{http.StatusInternalServerError, broken, ""}
	case t.model == Cut:
		return answer{text: "this answer has no end", cut: true}, nil
	}
	next, path := place(t.said)
	if next == nil || len(t.tools) == 0 {
		return answer{text: "ready"}, nil
	}
	for _, text := range []*string{&next.Write, &next.Content, &next.Run, &next.Say} {
		*text = strings.ReplaceAll(*text, "{path}", path)
	}
	a := answer{text: next.Say, call: next.call(t.tools)}
	if a.text == "" && a.call == nil {
		a.text = "the script is at its end"
	}
	return a, nil
}

// place finds the script and where in it the talk is: nil where there is none.
func place(said []line) (next *step, path string) {
	var script []step
	at := 0
	for _, l := range said {
		if l.tool {
			at++
			path = absolute.FindString(l.text)
		}
		if _, text, found := strings.Cut(l.text, "SCRIPT ["); l.user && found {
			var steps []step
			if json.NewDecoder(strings.NewReader("["+text)).Decode(&steps) == nil {
				script, at = steps, 0
			}
		}
	}
	switch {
	case script == nil:
		return nil, ""
	case at >= len(script):
		return &step{}, path
	}
	return &script[at], path
}

var absolute = regexp.MustCompile(`/[\w./-]+`)

// call is the call of a tool that does a step, by the names that programs give to tools.
func (s *step) call(tools []tool) *call {
	if s.Write != "" {
		for _, t := range tools {
			file, text := t.param("filePath", "file_path", "path"), t.param("content", "file_text")
			if t.is("write", "write_file", "create", "create_file") && file != "" && text != "" {
				return &call{t, object{file: s.Write, text: s.Content}}
			}
		}
		s.Run = fmt.Sprintf("cat >'%s' <<'END'\n%s\nEND", s.Write, s.Content)
	}
	if s.Note != "" {
		for _, t := range tools {
			if name := t.group + t.name; strings.Contains(name, "piton") && strings.HasSuffix(name, "note") {
				return &call{t, object{"text": s.Note}}
			}
		}
	}
	if s.Run == "" {
		return nil
	}
	for _, t := range tools {
		command := t.param("cmd", "command")
		if !t.is("bash", "shell", "exec_command", "shell_command", "run_shell_command", "local_shell") || command == "" {
			continue
		}
		args := object{command: s.Run}
		if kind, _ := t.params[command].(object); kind["type"] == "array" {
			args[command] = []string{"bash", "-lc", s.Run}
		}
		if t.param("description") != "" {
			args["description"] = "a step of the script"
		}
		return &call{t, args}
	}
	return nil
}

func (t tool) is(names ...string) bool {
	for _, name := range names {
		if strings.EqualFold(t.name, name) {
			return true
		}
	}
	return false
}

// param is the first of the names that the tool has.
func (t tool) param(names ...string) string {
	for _, name := range names {
		if _, has := t.params[name]; has {
			return name
		}
	}
	return ""
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
