package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Limits of the memories that are proposed.
const (
	MaxMemories    = 5 // of one run
	maxMemoryTitle = 80
	maxMemoryText  = 4 << 10
	maxMemoryWords = 10
	maxMemoryWord  = 60
)

// What a person may choose where a memory is proposed.
const (
	ChooseAdopt = "adopt"
	ChooseDrop  = "drop"
)

// Memory is what is proposed to be kept of a run: a claim, until a person adopts it.
type Memory struct {
	Title      string   `json:"title"`
	WhenToUse  []string `json:"when_to_use"`
	Importance int      `json:"importance"`
	Text       string   `json:"text"`
}

// ReadMemory reads a memory that a person has edited: JSON with all keys and no other.
func ReadMemory(raw []byte) (m Memory, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err = d.Decode(&m); err == nil && !json.Valid(raw) {
		err = errors.New("something follows the memory")
	}
	if err != nil {
		return m, fmt.Errorf("it is no JSON object with title, when_to_use, importance and text: %w", err)
	}
	return m, m.Check()
}

// Check says why a memory cannot be kept.
func (m Memory) Check() error {
	switch {
	case strings.TrimSpace(m.Title) == "" || len(m.Title) > maxMemoryTitle || !plainLine(m.Title):
		return fmt.Errorf("title is one line of at most %d bytes", maxMemoryTitle)
	case strings.TrimSpace(m.Text) == "" || len(m.Text) > maxMemoryText || strings.ContainsFunc(m.Text, unseen):
		return fmt.Errorf("text has at most %d bytes, and nothing that cannot be seen", maxMemoryText)
	case m.Importance < 1 || m.Importance > 10:
		return errors.New("importance is between 1 and 10")
	case len(m.WhenToUse) == 0 || len(m.WhenToUse) > maxMemoryWords:
		return fmt.Errorf("when_to_use has 1 to %d words", maxMemoryWords)
	}
	for _, w := range m.WhenToUse {
		if strings.TrimSpace(w) == "" || len(w) > maxMemoryWord || !plainLine(w) {
			return fmt.Errorf("a word of when_to_use is one line of at most %d bytes", maxMemoryWord)
		}
	}
	return nil
}

func plainLine(s string) bool {
	return !strings.ContainsFunc(s, unseen) && !strings.ContainsAny(s, "\n\t")
}

// unseen is what a person who reads the text does not see.
func unseen(r rune) bool {
	return r == unicode.ReplacementChar || r != '\n' && r != '\t' && !unicode.IsPrint(r)
}

// shown is the memory as people read it.
func (m Memory) shown() string {
	return fmt.Sprintf("%s\nwhen to use: %s\nimportance: %d\n\n%s\n", m.Title, strings.Join(m.WhenToUse, ", "), m.Importance, m.Text)
}

// Adoption is a memory that a person adopted.
type Adoption struct {
	Item   string
	Run    string // that it comes of
	Memory Memory
	By     string
	At     time.Time
	Path   string // of its file; "" until that is written
}

// MemoryWritten says that an adopted memory is a file of the workspace.
type MemoryWritten struct {
	Item string `json:"item"`
	Path string `json:"path"`
	Hash string `json:"hash"`
}

// Written tells that the file of an adopted memory is there.
type Written struct{ MemoryWritten }

// Extracts is the errand that follows from the end of a run whose configuration names
// who says what is worth keeping of it: once for each end.
func (r RunOpened) Extracts(e RunEnded, seq uint64) (Errand, bool) {
	ok := r.Policy.Extract && r.Parent == (Parent{}) && (e.Status == Done || e.Status == Failed)
	return Errand{ErrandAsked: ErrandAsked{
		Errand: fmt.Sprintf("m%s-%d", r.Run, seq), Kind: ExtractWork, Run: r.Run, Config: r.Config, By: Harness,
	}}, ok
}

// Adoptions are the memories that were adopted, in their order.
func (w *Workspace) Adoptions() []Adoption { return slices.Clone(w.adopted) }

// proposals are the items of what was extracted; nothing where any of it cannot be kept.
func (asked ErrandAsked) proposals(all []Memory) (items []Event, err error) {
	if len(all) > MaxMemories {
		return nil, fmt.Errorf("%d memories are proposed; at most %d are taken", len(all), MaxMemories)
	}
	for n, m := range all {
		if err := m.Check(); err != nil {
			return nil, fmt.Errorf("memory %d: %w", n+1, err)
		}
		context := m.shown()
		items = append(items, ItemOpened{
			Item: fmt.Sprintf("%s/%d", asked.Errand, n+1), Kind: Keep, Memory: &m,
			Question: fmt.Sprintf("Is this worth keeping for later work? It is what was learnt of run %s.", asked.Run),
			Context:  context, Hash: digest([]byte(context)), Choices: []string{ChooseAdopt, ChooseDrop},
		})
	}
	return items, nil
}

func (w *Workspace) applyKeep(e ItemOpened, at time.Time) error {
	errand, _, _ := strings.Cut(e.Item, "/")
	row, known := w.asked[errand]
	if _, twice := w.items[e.Item]; twice || !known || e.Kind != Keep || e.Memory == nil {
		return fmt.Errorf("item %s is of no memory that was extracted", e.Item)
	}
	w.showItem(ItemRow{ItemOpened: e, Stream: WorkspaceStream, Run: row.Asked.Run, Opened: at, Open: true})
	return nil
}

// showItem notes an item that opens or closes.
func (w *Workspace) showItem(row ItemRow) {
	if row.Open {
		w.items[row.Item] = row
	} else {
		delete(w.items, row.Item)
	}
	if w.shown == nil {
		w.shown = map[string]ItemRow{}
	}
	w.shown[row.Item] = row
}

// admitKeep takes the answer to a proposed memory. An adopted one may be edited.
func (w *Workspace) admitKeep(a ItemAnswered) ([]Event, error) {
	it, open := w.items[a.Item]
	switch {
	case !open:
		return nil, refuse(NotFound, "item "+a.Item+" is not open", ListItems)
	case a.By == "":
		return nil, refuse(Invalid, "an answer needs the name of who gave it")
	case !slices.Contains(it.Choices, a.Choice):
		return nil, refuse(Invalid, fmt.Sprintf("item %s cannot be answered with %q", a.Item, a.Choice), Choose, strings.Join(it.Choices, ", "))
	case a.Choice == ChooseDrop && len(a.Args) > 0:
		return nil, refuse(Invalid, "a memory that is dropped takes no arguments", NoArgs)
	}
	if _, err := it.adopts(a); err != nil {
		return nil, refuse(Invalid, "the memory cannot be kept: "+err.Error())
	}
	a.Text = text(a.Text)
	return []Event{a}, nil
}

// adopts is the memory that an answer adopts.
func (it ItemRow) adopts(a ItemAnswered) (Memory, error) {
	if len(a.Args) == 0 {
		return *it.Memory, nil
	}
	return ReadMemory(a.Args)
}

func (w *Workspace) applyKept(a ItemAnswered, at time.Time) error {
	it, open := w.items[a.Item]
	if !open || !slices.Contains(it.Choices, a.Choice) {
		return fmt.Errorf("item %q is answered with %q, which was not asked", a.Item, a.Choice)
	}
	it.Open = false
	w.showItem(it)
	if a.Choice != ChooseAdopt {
		return nil
	}
	m, err := it.adopts(a)
	if err != nil {
		return fmt.Errorf("item %s: %w", a.Item, err)
	}
	w.adopted = append(w.adopted, Adoption{Item: a.Item, Run: it.Run, Memory: m, By: a.By, At: at})
	return nil
}

func (w *Workspace) admitWritten(in MemoryWritten) ([]Event, error) {
	if i := w.adoption(in.Item); i < 0 || w.adopted[i].Path != "" || in.Path == "" {
		return nil, refuse(Conflict, "memory "+in.Item+" is not to be written")
	}
	return []Event{in}, nil
}

func (w *Workspace) adoption(item string) int {
	return slices.IndexFunc(w.adopted, func(a Adoption) bool { return a.Item == item })
}

func (w *Workspace) applyWritten(e MemoryWritten) error {
	i := w.adoption(e.Item)
	if i < 0 || w.adopted[i].Path != "" {
		return fmt.Errorf("memory %s is written, and nobody adopted it", e.Item)
	}
	w.adopted = slices.Clone(w.adopted)
	w.adopted[i].Path = e.Path
	return nil
}
