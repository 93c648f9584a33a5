package observe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// watched is what is asked for of each directory: what is opened in it, which directories
// come into it, to be watched as well, which leave it, to be called otherwise, and which
// may be entered from now on.
const watched = unix.IN_OPEN | unix.IN_CREATE | unix.IN_ATTRIB | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK

// Watch observes a tree until it is closed, for one round after the other or several at
// once. It is safe for concurrent use.
type Watch struct {
	root string
	skip func(dir string) bool

	mu     sync.Mutex
	fd     int              // -1 once it is closed
	closed bool             // the last round ends it
	rest   chan struct{}    // closed when the last round ends
	dirs   map[int32]string // by watch descriptor: path below the root
	shut   map[string]bool  // directories that nobody of this user may enter
	rounds map[*Round]bool
	lost   string // why it can observe no more
	buf    []byte
	counts uint64 // the device whose directories count those in them; 0 where none is known to
}

// A Round is one observation of a tree. Its files have the names of the directories as
// they were called when the watch began, or when they came into the tree.
type Round struct {
	of   *Watch
	seen map[string]bool
	lost string
}

// Begin watches the tree below root, but for directories that skip names by their path
// below root. The caller closes the watch. An error says that the tree cannot be observed
// as a whole, for people.
func Begin(root string, skip func(dir string) bool) (*Watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnable, err)
	}
	w := &Watch{
		root: root, skip: skip, fd: fd, dirs: map[int32]string{}, shut: map[string]bool{}, rounds: map[*Round]bool{},
		buf: make([]byte, 64<<10),
	}
	w.counts = counting(root)
	if err := w.add("."); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return w, nil
}

// counting is the device of a directory, if its file system tells by the links of a
// directory how many others are in it. Of those that are not named here some tell it wrong.
func counting(dir string) uint64 {
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Statfs(dir, &fs) != nil || unix.Stat(dir, &st) != nil {
		return 0
	}
	switch int64(fs.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return uint64(st.Dev)
	}
	return 0
}

// leaf reports whether there is surely no directory in this one: it has its name and its
// own dot alone.
func (w *Watch) leaf(at string) bool {
	var st unix.Stat_t
	return w.counts != 0 && unix.Lstat(at, &st) == nil && uint64(st.Dev) == w.counts && st.Nlink == 2
}

// Round begins an observation, which the caller ends. It fails with why the tree cannot be
// observed any more under the names that it has now: then another watch can.
func (w *Watch) Round() (*Round, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, errors.New("the watch is closed")
	}
	w.drain()
	if w.lost != "" {
		return nil, errors.New(w.lost)
	}
	if len(w.rounds) == 0 {
		w.rest = make(chan struct{})
		go w.listen(w.rest)
	}
	r := &Round{of: w, seen: map[string]bool{}}
	w.rounds[r] = true
	return r, nil
}

// Take returns what was opened since the round began, or since the last Take.
func (r *Round) Take() Seen {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.of.drain()
	out := Seen{Files: slices.Sorted(maps.Keys(r.seen)), Lost: r.lost}
	clear(r.seen)
	r.lost = ""
	return out
}

// End ends the round. It is called once.
func (r *Round) End() {
	w := r.of
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.rounds, r)
	if len(w.rounds) > 0 {
		return
	}
	close(w.rest)
	if w.closed {
		_ = w.end() // nobody is left to be told
	}
}

// Close ends the watch, once the rounds that have begun have ended.
func (w *Watch) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if len(w.rounds) > 0 {
		return nil
	}
	return w.end()
}

func (w *Watch) end() error {
	fd := w.fd
	if w.fd = -1; fd < 0 {
		return nil
	}
	return unix.Close(fd)
}

// add watches a directory and those below it.
func (w *Watch) add(dir string) error {
	at, leave, err := w.reach(dir)
	defer leave()
	var wd int
	if err == nil {
		wd, err = unix.InotifyAddWatch(w.fd, at, watched)
	}
	switch {
	case errors.Is(err, unix.ENOENT) && dir != ".", errors.Is(err, unix.ENOTDIR) && dir != ".":
		return nil // it has gone meanwhile
	case errors.Is(err, unix.EACCES) && dir != "." && errors.Is(unix.Access(at, unix.X_OK), unix.EACCES):
		w.shut[dir] = true // whoever may not enter it opens nothing in it
		return nil
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%w: this user may watch no more directories (fs.inotify.max_user_watches)", ErrUnable)
	case err != nil:
		return fmt.Errorf("which files are opened cannot be observed in %s: %w", dir, err)
	}
	delete(w.shut, dir)
	if _, known := w.dirs[int32(wd)]; !known { // one that was moved keeps the path that it had
		w.dirs[int32(wd)] = dir
	}
	if w.leaf(at) {
		return nil
	}
	entries, err := os.ReadDir(at)
	leave() // before those below it are reached
	switch {
	case dir != "." && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)):
		return nil
	case err != nil:
		return fmt.Errorf("which files are opened cannot be observed in %s: %w", dir, err)
	}
	for _, e := range entries {
		if name := path.Join(dir, e.Name()); e.IsDir() && !w.skip(name) {
			if err := w.add(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// long is how many bytes of a path the system surely takes at once.
const long = unix.PathMax - unix.NAME_MAX - 2

// reach is a path by which the system finds a directory, however deep it lies, until the
// caller leaves it.
func (w *Watch) reach(dir string) (at string, leave func(), err error) {
	at, fd := filepath.Join(w.root, filepath.FromSlash(dir)), -1
	leave = func() {
		if fd >= 0 {
			_ = unix.Close(fd)
			fd = -1
		}
	}
	for err == nil && len(at) > long {
		cut := strings.LastIndexByte(at[:long], '/')
		from := unix.AT_FDCWD
		if fd >= 0 {
			from = fd
		}
		next, failed := unix.Openat(from, at[:cut], unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		leave()
		if fd, at, err = next, at[cut+1:], failed; failed != nil {
			fd = -1
		}
	}
	if fd >= 0 {
		at = fmt.Sprintf("/proc/self/fd/%d/%s", fd, at)
	}
	return at, leave, err
}

// often is how long what is opened waits to be taken in: 16384 files, the system's usual
// queue, are not opened in this time.
const often = 10 * time.Millisecond

// listen takes in what the system tells, so that its queue does not run over. Between
// rounds it may: then the next one needs another watch.
func (w *Watch) listen(rest <-chan struct{}) {
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		select {
		case <-rest:
			return
		case <-tick.C:
		}
		w.mu.Lock()
		w.drain()
		w.mu.Unlock()
	}
}

// lose says to all rounds, and to those to come, that something was not seen.
func (w *Watch) lose(why string) {
	w.lost = why
	for r := range w.rounds {
		r.lost = why
	}
}

// drain reads all that is queued. A watch that is closed has nothing.
func (w *Watch) drain() {
	for w.fd >= 0 {
		n, err := unix.Read(w.fd, w.buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			if err != nil && !errors.Is(err, unix.EAGAIN) {
				w.lose(err.Error())
			}
			return
		}
		for b := w.buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			wd, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
			end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:end], []byte{0})
			w.tell(wd, mask, string(name))
			b = b[end:]
		}
	}
}

func (w *Watch) tell(wd int32, mask uint32, name string) {
	dir, known := w.dirs[wd]
	switch {
	case mask&unix.IN_Q_OVERFLOW != 0:
		w.lose("more files were opened at once than the system can tell")
	case mask&unix.IN_IGNORED != 0:
		delete(w.dirs, wd)
	case !known || name == "":
	case mask&unix.IN_ISDIR == 0:
		if mask&unix.IN_OPEN != 0 {
			for r := range w.rounds {
				r.seen[path.Join(dir, name)] = true
			}
		}
	case mask&unix.IN_ATTRIB != 0:
		if below := path.Join(dir, name); w.shut[below] {
			w.lose("a directory was closed, and opened up: " + below)
		}
	case mask&unix.IN_MOVED_FROM != 0:
		w.lost = "a directory was moved"
	case mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		if below := path.Join(dir, name); !w.skip(below) {
			if err := w.add(below); err != nil {
				w.lose(err.Error())
			}
		}
	}
}
