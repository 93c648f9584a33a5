package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// front reads the frontmatter, if the text begins with one, and leaves the
// scanner at the line after it. Bytes from bad on are not to be read as YAML.
func (p *parser) front(bad int) {
	var l line
	first := p.sc
	if !first.next(&l) || strings.TrimRight(p.src[l.start:l.end], white) != "---" {
		p.problem(Pos{1, 1}, Error, MissingFrontmatter, "the plan has no frontmatter",
			"begin with the lines ---, type: plan, status: draft, owner: orchestrator, ---")
		return
	}
	body := first
	for first.next(&l) {
		if s := strings.TrimRight(p.src[l.start:l.end], white); s != "---" && s != "..." {
			continue
		}
		p.sc = scanner{src: p.src, off: l.next, num: l.num}
		p.frontmatter(frontText{p.src[body.off:l.start], body.off}, bad < l.start)
		return
	}
	p.sc = scanner{src: p.src, off: body.off, num: 1}
	p.problem(Pos{1, 1}, Error, UnclosedFrontmatter, "the frontmatter has no end", "close it with a line ---")
}

// frontText is the text between the two --- lines.
type frontText struct {
	text   string
	offset int // in the source
}

// frontLine is the number of its first line.
const frontLine = 2

func (p *parser) frontmatter(f frontText, unreadable bool) {
	at := Pos{frontLine, 1}
	switch {
	case len(f.text) > MaxFrontmatter:
		p.problem(at, Error, FrontmatterTooLong,
			fmt.Sprintf("the frontmatter has %d bytes; at most %d are allowed", len(f.text), MaxFrontmatter), "keep type, status and owner in it")
		return
	case unreadable:
		return // the character is a problem already
	}
	lines := strings.SplitAfter(normalEnds(f.text), "\n")
	keys, wrong := p.keys(f, lines)
	if wrong != nil {
		p.problem(Pos{frontLine + max(0, min(wrong.line, len(lines)-1)), 1}, Error, BadFrontmatter, wrong.message, wrong.hint)
		return
	}
	p.plan.Front = keys
	p.checkKeys(at)
}

// checkKeys reports what the three keys of the format lack, and keys that mean nothing.
func (p *parser) checkKeys(at Pos) {
	seen := map[string]bool{}
	for _, k := range p.plan.Front {
		switch {
		case seen[k.Name]:
			p.problem(k.Pos, Error, DuplicateKey, fmt.Sprintf("the frontmatter has %q twice", k.Name), "keep one of them")
		case k.Name == "type" && k.Value != "plan":
			p.problem(k.Pos, Error, NotAPlan, fmt.Sprintf("the frontmatter says that this is a %q", k.Value), "write type: plan")
		case k.Name != "type" && k.Name != "status" && k.Name != "owner":
			p.unusedKey(k)
		}
		seen[k.Name] = true
	}
	for _, name := range [...]string{"type", "status", "owner"} {
		if k, _ := p.plan.Key(name); k.Value == "" {
			p.problem(at, Error, MissingKey, fmt.Sprintf("the frontmatter has no %s", name), "it needs type, status and owner")
		}
	}
}

// unusedKey reports a key that means nothing where it is. One with the name of a label
// was probably meant to be that.
func (p *parser) unusedKey(k Key) {
	label := lookup(normal(k.Name), inHeader)
	switch {
	case label == nil:
		p.problem(k.Pos, Note, UnknownKey, fmt.Sprintf("%q is not used; it is kept", k.Name), "")
	case label.where == inHeader:
		p.problem(k.Pos, Warning, LabelInFront, fmt.Sprintf("%q is a label of the plan, and is not used in the frontmatter", k.Name),
			fmt.Sprintf("write **%s:** below the title", strings.ToUpper(label.name[:1])+label.name[1:]))
	default:
		p.problem(k.Pos, Warning, LabelInFront, fmt.Sprintf("%q is a label of steps, and is not used in the frontmatter", k.Name),
			fmt.Sprintf("write **%s:** below the heading of a step", label.name))
	}
}

// misread is a line of the frontmatter, from 0, that cannot be read, and why.
type misread struct {
	line          int
	message, hint string
}

// keys reads the frontmatter as a mapping from plain names to texts.
func (p *parser) keys(f frontText, lines []string) ([]Key, *misread) {
	if onlyComments(lines) {
		return nil, nil
	}
	if n := slices.IndexFunc(lines, reserved); n >= 0 {
		return nil, &misread{n, "the frontmatter holds a second document or a directive", "keep one mapping in it"}
	}
	var doc yaml.Node
	if err := yaml.Load([]byte(strings.Join(lines, "")), &doc); err != nil {
		return nil, notYAML(err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode ||
		doc.Content[0].Style&yaml.FlowStyle != 0 {
		return nil, &misread{0, "the frontmatter is not a list of keys", "write one `key: value` a line"}
	}
	root := doc.Content[0]
	if wrong := unplain(root, 1); wrong != nil {
		return nil, wrong
	}
	return p.entries(f, root, lines)
}

// entries makes keys of the root's pairs. Each begins a line of its own, so
// that its text is the lines from there to the next one.
func (p *parser) entries(f frontText, root *yaml.Node, lines []string) ([]Key, *misread) {
	var keys []Key
	starts := []int{0}
	for i := 0; i < len(root.Content); i += 2 {
		k := root.Content[i]
		n := k.Line - 1
		if k.Kind != yaml.ScalarNode || k.Style != 0 || k.Column != 1 || n >= len(lines) || i > 0 && n <= root.Content[i-2].Line-1 ||
			!strings.HasPrefix(lines[n], k.Value) || k.Tag == "!!merge" || k.Value == "" {
			return nil, &misread{n, "this is not a plain key at the start of a line", "write `key: value`"}
		}
		if i > 0 {
			starts = append(starts, n)
		}
		keys = append(keys, Key{Name: k.Value, Value: root.Content[i+1].Value, Pos: Pos{frontLine + n, 1}})
		if k.Value == "status" && p.plan.status == (span{}) {
			p.projectStatus(f, k, root.Content[i+1])
		}
	}
	starts = append(starts, len(lines))
	for i := range keys {
		keys[i].Raw = strings.TrimSuffix(strings.Join(lines[starts[i]:starts[i+1]], ""), "\n")
		if root.Content[2*i+1].Kind != yaml.ScalarNode {
			_, value, _ := strings.Cut(keys[i].Raw, ":")
			keys[i].Value = strings.Trim(value, white+"\n")
		}
	}
	return keys, nil
}

// unplain refuses what makes YAML mean something else than what it shows.
func unplain(n *yaml.Node, depth int) *misread {
	at := n.Line - 1
	switch {
	case depth > MaxDepth && n.Kind != yaml.ScalarNode:
		return &misread{at, fmt.Sprintf("the frontmatter is nested more than %d deep", MaxDepth), "keep it flat"}
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return &misread{at, "the frontmatter uses an anchor or an alias", "write the value out"}
	case n.Style&yaml.TaggedStyle != 0:
		return &misread{at, "the frontmatter uses a tag", "values are texts only"}
	}
	for _, c := range n.Content {
		if wrong := unplain(c, depth+1); wrong != nil {
			return wrong
		}
	}
	return nil
}

func notYAML(err error) *misread {
	m := &misread{0, "the frontmatter is not YAML: " + err.Error(), "write one `key: value` a line"}
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		m.line, m.message = e.Mark.Line-1, "the frontmatter is not YAML: "+e.Message
	}
	return m
}

func onlyComments(lines []string) bool {
	for _, l := range lines {
		if s := strings.Trim(l, white+"\n"); s != "" && s[0] != '#' {
			return false
		}
	}
	return true
}

// reserved reports a line that begins a document or a directive.
func reserved(line string) bool {
	return strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...") || strings.HasPrefix(line, "%")
}

// runWords are what a plan's status may be: the words of runs, and those that
// other systems have for them.
func runWords() []string {
	return []string{
		"draft", "verified", "approved", "running", "paused", "replanning", "done", "failed", "cancelled", "superseded",
		"pending", "active", "in-progress", "in_progress", "complete", "completed", "aborted",
	}
}

// projectStatus notes where the value of status stands, if it is one word or
// one quoted text on the key's own line.
func (p *parser) projectStatus(f frontText, key, value *yaml.Node) {
	n := key.Line - 1
	at := f.offset
	for range n {
		at += strings.IndexByte(p.src[at:], '\n') + 1
	}
	at += value.Column - 1 // all before it is ASCII
	written := value.Value
	switch value.Style {
	case yaml.DoubleQuotedStyle:
		written = `"` + written + `"`
	case yaml.SingleQuotedStyle:
		written = "'" + written + "'"
	}
	switch {
	case value.Value == "":
		return
	case value.Line != key.Line || !strings.HasPrefix(p.src[at:], written):
		p.problem(Pos{frontLine + n, 1}, Warning, BadStatus, "Piton cannot write a status here", "write one word: status: draft")
		return
	}
	if words := runWords(); !slices.Contains(words, value.Value) {
		hint := cmp.Or(Nearest(value.Value, words), "write status: draft; Piton writes the rest")
		p.problem(Pos{frontLine + n, 1}, Warning, BadStatus, fmt.Sprintf("%q is not a status of a plan", value.Value), hint)
	}
	p.plan.status = span{at, at + len(written)}
	p.plan.projected = append(p.plan.projected, p.plan.status)
}

// normalEnds ends every line with a line feed alone.
func normalEnds(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		if text, ended := strings.CutSuffix(line, "\n"); ended {
			line = strings.TrimRight(text, "\r") + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
