package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of what one step may become in a run. MaxExpanded holds for all steps
// of the run together.
const (
	MaxInstances = 1_000
	MaxExpanded  = 10_000
)

// Each makes a step one for each item: the step is then the pattern of its
// instances and does nothing itself. One of Items, Ref and Glob says what the
// items are.
type Each struct {
	Items []json.RawMessage `json:"items,omitempty"` // values that the plan lists
	Ref   string            `json:"ref,omitempty"`   // a reference to a list in the output of a step that the step needs; see [ParseRef]
	Glob  string            `json:"glob,omitempty"`  // of the workspace's files when the step's turn has come
	Empty bool              `json:"empty,omitempty"` // no item at all is no question
	Batch int               `json:"batch,omitempty"` // the item of an instance is a list of so many; 0 = one item, as it is
}

// ItemMark is what title, task, arguments and writes of a step for each item
// have in the place of the item.
const ItemMark = "{item}"

// ItemVariable is the name in the environment of scripts, checks and agents under
// which they find the item of their instance, or of the one that their run carries
// out: a text as it is, anything else as JSON.
const ItemVariable = "PITON_ITEM"

// InstanceID is the id of a step's n-th instance, counted from 1.
func InstanceID(step string, n int) string { return step + "." + strconv.Itoa(n) }

// InstanceOf finds out of which step an id names an instance, if it does: ids in
// plans have no dot.
func InstanceOf(id string) (step string, ok bool) {
	step, _, ok = strings.Cut(id, ".")
	return step, ok
}

// validEach checks what only a step for each item has.
func (s *Step) validEach() error {
	e := s.Each
	switch {
	case ones(len(e.Items) > 0)+ones(e.Ref != "")+ones(e.Glob != "") != 1:
		return errors.New("must have one list, one reference or one glob to be made for each of")
	case e.Batch < 0:
		return fmt.Errorf("has batches of %d", e.Batch)
	case strings.Contains(s.ID, "."):
		return errors.New("is for each item and has a dot in its id, which its instances have")
	}
	if _, ok := ParseRef(e.Ref); !ok && e.Ref != "" {
		return fmt.Errorf("is for each of %q, which is no reference", e.Ref)
	}
	for _, item := range e.Items {
		if _, err := DecodeValue(item); err != nil {
			return fmt.Errorf("has an item that cannot be used: %w", err)
		}
	}
	return nil
}

// eaches notes which steps are patterns, and whose outputs they take items from:
// those are kept with the records.
func (p *Program) eaches() error {
	for i := range p.def.Steps {
		s := &p.def.Steps[i]
		if s.Each == nil || s.Each.Ref == "" {
			continue
		}
		r, _ := ParseRef(s.Each.Ref)
		n, ok := p.by[r.Step]
		if !ok || n == i {
			return fmt.Errorf("step %q is for each of the output of %q, which is not another step", s.ID, r.Step)
		}
		p.keep(n)
	}
	return nil
}

// keep lets the output of a step be kept with the records.
func (p *Program) keep(i int) {
	if p.inline == nil {
		p.inline = map[int]bool{}
	}
	p.inline[i] = true
}

// batched are the items of the instances.
func (e *Each) batched(items []json.RawMessage) []json.RawMessage {
	if e.Batch == 0 {
		return items
	}
	var lists []json.RawMessage
	for batch := range slices.Chunk(items, e.Batch) {
		list, _ := EncodeValue(batch) // they were decoded
		lists = append(lists, list)
	}
	return lists
}

// instances are what the step becomes for the items. Journals rest on it: the
// same items must give the same steps for ever.
func (s *Step) instances(items []json.RawMessage) ([]Step, error) {
	batches := s.Each.batched(items)
	if len(batches) > MaxInstances {
		return nil, fmt.Errorf("%d items make %d instances; at most %d are allowed: give it a batch", len(items), len(batches), MaxInstances)
	}
	made := make([]Step, len(batches))
	for n, item := range batches {
		var err error
		if made[n], err = s.instance(n+1, item); err != nil {
			return nil, fmt.Errorf("item %d, %s: %w", n+1, short(string(item), 80), err)
		}
	}
	return made, nil
}

// Instance is the step's instance of this id, as the items make it. It looks only at
// the items of the instance.
func (s *Step) Instance(id string, items []json.RawMessage) (*Step, error) {
	size := max(s.Each.Batch, 1)
	n, err := strconv.Atoi(strings.TrimPrefix(id, s.ID+"."))
	if err != nil || n < 1 || n > (len(items)+size-1)/size {
		return nil, fmt.Errorf("step %q has no instance %q", s.ID, id)
	}
	own := items[(n-1)*size : min(n*size, len(items))]
	made, err := s.instance(n, s.Each.batched(own)[0])
	return &made, err
}

// instance is the step for its n-th item. The item stands in no script and no
// check: they find it in their environment.
func (s *Step) instance(n int, item json.RawMessage) (Step, error) {
	v, err := DecodeValue(item)
	if err != nil {
		return Step{}, err
	}
	said := spoken(v, item)
	x := *s
	x.ID, x.Number = InstanceID(s.ID, n), FirstNumber(s.Number)+"."+strconv.Itoa(n)
	x.Each, x.When, x.Item, x.Named = nil, "", item, s.Writes
	x.Title = titled(s.Title, said)
	if s.Kind != Script {
		x.Task = strings.ReplaceAll(s.Task, ItemMark, said)
	}
	if x.Writes, err = scoped(s.Writes, v, item); err != nil {
		return Step{}, err
	}
	if x.Args, err = s.argued(v, item); err != nil {
		return Step{}, err
	}
	return x, x.valid()
}

// FirstNumber is the first number of a heading such as 3–7.
func FirstNumber(number string) string {
	if i := strings.IndexAny(number, "-–—"); i > 0 {
		return strings.TrimSpace(number[:i])
	}
	return number
}

// ItemText is what stands in [ItemVariable] for an item; an error where it fits
// into no variable.
func ItemText(item json.RawMessage) (string, error) {
	v, err := DecodeValue(item)
	if err != nil {
		return "", err
	}
	said := spoken(v, item)
	return said, FitsVariable(ItemVariable, said)
}

// itemLine is the step's item for people, "" where it has none.
func (s *Step) itemLine() string {
	v, err := DecodeValue(s.Item)
	if err != nil {
		return ""
	}
	return inLine(spoken(v, s.Item))
}

// spoken is an item as text: a text as it is, anything else as JSON.
func spoken(v any, item json.RawMessage) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(item)
}

// maxItemLine is how many letters of an item people see.
const maxItemLine = 60

// inLine is an item in one short line.
func inLine(item string) string {
	return short(strings.Join(strings.Fields(item), " "), maxItemLine)
}

// titled is the title with the item in its place, or behind it, in one line.
func titled(title, item string) string {
	item = inLine(item)
	if strings.Contains(title, ItemMark) {
		return strings.ReplaceAll(title, ItemMark, item)
	}
	return title + ": " + item
}

// short cuts a text after so many letters.
func short(s string, letters int) string {
	if utf8.RuneCountInString(s) <= letters {
		return s
	}
	return string([]rune(s)[:letters-1]) + "…"
}

// argued are the step's arguments with the item in its place. What the item
// holds is never taken for a reference.
func (s *Step) argued(v any, item json.RawMessage) (json.RawMessage, error) {
	if len(s.Args) == 0 {
		return nil, nil
	}
	args, err := DecodeValue(s.Args)
	if err != nil {
		return nil, err
	}
	made, _ := replaced(args, func(leaf any) (any, error) { return fillIn(leaf, v, spoken(v, item)), nil })
	return EncodeValue(made)
}

// fillIn puts the item into a string of arguments: one that is nothing else becomes
// the item itself.
func fillIn(arg, item any, said string) any {
	a, ok := arg.(string)
	if _, ref := ParseRef(a); !ok || ref || !strings.Contains(a, ItemMark) {
		return arg
	}
	if a == ItemMark {
		return literally(item)
	}
	return literally(strings.ReplaceAll(Literal(a), ItemMark, said))
}

// literally writes a value so that no string in it is a reference.
func literally(v any) any {
	made, _ := replaced(v, func(leaf any) (any, error) {
		if s, ok := leaf.(string); ok && strings.HasPrefix(s, "$") {
			return "$" + s, nil
		}
		return leaf, nil
	})
	return made
}

// maxScopes is how many scopes an instance may have.
const maxScopes = 200

// scoped are the scopes with the item in its place: of a list of items one for
// each. An item is one path there and widens nothing.
func scoped(writes []string, v any, item json.RawMessage) ([]string, error) {
	var scopes []string
	for _, w := range writes {
		if !strings.Contains(w, ItemMark) {
			scopes = append(scopes, w)
			continue
		}
		list, batch := v.([]any)
		if !batch {
			list = []any{v}
		}
		for _, part := range list {
			if batch {
				item, _ = EncodeValue(part) // it was decoded
			}
			scope, err := scopeFor(w, spoken(part, item))
			if err != nil {
				return nil, err
			}
			if !slices.Contains(scopes, scope) {
				scopes = append(scopes, scope)
			}
		}
	}
	if len(scopes) > maxScopes {
		return nil, fmt.Errorf("it would have %d scopes; at most %d are allowed", len(scopes), maxScopes)
	}
	return scopes, nil
}

// scopeFor is a scope with the item in its place.
func scopeFor(scope, item string) (string, error) {
	plain := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }
	switch {
	case item == "" || path.Clean(item) != item || path.IsAbs(item) || item == "." || item == ".." || strings.HasPrefix(item, "../"):
		return "", errors.New("it is used in `writes:` but is not a plain path below the workspace")
	case strings.HasPrefix(item, "~") || strings.ContainsFunc(item, plain):
		return "", errors.New("it is used in `writes:` but has characters that a scope must not have")
	}
	made := path.Clean(strings.ReplaceAll(scope, ItemMark, globEscapes.Replace(item)))
	for _, own := range []string{".git", ".piton"} {
		if below(made, own) && !below(path.Clean(scope), own) {
			return "", fmt.Errorf("it would let the step write %s", own)
		}
	}
	return made, nil
}

// below reports whether a path is a directory, or in it.
func below(name, dir string) bool {
	return strings.EqualFold(name, dir) || len(name) > len(dir) && strings.EqualFold(name[:len(dir)], dir) && name[len(dir)] == '/'
}

var globEscapes = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, "!", `\!`)

// collide reports scopes of two instances that may run at once and surely have
// a path in common.
func collide(steps []Step) error {
	owners := map[string]int{}
	for i := range steps {
		for _, w := range steps[i].Writes {
			owners[plainScope(w)] = i
		}
	}
	for i := range steps {
		for _, w := range steps[i].Writes {
			for dir := plainScope(w); dir != "." && dir != "/"; dir = path.Dir(dir) {
				if j, taken := owners[dir]; taken && j != i {
					return fmt.Errorf("%s and %s may run at once, and both write %s: give each item a separate path, or the step `workspace: worktree`",
						steps[min(i, j)].ID, steps[max(i, j)].ID, w)
				}
			}
		}
	}
	return nil
}

// plainScope is the path that a scope covers with all that is below it; a glob
// is nobody else's path.
func plainScope(w string) string { return strings.TrimSuffix(w, "/**") }
