package agent

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/proc"
)

// What is kept of one deed, in bytes, and how many calls may be under way.
const (
	maxTarget   = 1 << 10
	maxDeedText = 2 << 10
	maxUnderWay = 256
)

// Fault is an error that an agent told of itself, and that was not over when it ended.
type Fault struct {
	Text   string
	Code   string // the agent's or the vendor's word for it
	Status int    // of HTTP, where one is told
}

// fault is the error that an object tells: the first text at the places of texts, its code
// and its status; "" is no place.
func (o object) fault(texts, code, status string) (f Fault) {
	for place := range strings.FieldsSeq(texts) {
		f.Text = cmp.Or(f.Text, o.text(place))
	}
	f.Code = o.text(code)
	if n := o.number(status); n != nil {
		f.Status = *n
	}
	return f
}

// doings gathers what the objects of an output tell of deeds.
type doings struct {
	tell  func(Deed) // nil: only what is counted and stands is of interest
	open  map[string]Deed
	made  int   // calls that began
	fault Fault // the last error, unless something went well since
	no    Deed  // the last call that was not allowed; no type where there is none
}

// do takes one deed.
func (d *doings) do(deed Deed) {
	deed.Target = short(deed.Target, maxTarget)
	if !deed.Piece { // whose blanks count
		deed.Text = short(deed.Text, maxDeedText)
	}
	switch deed.Type {
	case Called:
		if !deed.Done {
			d.made++
		}
		d.fault = Fault{} // the model answered
	case SaidIt:
		d.fault = Fault{}
	case Refused:
		d.no = deed
	}
	if d.tell != nil {
		d.tell(deed)
	}
}

// begin takes a call that begins.
func (d *doings) begin(id, tool string, args object) {
	deed := Deed{Type: Called, ID: id, Tool: KindOf(tool), Name: short(tool, 80), Target: target(args)}
	if deed.Tool == Edit || deed.Tool == Write {
		deed.Plus, deed.Minus = lineChange(args)
	}
	if d.open == nil {
		d.open = map[string]Deed{}
	}
	if len(d.open) < maxUnderWay {
		d.open[id] = deed
	}
	d.do(deed)
}

// end takes the end of a call: how adds what is told of it.
func (d *doings) end(id string, how func(*Deed)) {
	deed, ok := d.open[id]
	if !ok {
		return
	}
	delete(d.open, id)
	deed.Done = true
	how(&deed)
	if deed.Type == Refused {
		deed.Done = false
	}
	d.do(deed)
}

// whole takes a call that is told only once it has ended.
func (d *doings) whole(id, tool string, args object, how func(*Deed)) {
	told := d.tell
	d.tell = nil
	d.begin(id, tool, args)
	d.tell = told
	d.end(id, how)
}

// err takes an error.
func (d *doings) err(f Fault) {
	f.Text = message(f.Text)
	d.do(Deed{Type: Erred, Text: f.Text})
	if f != (Fault{}) {
		d.fault = f
	}
}

// refuse makes of a call one that was not allowed.
func (d *Deed) refuse(why string) { d.Type, d.Text = Refused, message(why) }

// targets are where the arguments of a call name what it is about.
var targets = []string{
	"file_path", "filePath", "path", "absolute_path", "notebook_path", "command", "cmd", "commands", "url", "urls", "pattern", "query", "dir_path", "directory", "description", "prompt",
	"files.0.path", "files",
}

func target(args object) string {
	for _, place := range targets {
		if place == "files.0.path" {
			var files []object
			if len(args.at("files")) > 0 && json.Unmarshal(args.at("files")[0], &files) == nil && len(files) > 0 {
				if t := files[0].text("path"); t != "" {
					return t
				}
			}
			continue
		}
		for _, raw := range args.at(place) {
			if t := anyText(raw); t != "" {
				return t
			}
		}
	}
	return ""
}

// anyText is a text, or the texts of a list.
func anyText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var all []string
	for _, one := range list[:min(len(list), 20)] {
		if json.Unmarshal(one, &s) == nil {
			all = append(all, s)
		} else if o, ok := decode(one); ok && o.text("text") != "" {
			all = append(all, o.text("text"))
		}
	}
	return strings.Join(all, " ")
}

// lineChange counts the lines of the arguments that replace one text by another.
func lineChange(args object) (plus, minus *int) {
	for _, pair := range [][2]string{{"old_string", "new_string"}, {"oldString", "newString"}, {"old_str", "new_str"}, {"oldText", "newText"}, {"old_text", "new_text"}} {
		if args.has([]string{pair[1]}) {
			minus, plus := differing(args.text(pair[0]), args.text(pair[1]))
			return &plus, &minus
		}
	}
	for _, key := range []string{"content", "file_text"} {
		if args.has([]string{key}) {
			plus := countLines(args.text(key))
			return &plus, nil
		}
	}
	var edits []object
	if at := args.at("edits"); len(at) > 0 && json.Unmarshal(at[0], &edits) == nil && len(edits) > 0 {
		plus, minus = new(int), new(int)
		for _, e := range edits {
			if p, m := lineChange(e); p != nil && m != nil {
				*plus, *minus = *plus+*p, *minus+*m
			}
		}
	}
	return plus, minus
}

// differing counts the lines of each text without those that both begin and end with.
func differing(before, after string) (minus, plus int) {
	b, a := splitLines(before), splitLines(after)
	for len(b) > 0 && len(a) > 0 && b[0] == a[0] {
		b, a = b[1:], a[1:]
	}
	for len(b) > 0 && len(a) > 0 && b[len(b)-1] == a[len(a)-1] {
		b, a = b[:len(b)-1], a[:len(a)-1]
	}
	return len(b), len(a)
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

func countLines(s string) int { return len(splitLines(s)) }

// patchLines counts the lines that a unified patch adds and takes away.
func patchLines(patch string) (plus, minus *int) {
	if patch == "" {
		return nil, nil
	}
	plus, minus = new(int), new(int)
	for line := range strings.Lines(patch) {
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		case strings.HasPrefix(line, "+"):
			*plus++
		case strings.HasPrefix(line, "-"):
			*minus++
		}
	}
	return plus, minus
}

// whole number at a place, nil if there is none.
func (o object) number(path string) *int {
	for _, v := range o.at(path) {
		if n, err := strconv.Atoi(string(v)); err == nil {
			return &n
		}
	}
	return nil
}

func (o object) yes(path string) bool {
	for _, v := range o.at(path) {
		if string(v) == "true" {
			return true
		}
	}
	return false
}

// list are the objects of the list at a place.
func (o object) list(path string) (all []object) {
	for _, v := range o.at(path) {
		var some []json.RawMessage
		if json.Unmarshal(v, &some) != nil {
			continue
		}
		for _, one := range some {
			if is, ok := decode(one); ok {
				all = append(all, is)
			}
		}
	}
	return all
}

// inner is the object at a place, empty if there is none.
func (o object) inner(path string) object {
	for _, v := range o.at(path) {
		if is, ok := decode(v); ok {
			return is
		}
	}
	return object{}
}

// message is what an error says, where it says it in JSON of a vendor.
func message(s string) string {
	if inner, ok := strings.CutPrefix(s, "[API Error: "); ok {
		s = strings.TrimSuffix(inner, "]")
	}
	for range 4 {
		at := strings.IndexByte(s, '{')
		if at < 0 {
			break
		}
		var o object
		if json.NewDecoder(strings.NewReader(s[at:])).Decode(&o) != nil {
			break
		}
		inner := o.text("error.message")
		for _, place := range []string{"message", "error", "detail"} {
			if inner == "" {
				inner = o.text(place)
			}
		}
		if inner == "" {
			break
		}
		s = inner
	}
	var quoted string
	if json.Unmarshal([]byte(s), &quoted) == nil {
		s = quoted
	}
	return strings.TrimSpace(s)
}

// short is the beginning of a text, as plain text.
func short(s string, most int) string {
	s = strings.TrimSpace(proc.Plain([]byte(s[:min(len(s), 4*most)])))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// exitLine is how agents tell the exit code of a command in words, on a line of its own.
var exitLine = lazy.Regexp(`(?im)^\[?(?:command exited with code|exit code:?) (\d{1,3})\b`)

// exitOf is the exit code that a result tells in words.
func exitOf(text string) *int {
	m := exitLine().FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return nil
	}
	return &n
}

// denied reports the words in which agents say that a call was not allowed.
func denied(text string) bool {
	text = strings.ToLower(text)
	for _, words := range []string{
		"requested permissions", "requires approval", "permission to use", "permission denied by", "requires permission", "rejected permission",
		"user rejected", "was denied", "denied by", "declined", "not approved", "specified a rule which prevents", "rejected by user",
		"blocked by read-only sandbox",
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s)
	return b
}
