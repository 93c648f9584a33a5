// Package notes reads the context that a step subscribes to, and the topics and
// memories that fit it.
//
// A subscription never fails. What can be read is read, capped and hashed. What cannot
// be read is reported as missing, with the reason, and the agent is told so.
//
// It must never read outside the workspace, whatever links lead there, never wait for a
// file without an end (a pipe, a device), never write, and never run anything.
package notes

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// MaxSize is the size in bytes of the largest file that is read at all.
const MaxSize = 16 << 20

// Caps bound what is taken of what was read, in bytes of text. The zero value
// means 64 KiB of a file and 256 KiB in all.
type Caps struct {
	File  int
	Total int
}

// Sources are where contents come from beside the workspace, and how much of
// them is taken.
type Sources struct {
	Caps
	// Output returns what a step put out, nil if there is nothing. Without it
	// outputs are missing.
	Output func(step string) ([]byte, error)
	// Find lists what a glob matches. Without it globs are missing.
	Find func(glob string) ([]string, error)
	// Below lists the files below a directory, sorted, and says how many more there are.
	// Without it maps are missing.
	Below func(dir string) (names []string, more int, err error)
	// Home is where topics and memories are, if that is not the workspace.
	Home string
	// Now is when topics are read, which expire.
	Now time.Time
	// Known are the notes that were read before.
	Known *Known
}

// Content is what became of one subscription.
type Content struct {
	Ref       string // as asked for: "file:src/main.go"
	Text      string // what is shown of it; empty where Reason stands in for it
	Hash      string // SHA-256 of the whole content, in hex; empty if Missing
	Size      int64  // bytes of the whole
	Truncated bool   // Text is not the whole
	Missing   bool   // nothing could be read
	Reason    string // why Missing, or why there is no Text
}

// maxFound is how many files of one glob are shown.
const maxFound = 100

// Read returns one Content for each subscription, in their order, and of a glob
// one for each file that it matches. dir is the workspace; a `file:` is relative to
// it. Directories give the names in them, files that are not text only a
// description; a text beyond the caps keeps its head and tail. Topics that have
// expired are missing.
//
// The error says that the workspace itself, or an output, could not be opened. Reading costs
// no more than the sizes of the files, of which none over [MaxSize] is read.
func Read(dir string, subs []engine.Subscription, from Sources) ([]Content, error) {
	if len(subs) == 0 {
		return nil, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	caps := from.orDefault()
	left := caps.Total
	var contents []Content
	for _, s := range subs {
		found, err := from.read(root, s)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			c.shorten(min(caps.File, left))
			left -= len(c.Text)
			contents = append(contents, c)
		}
	}
	return contents, nil
}

// Offered are the topics and memories that nobody subscribed to and that are of
// use: of topics those whose triggers fit. Memories that cannot be used are among
// them, and say why.
func Offered(dir string, subs []engine.Subscription, about About, from Sources) ([]Content, error) {
	if from.Home != "" {
		dir = from.Home
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	names, less := notesIn(root, TopicDir)
	var contents []Content
	left, said := maxMatched, about.said()
	for _, name := range names {
		if slices.Contains(subs, engine.Subscription{Kind: "topic", Ref: name}) {
			continue
		}
		if c, u := topic(root, name, from); !c.Missing && len(contents) < maxMatching && len(c.Text) <= left && u.fits(about, said) {
			c.Ref = "topic:" + name
			left -= len(c.Text)
			contents = append(contents, c)
		}
	}
	if less != "" {
		contents = append(contents, Content{Ref: "topic:*", Missing: true, Reason: less})
	}
	all := memories(root, from.Known)
	fit, more := Matching(all, about)
	for _, m := range fit {
		contents = append(contents, m.Content())
	}
	if more > 0 {
		contents = append(contents, Content{Ref: "memory:*", Missing: true, Reason: fmt.Sprintf("%d less important memories do not fit", more)})
	}
	for _, m := range all {
		if m.Broken != "" {
			contents = append(contents, m.Content())
		}
	}
	return contents, nil
}

func (c Caps) orDefault() Caps {
	if c.File <= 0 {
		c.File = 64 << 10
	}
	if c.Total <= 0 {
		c.Total = 256 << 10
	}
	return c
}

func (from Sources) read(root *os.Root, s engine.Subscription) ([]Content, error) {
	c, err := Content{}, error(nil)
	switch s.Kind {
	case "file":
		if c = readFile(root, s.Ref); c.Missing && IsGlob(s.Ref) {
			return from.matches(root, s.Ref), nil
		}
	case "map":
		c = from.mapped(root, s.Ref)
	case "topic":
		c = from.topic(root, s.Ref)
	case "step":
		c, err = from.output(s.Ref)
	default:
		c = missing(fmt.Sprintf("nothing of the kind %q can be read", s.Kind))
	}
	c.Ref = s.Kind + ":" + s.Ref
	return []Content{c}, err
}

// IsGlob reports whether a `file:` names files by a pattern.
func IsGlob(ref string) bool { return strings.ContainsAny(ref, "*?[{") }

func (from Sources) topic(root *os.Root, name string) Content {
	if from.Home != "" {
		home, err := os.OpenRoot(from.Home)
		if err != nil {
			return missing(why(err))
		}
		defer home.Close()
		root = home
	}
	c, _ := topic(root, name, from)
	return c
}

// matches reads the files that a glob matches, sorted. What is beyond the first
// ones is counted.
func (from Sources) matches(root *os.Root, glob string) []Content {
	none := func(reason string) []Content {
		return []Content{{Ref: "file:" + glob, Missing: true, Reason: reason}}
	}
	if from.Find == nil {
		return none("patterns cannot be looked up here")
	}
	names, err := from.Find(glob)
	if err != nil {
		return none(oneLine(err.Error()))
	}
	slices.Sort(names)
	var contents []Content
	more := 0
	for _, name := range names {
		if info, err := root.Stat(filepath.FromSlash(name)); err == nil && info.IsDir() {
			continue
		}
		if len(contents) == maxFound {
			more++
			continue
		}
		c := readFile(root, name)
		c.Ref = "file:" + name
		contents = append(contents, c)
	}
	switch {
	case len(contents) == 0:
		return none("no file matches it")
	case more > 0:
		contents = append(contents, none(fmt.Sprintf("%d more files match it; the first %d are shown", more, maxFound))...)
	}
	return contents
}

func (from Sources) output(step string) (Content, error) {
	var body []byte
	var err error
	if from.Output != nil {
		body, err = from.Output(step)
	}
	if err != nil {
		return Content{}, fmt.Errorf("read the output of step %q: %w", step, err)
	}
	if len(body) == 0 {
		return missing("there is no output of it"), nil
	}
	return shown(body), nil
}

func missing(reason string) Content { return Content{Missing: true, Reason: reason} }

// readFile looks before it opens, and again at what it opened: opening a pipe
// or a device can block or do things.
func readFile(root *os.Root, name string) Content {
	name = filepath.FromSlash(path.Clean(name))
	if !filepath.IsLocal(name) {
		return missing("it is not a path inside the workspace")
	}
	info, err := root.Stat(name)
	if err != nil {
		return missing(why(err))
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return missing("it is neither a file nor a directory")
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return missing(why(err))
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return missing(why(err))
	}
	switch {
	case info.IsDir():
		return listing(f)
	case !info.Mode().IsRegular():
		return missing("it is neither a file nor a directory")
	case info.Size() > MaxSize:
		return tooLarge(info)
	}
	return text(f, info)
}

// text reads a file whose size is within bounds; it may have grown since.
func text(f *os.File, info fs.FileInfo) Content {
	body, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	switch {
	case err != nil:
		return missing(why(err))
	case len(body) > MaxSize:
		return tooLarge(info)
	}
	return shown(body)
}

// shown is the content of a text.
func shown(body []byte) Content {
	c := Content{Size: int64(len(body)), Hash: hash(body)}
	switch {
	case len(body) == 0:
		c.Reason = "an empty file"
	case !isText(body):
		c.Reason = "not UTF-8 text, so it is not shown"
	default:
		c.Text = string(body)
	}
	return c
}

func tooLarge(info fs.FileInfo) Content {
	return missing(fmt.Sprintf("it has %d bytes, which is too large to be read here (at most %d)", info.Size(), MaxSize))
}

// maxNames bounds how many names of a directory are read.
const maxNames = 10_000

// listing is the names in a directory, sorted, those of directories with a
// slash at the end.
func listing(f *os.File) Content {
	entries, err := f.ReadDir(maxNames + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return missing(why(err))
	}
	if len(entries) > maxNames {
		return missing(fmt.Sprintf("it is a directory with more than %d entries", maxNames))
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = plainName(e.Name())
		if e.IsDir() {
			names[i] += "/"
		}
	}
	slices.Sort(names)
	body := strings.Join(names, "\n")
	return Content{
		Text: body, Hash: hash([]byte(body)), Size: int64(len(body)),
		Reason: fmt.Sprintf("a directory with %d entries", len(names)),
	}
}

func hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// why says an error of the file system in words that name no path of this machine.
func why(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "it may not be read"
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
