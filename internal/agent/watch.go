package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// maxStrange is how many keys that mean nothing are named.
const maxStrange = 5

// pollEvery is how often a report is looked at while its agent works. A look
// that finds nothing new costs one open file.
const pollEvery = 250 * time.Millisecond

// claimEvery is the least time between two looks at what an agent claims.
const claimEvery = 5 * time.Second

// A watch reads the report of an agent while it works, and hands it on.
type watch struct {
	path  string
	tell  func(Report) // may be nil
	claim func(Claims) // may be nil
	text  *transcript
	pulse *pulse

	now     ledger
	before  engine.Usage // told by what the report was before it was written anew
	file    os.FileInfo  // that was read last
	offset  int64        // up to where
	told    int
	claimed Claims
	looked  time.Time // at the claims

	stop chan struct{}
	done chan struct{}
}

func startWatch(w *watch) *watch {
	w.stop, w.done = make(chan struct{}), make(chan struct{})
	go w.poll()
	return w
}

func (w *watch) poll() {
	defer close(w.done)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			w.look()
			w.claims()
		}
	}
}

// finish looks a last time. Nothing is handed on afterwards. It returns the claims
// of the report as it is now, and the most that it ever told of what was used. The
// notes say what of it was no report.
func (w *watch) finish() (Claims, []string) {
	close(w.stop)
	<-w.done
	w.look()
	w.now.lines.end(w.take)
	c, notes := readClaims(w.path)
	c.Usage = most(c.Usage, most(w.before, w.now.Usage))
	return c, notes
}

// claims hands on what is claimed, where that has changed.
func (w *watch) claims() {
	if w.claim == nil || time.Since(w.looked) < claimEvery {
		return
	}
	w.looked = time.Now()
	c := Claims{Usage: most(w.text.usage(), most(w.before, w.now.Usage)), Claims: w.now.Claims.Claims}
	if !reflect.DeepEqual(c, w.claimed) {
		w.claimed = c
		c.Questions, c.Discoveries = slices.Clone(c.Questions), slices.Clone(c.Discoveries)
		w.claim(c)
	}
}

// look reads what is new. A file that is another one, or shorter than before,
// is read from its start.
func (w *watch) look() {
	f, err := openRegular(w.path)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	if w.file != nil && !os.SameFile(w.file, info) || info.Size() < w.offset {
		w.before = most(w.before, w.now.Usage)
		w.now, w.offset = ledger{}, 0
	}
	w.file = info
	n, _ := eachLine(io.NewSectionReader(f, w.offset, MaxReport-w.offset), &w.now.lines, w.take)
	if w.offset += n; n > 0 {
		w.pulse.touch()
	}
}

func (w *watch) take(line []byte) {
	if r, ok := w.now.take(line); ok && w.tell != nil && w.told < MaxReports {
		w.told++
		w.tell(r)
	}
}

// eachLine feeds all of r to l and returns how many bytes that were.
func eachLine(r io.Reader, l *lines, take func([]byte)) (n int64, err error) {
	buf := make([]byte, 32<<10)
	for {
		k, err := r.Read(buf)
		l.feed(buf[:k], take)
		n += int64(k)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// readClaims reads a report as it is now; without a file nothing was claimed.
// The notes say what of it was no report.
func readClaims(path string) (Claims, []string) {
	f, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Claims{}, nil
	}
	if err != nil {
		return Claims{}, []string{fmt.Sprintf("the report was not read: %v", err)}
	}
	defer f.Close()
	var l ledger
	take := func(line []byte) {
		l.take(line)
		l.wonder(line)
	}
	n, err := eachLine(io.LimitReader(f, MaxReport), &l.lines, take)
	l.lines.end(take)
	notes := l.notes()
	if err != nil {
		notes = append(notes, fmt.Sprintf("the report was not read to its end: %v", plainError(err)))
	} else if info, err := f.Stat(); err == nil && info.Size() > n {
		notes = append(notes, fmt.Sprintf("the report has %d bytes; the first %d were read", info.Size(), n))
	}
	return l.Claims, notes
}

// A ledger is what the lines of a report come to.
type ledger struct {
	Claims
	lines lines

	malformed, many, odd int
	first                string   // line that was no report
	none                 []string // keys that mean nothing
}

// take adds a line; false if it is no report.
func (l *ledger) take(line []byte) (Report, bool) {
	r, ok := parseReport(line)
	switch {
	case !ok:
		if l.malformed++; l.malformed == 1 {
			l.first = fmt.Sprintf("%.200s", plainText(string(line)))
		}
	case !l.add(r):
		l.many++
	case r.Odd:
		l.odd++
	}
	return r, ok
}

// wonder notes the keys of a line that mean nothing.
func (l *ledger) wonder(line []byte) {
	for _, key := range strange(line) {
		if key = fmt.Sprintf("%.60q", key); len(l.none) < maxStrange && !slices.Contains(l.none, key) {
			l.none = append(l.none, key)
		}
	}
}

// notes say for people what of the report was not taken.
func (l *ledger) notes() (notes []string) {
	notes = counted(notes, l.malformed, "lines of the report that were not understood: %d; the first: "+strings.ReplaceAll(l.first, "%", "%%"))
	if len(l.none) > 0 {
		notes = append(notes, "words of the report that mean nothing: "+strings.Join(l.none, ", "))
	}
	notes = counted(notes, l.odd, "lines of the report with tokens or a cost that cannot be true: %d; more than 10^12 tokens count as 10^12, more than $1,000,000 as $1,000,000, and what is no amount as unknown")
	notes = counted(notes, l.lines.tooLong, "lines of the report that were too long: %d")
	return counted(notes, l.many, "discoveries, questions or frames beyond those kept: %d")
}

// counted adds a note of what was counted, unless there was nothing of it.
func counted(notes []string, n int, format string) []string {
	if n > 0 {
		notes = append(notes, fmt.Sprintf(format, n))
	}
	return notes
}
