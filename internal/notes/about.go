package notes

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
	"go.yaml.in/yaml/v4"
)

// Where people keep what agents should know, below the workspace.
const (
	MemoryDir = ".piton/memories"
	TopicDir  = ".piton/topics"
)

// MaxNote is how large a memory or a topic may be, in bytes.
const MaxNote = 16 << 10

// Limits of memories and topics.
const (
	maxNotes    = 500      // files of one directory that are looked at
	maxMatching = 10       // that are given without being asked for
	maxMatched  = 16 << 10 // bytes of these in all
	evalBudget  = 100_000  // memory units of one expression
)

// topicLife is how long a topic holds that does not say so.
const topicLife = 24 * time.Hour

// About is what memories and topics are matched with.
type About struct {
	Title string
	Text  string   // the task, or the request
	Tags  []string // of the plan
	Files []string // paths and globs that it names
}

// Memory is what people, or an extraction that a person accepted, wrote down for
// later work.
type Memory struct {
	Name       string
	Text       string
	Hash       string
	Size       int64
	Importance int    // 1 to 10
	Provenance string // where it comes from
	Broken     string // why it cannot be used
	use        use
}

// front is the beginning of a memory, or of a topic.
type front struct {
	WhenToUse  yaml.Node `yaml:"when_to_use"`
	Importance *int      `yaml:"importance"`
	Provenance string    `yaml:"provenance"`
	Triggers   yaml.Node `yaml:"triggers"`
	Expiry     string    `yaml:"expiry"`
	Updated    string    `yaml:"updated"`
	Lifecycle  string    `yaml:"lifecycle"`
}

// parsed is what a text of a memory or a topic says.
type parsed struct {
	front
	use    use
	bad    error // why the use cannot be told
	body   string
	reason string // why it cannot be read
}

// Known remembers what texts of memories and topics say, so that only those that
// changed are parsed again. The zero value is empty; a nil one remembers nothing. It
// may be used by several goroutines.
type Known struct {
	mu    sync.Mutex
	texts map[string]parsed
}

// of is what a note of a directory says.
func (k *Known) of(dir, text string) parsed {
	if k == nil {
		return parse(dir, text)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := dir + "\x00" + text
	p, ok := k.texts[key]
	if !ok {
		p = parse(dir, text)
		if k.texts == nil || len(k.texts) >= 4*maxNotes {
			k.texts = map[string]parsed{}
		}
		k.texts[key] = p
	}
	return p
}

// parse reads the front matter and the text behind it.
func parse(dir, text string) (p parsed) {
	head, rest, ok := strings.Cut(strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "---\n"), "\n---\n")
	if !ok || !strings.HasPrefix(text, "---") {
		p.reason = "it does not begin with front matter between two lines of ---"
		return p
	}
	if err := yaml.Unmarshal([]byte(head), &p.front); err != nil {
		p.reason = oneLine("its front matter cannot be read: " + err.Error())
	}
	word := p.WhenToUse
	if dir == TopicDir {
		word = p.Triggers
	}
	p.use, p.bad = parseUse(word)
	p.body = strings.TrimSpace(rest)
	return p
}

// use says when something is of use: where one of its words occurs, or where its
// expression holds.
type use struct {
	words []string
	code  *vm.Program
}

// asked is what an expression sees.
type asked struct {
	Title string   `expr:"title"`
	Text  string   `expr:"task"`
	Tags  []string `expr:"tags"`
	Files []string `expr:"files"`
}

func parseUse(n yaml.Node) (u use, err error) {
	switch n.Kind {
	case 0:
		return u, nil
	case yaml.SequenceNode:
		if err := n.Decode(&u.words); err != nil || slices.Contains(u.words, "") {
			return u, errors.New("is no list of words")
		}
		return u, nil
	case yaml.ScalarNode:
		if len(n.Value) > 1024 {
			return u, errors.New("is longer than 1,024 bytes")
		}
		u.code, err = expr.Compile(n.Value, expr.Env(asked{}), expr.AsBool(), expr.MaxNodes(200))
		return u, err
	}
	return u, errors.New("is neither a list of words nor an expression")
}

// said are the words that memories and topics are matched with, each between blanks.
func (a About) said() string {
	return " " + strings.Join(terms(strings.Join(append([]string{a.Title, a.Text}, a.Tags...), "\n")), " ") + " "
}

// fits reports whether it is of use. An expression that fails is not.
func (u use) fits(a About, said string) bool {
	if u.code != nil {
		m := vm.VM{MemoryBudget: evalBudget}
		v, err := m.Run(u.code, asked(a))
		return err == nil && v == true
	}
	return slices.ContainsFunc(u.words, func(w string) bool {
		if t := terms(w); len(t) > 0 && strings.Contains(said, " "+strings.Join(t, " ")+" ") {
			return true
		}
		return slices.ContainsFunc(a.Files, func(f string) bool {
			ok, err := doublestar.Match(w, f)
			return err == nil && ok
		})
	})
}

// terms are the words of a text, in small letters.
func terms(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
}

// Memories reads the memories of a workspace, by name. One that cannot be used
// says why. Where there is no directory there are none; one named "*" stands for what
// is left out.
func Memories(dir string) ([]Memory, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	return memories(root, nil), nil
}

func memories(root *os.Root, known *Known) []Memory {
	names, less := notesIn(root, MemoryDir)
	all := make([]Memory, len(names))
	for n, name := range names {
		all[n] = memory(root, name, known)
	}
	if less != "" {
		all = append(all, Memory{Name: "*", Broken: less})
	}
	return all
}

func memory(root *os.Root, name string, known *Known) Memory {
	m := Memory{Name: name, Importance: 5}
	c := readNote(root, MemoryDir, name, known)
	m.Text, m.Hash, m.Size, m.Broken = c.body, c.Hash, c.Size, c.Reason
	if m.Broken != "" {
		return m
	}
	if c.Importance != nil {
		m.Importance = *c.Importance
	}
	m.Provenance, m.use = c.Provenance, c.use
	switch {
	case c.bad != nil:
		m.Broken = oneLine("when_to_use: " + c.bad.Error())
	case m.use.code == nil && len(m.use.words) == 0:
		m.Broken = "it has no when_to_use"
	case m.Importance < 1 || m.Importance > 10:
		m.Broken = "importance is not between 1 and 10"
	}
	return m
}

// ByImportance are memories, the most important first.
func ByImportance(all []Memory) []Memory {
	return slices.SortedStableFunc(slices.Values(all), func(a, b Memory) int { return cmp.Compare(b.Importance, a.Importance) })
}

// Matching are the memories that are of use, the most important first, as many as
// fit, and how many do not.
func Matching(all []Memory, about About) (fit []Memory, more int) {
	left, said := maxMatched, about.said()
	for _, m := range ByImportance(all) {
		switch {
		case m.Broken != "" || !m.use.fits(about, said):
		case len(fit) == maxMatching || len(m.Text) > left:
			more++
		default:
			fit, left = append(fit, m), left-len(m.Text)
		}
	}
	return fit, more
}

// Content is the memory as it is given to an agent.
func (m Memory) Content() Content {
	c := Content{Ref: "memory:" + m.Name, Text: m.Text, Hash: m.Hash, Size: m.Size, Missing: m.Broken != "", Reason: m.Broken}
	if m.Provenance != "" && !c.Missing {
		c.Reason = oneLine("from " + m.Provenance)
	}
	return c
}

// topic reads one topic. One that has expired is missing.
func topic(root *os.Root, name string, from Sources) (Content, use) {
	if name == "" || strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") {
		return missing("that is no name of a topic"), use{}
	}
	c := readNote(root, TopicDir, name, from.Known)
	switch {
	case c.Reason == why(fs.ErrNotExist):
		return missing("there is no file " + path.Join(TopicDir, name+".md")), use{}
	case c.Reason != "":
		return missing(c.Reason), use{}
	case c.bad != nil:
		return missing(oneLine("triggers: " + c.bad.Error())), use{}
	}
	if ended, err := c.expired(c.modified, from.Now); err != nil {
		return missing(oneLine(err.Error())), use{}
	} else if ended != "" {
		return missing(ended), use{}
	}
	c.Text = c.body
	return c.Content, c.use
}

// expired says since when a topic does not hold any more; "" where it does.
func (f front) expired(modified, now time.Time) (string, error) {
	switch f.Lifecycle {
	case "", "active":
	case "expired":
		return "it is marked as expired", nil
	default:
		return "", fmt.Errorf("lifecycle %q is neither active nor expired", f.Lifecycle)
	}
	life, from := topicLife, modified
	if f.Expiry == "never" {
		return "", nil
	}
	if f.Expiry != "" {
		d, err := time.ParseDuration(f.Expiry)
		if err != nil || d <= 0 {
			return "", fmt.Errorf("expiry %q is no duration such as 24h, and not never", f.Expiry)
		}
		life = d
	}
	if f.Updated != "" {
		t, err := time.Parse(time.RFC3339, f.Updated)
		if err != nil {
			return "", fmt.Errorf("updated %q is no time such as 2026-11-23T08:00:00Z", f.Updated)
		}
		from = t
	}
	if end := from.Add(life); !now.Before(end) {
		return "it expired " + end.UTC().Format("2006-01-02 15:04 MST"), nil
	}
	return "", nil
}

// note is what was read of a memory or a topic. A Reason says why it was not.
type note struct {
	Content
	parsed
	modified time.Time
}

// readNote reads one of a directory. Its Text is left to the caller.
func readNote(root *os.Root, dir, name string, known *Known) (n note) {
	at := path.Join(dir, name+".md")
	if linked(root, at) {
		n.Reason = at + isLink
		return n
	}
	file := filepath.FromSlash(at)
	if info, err := root.Stat(file); err == nil {
		n.modified = info.ModTime()
		if info.Size() > MaxNote {
			n.Reason = fmt.Sprintf("it has %d bytes; at most %d are read", info.Size(), MaxNote)
			return n
		}
	}
	n.Content = readFile(root, file)
	text := n.Text
	if n.Text = ""; n.Reason == "" {
		n.parsed = known.of(dir, text)
		n.Reason = n.reason
	}
	return n
}

// isLink says why a directory of notes is not looked into, and a note not read.
const isLink = " is a link, or lies behind one, which is not followed"

// linked reports whether a note, or a directory of them, is, or lies behind, a link: that could
// lead to files which a step may write.
func linked(root *os.Root, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if info, err := root.Lstat(filepath.FromSlash(name)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// notesIn lists the names of the notes in a directory, the first ones where there are
// too many; less says what is left out, and why.
func notesIn(root *os.Root, dir string) (names []string, less string) {
	entries, err := fs.ReadDir(root.FS(), dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ""
	case linked(root, dir):
		return nil, dir + isLink
	case err != nil:
		return nil, dir + " cannot be listed: " + why(err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".md"); ok && !e.IsDir() && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	if more := len(names) - maxNotes; more > 0 {
		return names[:maxNotes], fmt.Sprintf("%s has %d files; the last %d by name are left out", dir, len(names), more)
	}
	return names, ""
}

// oneLine keeps the first line of a text.
func oneLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
