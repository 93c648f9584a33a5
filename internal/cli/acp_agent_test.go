//go:build unix

package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// acpMain is an agent that speaks the Agent Client Protocol and does what a file outside of
// the workspace says, found as that of the agent of scripts: a line for each thing.
//
//	login              it says that nobody is logged in
//	version N          it speaks version N
//	modes A B          it has these modes, and says in mode.STEP which was set
//	nonsense           it prints what is no JSON, and nothing else
//	ask KIND WHAT      it asks whether it may; WHAT is a command of execute, else a path
//	storm N            it asks for N things at once, and waits for no answer
//	do COMMAND         unless it was refused what it asked for last
//	always COMMAND     whatever it was told
//	say TEXT           TEXT is a part of its message
//	usage IN OUT       its turn used so many tokens
//	tool NAME TEXT     it calls a tool of the servers that its session began with, and keeps
//	                   in tools.STEP what that answers
//	unknown            it sends a kind of update that nobody knows
//	flood N            it sends N updates
//	stubborn           it heeds neither a cancel nor the end of its input nor a signal
//	die N              it exits
func acpMain() int {
	a := &acpAgent{answers: map[string]chan bool{}}
	a.look()
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if a.has("stubborn") {
				select {}
			}
			a.stop()
			return 0
		}
		a.hear(line)
	}
}

type acpAgent struct {
	lines []string
	work  string

	mu      sync.Mutex
	answers map[string]chan bool
	asked   int
	child   *exec.Cmd
	stopped bool
	servers []acpServer
}

// acpServer is a server of the Model Context Protocol, as a session names it.
type acpServer struct {
	Name, Command string
	Args          []string
	Env           []struct{ Name, Value string }
}

// look finds what is to be done.
func (a *acpAgent) look() {
	a.work = filepath.Dir(os.Getenv("PITON_WORKSPACE"))
	if _, err := os.Stat(filepath.Join(a.work, "agents")); err != nil {
		a.work = filepath.Dir(os.Getenv("HOME"))
	}
	step := os.Getenv("PITON_STEP")
	pattern, _, _ := strings.Cut(step, ".")
	for _, name := range []string{step + "." + os.Getenv("PITON_ATTEMPT"), step, pattern} {
		if body, err := os.ReadFile(filepath.Join(a.work, "agents", name)); err == nil {
			a.lines = strings.Split(strings.TrimSpace(string(body)), "\n")
			break
		}
	}
	if a.has("stubborn") {
		ossignal.Ignore(syscall.SIGTERM)
	}
}

func (a *acpAgent) has(word string) bool { return a.words(word) != nil }

// words are those of the first line that begins with one.
func (a *acpAgent) words(first string) []string {
	for _, l := range a.lines {
		if words := strings.Fields(l); len(words) > 0 && words[0] == first {
			return words
		}
	}
	return nil
}

type object = map[string]any

func (a *acpAgent) send(o object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o["jsonrpc"] = "2.0"
	body, _ := json.Marshal(o)
	os.Stdout.Write(append(body, '\n')) //nolint:errcheck // whoever reads it may be gone
}

func (a *acpAgent) update(o object) {
	a.send(object{"method": "session/update", "params": object{"sessionId": "s1", "update": o}})
}

func (a *acpAgent) hear(line []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Mode    string      `json:"modeId"`
			Servers []acpServer `json:"mcpServers"`
			Prompt  []struct{ Text string }
		} `json:"params"`
		Result struct {
			Outcome struct {
				Outcome string `json:"outcome"`
				Option  string `json:"optionId"`
			} `json:"outcome"`
		} `json:"result"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	id := m.ID
	switch m.Method {
	case "initialize":
		a.initialize(id)
	case "session/new":
		a.servers = m.Params.Servers
		a.session(id)
	case "session/set_mode":
		os.WriteFile(filepath.Join(a.work, "mode."+os.Getenv("PITON_STEP")), []byte(m.Params.Mode+"\n"), 0o644) //nolint:errcheck,gosec // the script looks
		a.send(object{"id": id, "result": object{}})
	case "session/prompt":
		os.MkdirAll(filepath.Join(a.work, "prompts"), 0o755)                                                                                           //nolint:errcheck,gosec // the script looks
		os.WriteFile(filepath.Join(a.work, "prompts", os.Getenv("PITON_STEP")+"."+os.Getenv("PITON_ATTEMPT")), []byte(m.Params.Prompt[0].Text), 0o644) //nolint:errcheck,gosec // the script looks
		go a.turn(id)
	case "session/cancel":
		if !a.has("stubborn") {
			a.stop()
		}
	case "":
		a.mu.Lock()
		defer a.mu.Unlock()
		if answer := a.answers[string(id)]; answer != nil {
			answer <- m.Result.Outcome.Outcome == "selected" && strings.HasPrefix(m.Result.Outcome.Option, "yes")
		}
	}
}

func (a *acpAgent) initialize(id json.RawMessage) {
	if a.has("nonsense") {
		for {
			if _, err := fmt.Println("}{ what is this"); err != nil {
				os.Exit(1)
			}
		}
	}
	version := 1
	if words := a.words("version"); words != nil {
		version, _ = strconv.Atoi(words[1])
	}
	a.send(object{"id": id, "result": object{"protocolVersion": version, "agentCapabilities": object{}, "authMethods": []object{{"id": "key", "name": "a key of the company"}}}})
}

func (a *acpAgent) session(id json.RawMessage) {
	if a.has("login") {
		a.send(object{"id": id, "error": object{"code": -32000, "message": "Authentication required"}})
		return
	}
	s := object{"sessionId": "s1"}
	if words := a.words("modes"); words != nil {
		var modes []object
		for _, w := range words[1:] {
			modes = append(modes, object{"id": w, "name": w})
		}
		s["modes"] = object{"currentModeId": words[1], "availableModes": modes}
	}
	a.send(object{"id": id, "result": s})
}

// stop ends the turn.
func (a *acpAgent) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	if a.child != nil {
		syscall.Kill(-a.child.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
	}
	for _, answer := range a.answers {
		select {
		case answer <- false:
		default:
		}
	}
}

// turn does what the lines say.
func (a *acpAgent) turn(id json.RawMessage) {
	may, result := true, object{"stopReason": "end_turn"}
	for _, l := range a.lines {
		if a.over() {
			break
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(l), " ")
		n, _ := strconv.Atoi(rest)
		switch word {
		case "ask":
			kind, what, _ := strings.Cut(rest, " ")
			may = <-a.ask(kind, what)
		case "storm":
			for range n {
				a.ask("execute", "true")
			}
		case "do", "always":
			if may || word == "always" {
				a.run(rest)
			}
		case "tool":
			a.call(rest)
		case "say":
			a.update(object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": rest}})
		case "usage":
			in, out, _ := strings.Cut(rest, " ")
			ni, _ := strconv.Atoi(in)
			no, _ := strconv.Atoi(out)
			result["usage"] = object{"inputTokens": ni, "outputTokens": no, "totalTokens": ni + no}
		case "unknown":
			a.update(object{"sessionUpdate": "future_thing", "content": object{"type": "text", "text": "not a message"}, "title": "x"})
		case "flood":
			for range n {
				a.update(object{"sessionUpdate": "agent_thought_chunk", "content": object{"type": "text", "text": "hm"}})
			}
		case "die":
			os.Exit(n)
		}
	}
	if a.over() {
		result["stopReason"] = "cancelled"
	}
	a.send(object{"id": id, "result": result})
}

func (a *acpAgent) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stopped
}

// ask asks for something; the answer comes later.
func (a *acpAgent) ask(kind, what string) chan bool {
	a.mu.Lock()
	a.asked++
	id, answer := strconv.Itoa(a.asked), make(chan bool, 2)
	a.answers[id] = answer
	a.mu.Unlock()
	call := object{"toolCallId": "c" + id, "title": what, "kind": kind, "status": "pending"}
	if kind == "execute" {
		call["title"], call["rawInput"] = "Run a command", object{"command": what}
	} else {
		call["locations"] = []object{{"path": what}}
	}
	a.send(object{"id": json.RawMessage(id), "method": "session/request_permission", "params": object{
		"sessionId": "s1", "toolCall": call, "options": []object{
			{"optionId": "yes-always", "kind": "allow_always", "name": "Always"},
			{"optionId": "yes", "kind": "allow_once", "name": "Yes"},
			{"optionId": "no", "kind": "reject_once", "name": "No"},
		},
	}})
	return answer
}

func (a *acpAgent) run(command string) {
	c := exec.Command("bash", "-c", command)
	c.Env = append(os.Environ(), "WORK="+a.work)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	a.mu.Lock()
	a.child = c
	err := c.Start()
	a.mu.Unlock()
	if err == nil {
		c.Wait() //nolint:errcheck // the script looks
	}
	a.mu.Lock()
	a.child = nil
	a.mu.Unlock()
}

// call calls a tool of the first server. As agents do, it gives the server no more of the
// environment than the session said, and where programs are.
func (a *acpAgent) call(words string) {
	kept, err := os.OpenFile(filepath.Join(a.work, "tools."+os.Getenv("PITON_STEP")), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644) //nolint:gosec // the script looks
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer kept.Close()
	if len(a.servers) == 0 {
		fmt.Fprintln(kept, "no server")
		return
	}
	s := a.servers[0]
	server := exec.Command(s.Command, s.Args...)
	server.Env, server.Stderr = []string{"PATH=" + os.Getenv("PATH")}, kept
	for _, v := range s.Env {
		server.Env = append(server.Env, v.Name+"="+v.Value)
	}
	ctx := context.Background()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		fmt.Fprintln(kept, err)
		return
	}
	defer session.Close()
	name, text, _ := strings.Cut(words, " ")
	if n, _ := strconv.Atoi(text); n > 0 {
		text = strings.Repeat("a", n)
	}
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: object{"text": text}})
	if err != nil {
		fmt.Fprintln(kept, err)
		return
	}
	fmt.Fprintf(kept, "%s of %s: %s\n", name, s.Name, r.Content[0].(*mcp.TextContent).Text)
}
