package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/proc"
)

// Permission is what an agent asks for in the middle of its work, as it says itself. Its texts
// are for people: bounded, and with an escape for what nobody sees.
type Permission struct {
	Kind    string
	Title   string
	Command string
	Paths   []string
	Content string   // what it would write, or says of it
	Veils   []string // what of this is not shown as it is
	Pattern string   // what a yes for the whole run is for; "" if a yes is for once

	may plan.May // what the rules judge
}

// About is what people are shown of the question.
func (p Permission) About() string {
	var b strings.Builder
	if p.Title != "" && p.Title != p.Command {
		fmt.Fprintf(&b, "In the agent's words: %s\n", oneLine(p.Title))
	}
	if p.Command != "" {
		fmt.Fprintf(&b, "Command:\n  %s\n", strings.ReplaceAll(p.Command, "\n", "\n  "))
	}
	for _, path := range p.Paths {
		fmt.Fprintf(&b, "Path: %s\n", oneLine(path))
	}
	if p.Content != "" {
		fmt.Fprintf(&b, "Content:\n  %s\n", strings.ReplaceAll(p.Content, "\n", "\n  "))
	}
	for _, veil := range p.Veils {
		fmt.Fprintf(&b, "Look closely: %s\n", veil)
	}
	if p.Pattern != "" {
		fmt.Fprintf(&b, "A yes for the whole run covers: %s\n", oneLine(p.Pattern))
	}
	return b.String()
}

// Permit answers a [Permission].
type Permit struct {
	Allowed bool
	Once    bool   // the next such call is asked for again
	Why     string // it is not, and by whom
}

// Rules is a source of rules for what may be asked, see [plan.ParsePermissions].
type Rules struct {
	Of   string // who says so, for people
	Text string // "" says nothing
}

// Bounds of what people are shown of a question, and of the paths that it may have.
const (
	maxAskTitle   = 300
	maxAskCommand = 4 << 10
	maxAskPaths   = 20
	maxAskContent = 8 << 10
	maxPaths      = 1000
)

// acpClient answers what an agent asks of Piton.
type acpClient struct {
	*talk
	idle  *pulse
	whole *limit
	life  context.Context //nolint:containedctx // of the turn

	person sync.Mutex // one question at a time is put to people
	mu     sync.Mutex
	no     Deed // the first that was refused
}

// serve answers what the agent asks for.
func (c *acpClient) serve(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if method != acpPermission {
		return nil, &rpcError{Code: noMethod, Message: "Method not found", Data: map[string]any{"method": method}}
	}
	var q acpAsk
	if err := json.Unmarshal(params, &q); err != nil {
		return nil, &rpcError{Code: badParams, Message: "Invalid params", Data: map[string]any{"error": err.Error()}}
	}
	return c.permission(ctx, q), nil
}

// permission does as the rules say, and asks a person where these do.
func (c *acpClient) permission(ctx context.Context, q acpAsk) acpPermitted {
	p := c.read(q.Call)
	say, by := c.rules(p.may)
	if len(p.may.Paths) > maxPaths {
		say, by = plan.SayDeny, fmt.Sprintf("it names more than %d paths at once; it must ask for fewer", maxPaths)
	}
	permit := Permit{Allowed: say == plan.SayAllow, Why: by}
	if say == plan.SayAsk {
		var err error
		if permit, err = c.ask(ctx, p); err != nil {
			return nobody // waits for it any more
		}
	}
	kinds := []string{allowOnce}
	if !permit.Once { // else it would not ask again
		kinds = append(kinds, allowAlways)
	}
	if !permit.Allowed {
		c.refuse(p, permit.Why)
		kinds = []string{rejectOnce, rejectAlways}
	}
	for _, k := range kinds {
		for _, o := range q.Options {
			if o.Kind == k {
				return chosen(o.ID)
			}
		}
	}
	if permit.Allowed {
		c.refuse(p, "it offered no answer that allows so much and no more")
	}
	return nobody
}

// ask puts the question to a person. The attempt's time stands still meanwhile.
func (c *acpClient) ask(ctx context.Context, p Permission) (Permit, error) {
	if c.task.Ask == nil {
		return Permit{Why: "nobody can be asked here"}, nil
	}
	defer c.idle.stand()()
	defer c.whole.stand()()
	c.person.Lock()
	defer c.person.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	if ctx.Err() != nil {
		return Permit{}, ctx.Err()
	}
	return c.task.Ask(ctx, p)
}

// rules is what the strictest of those says that say anything, and whose rule it is. Where
// none does, the boundary decides: inside of it an agent may do what it likes.
func (c *acpClient) rules(m plan.May) (say plan.Say, by string) {
	for _, r := range c.rulings {
		if s := plan.Permit(r.list, m); plan.Stricter(say, s) != say {
			say, by = s, r.of
		}
	}
	switch {
	case say != "":
		return say, "by " + by
	case c.child.Isolation() == proc.LevelSealed:
		return plan.SayAllow, ""
	}
	return plan.SayAsk, ""
}

// ruling is a source of rules, read.
type ruling struct {
	of   string
	list []plan.Permission
}

// readRules reads all rules that an attempt is held to.
func readRules(all []Rules) (list []ruling, err error) {
	for _, r := range all {
		if r.Text == "" {
			continue
		}
		rules, err := plan.ParsePermissions(r.Text)
		if err != nil {
			return nil, fmt.Errorf("permissions of %s: %w", r.Of, err)
		}
		list = append(list, ruling{r.Of, rules})
	}
	return list, nil
}

func (c *acpClient) refuse(p Permission, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.no.Type == "" {
		c.no = Deed{Type: Refused, Name: p.Kind, Target: p.what(), Text: why}
	}
}

// denied is the first thing that was refused; no type where nothing was.
func (c *acpClient) denied() Deed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.no
}

// what is said of the question in one line.
func (p Permission) what() string {
	return short(oneLine(cmp.Or(p.Command, strings.Join(p.Paths, ", "), p.Title)), maxAskTitle)
}

// mayKinds are the words of rules for what the protocol calls otherwise.
var mayKinds = map[string]string{
	"read": "read", "edit": "edit", "delete": "delete", "move": "move", "search": "search", "execute": "run", "fetch": "fetch",
}

// read takes what a tool call says of itself.
func (c *acpClient) read(call acpCall) Permission {
	p, title := Permission{Kind: cmp.Or(mayKinds[call.Kind], "other")}, call.Title
	p.may.Kind = p.Kind
	if p.Kind == "run" {
		command, odd := commandOf(call.RawInput)
		if command == "" && odd == "" {
			command, title = title, ""
		}
		p.may.Command = strings.Trim(command, "\n")
		if p.Command = p.show("the command", cmp.Or(p.may.Command, odd), "\n\t", maxAskCommand); odd != "" {
			p.veil("the command is not a text or a list of words")
		}
	}
	p.Title = p.show("the title", title, "\n\t", maxAskTitle)
	c.content(&p, call)
	p.may.Veiled = len(p.Veils) > 0
	p.Pattern = p.may.Pattern()
	if more := len(p.may.Paths) - len(p.Paths); more > 0 {
		p.veil(fmt.Sprintf("%d more paths are not shown", more))
		p.Pattern = ""
	}
	return p
}

// show is a text as people can see it. keep are blanks that stay as they are.
func (p *Permission) show(what, text, keep string, most int) string {
	end := min(len(text), most)
	for 0 < end && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	shown, unseen := plan.Escaped(text[:end], keep)
	if unseen {
		p.veil(what + ` has characters that do not show; each is written as an escape such as \u001b`)
	}
	if end < len(text) || len(shown) > most {
		p.veil(fmt.Sprintf("%s is cut: %d bytes, of which no more than the first %d are shown", what, len(text), most))
		shown = strings.ToValidUTF8(shown[:min(len(shown), most)], "") + "…"
	}
	return shown
}

func (p *Permission) veil(what string) {
	if !slices.Contains(p.Veils, what) {
		p.Veils = append(p.Veils, what)
	}
}

// content adds the paths and what is to be done there.
func (c *acpClient) content(p *Permission, call acpCall) {
	var said []string
	for _, l := range call.Locations {
		p.at(c.relative(l.Path))
	}
	for _, part := range call.Content {
		if part.Type == "diff" || part.Path != "" {
			p.at(c.relative(part.Path))
			said = append(said, part.NewText)
		} else if text := part.text(); text != "" {
			said = append(said, text)
		}
	}
	p.Content = short(strings.Join(said, "\n"), maxAskContent)
}

func (p *Permission) at(file string) {
	if len(p.may.Paths) > maxPaths || slices.Contains(p.may.Paths, file) {
		return
	}
	p.may.Paths = append(p.may.Paths, file)
	if len(p.Paths) < maxAskPaths {
		p.Paths = append(p.Paths, p.show("a path", file, "", maxAskTitle))
	}
}

// relative is a path as the workspace has it; absolute where it lies outside.
func (c *acpClient) relative(path string) string {
	if !filepath.IsAbs(path) {
		return filepath.ToSlash(filepath.Clean(path))
	}
	if rel, err := filepath.Rel(c.task.Dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.Clean(path)
}

// commandOf is the command in what a tool is called with, as a text for a shell. One that is
// neither a text nor a list of words is odd.
func commandOf(raw any) (text, odd string) {
	input, _ := raw.(map[string]any)
	switch command := input["command"].(type) {
	case nil:
		return "", ""
	case string:
		return command, ""
	case []any:
		var words, quoted []string
		for _, w := range command {
			if word, ok := w.(string); ok {
				words, quoted = append(words, word), append(quoted, engine.ShellWord(word))
			}
		}
		switch {
		case len(words) < len(command):
		case len(words) == 3 && isShell(words[0]) && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c"):
			return words[2], ""
		default:
			return strings.Join(quoted, " "), ""
		}
	}
	body, _ := json.Marshal(map[string]any{"command": input["command"]})
	return "", string(body)
}

// isShell reports whether a program runs the text behind -c as a shell does. One of the same
// name that lies elsewhere may do anything.
func isShell(program string) bool {
	dir, name := path.Split(program)
	return slices.Contains([]string{"", "/bin/", "/usr/bin/"}, dir) && slices.Contains([]string{"sh", "bash", "dash", "zsh"}, name)
}
