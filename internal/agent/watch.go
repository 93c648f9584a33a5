package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// maxStrange is how many keys that mean nothing are named.
const maxStrange = 5

// pollEvery is how often a report is looked at while its agent works. A look
// that finds nothing new costs one open file.
const pollEvery = 250 * time.Millisecond

// A watch hands on the reports of an agent while it works.
type watch struct {
	path  string
	tell  func(Report)
	pulse *pulse

	lines  lines
	file   os.FileInfo // that was read last
	offset int64       // up to where
	told   int

	stop chan struct{}
	done chan struct{}
}

func startWatch(path string, tell func(Report), p *pulse) *watch {
	if tell == nil {
		tell = func(Report) {}
	}
	w := &watch{path: path, tell: tell, pulse: p, stop: make(chan struct{}), done: make(chan struct{})}
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
		}
	}
}

// finish looks a last time. Nothing is handed on afterwards.
func (w *watch) finish() {
	close(w.stop)
	<-w.done
	w.look()
	w.lines.end(w.take)
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
		w.lines, w.offset = lines{}, 0
	}
	w.file = info
	n, _ := eachLine(io.NewSectionReader(f, w.offset, MaxReport-w.offset), &w.lines, w.take)
	if w.offset += n; n > 0 {
		w.pulse.touch()
	}
}

func (w *watch) take(line []byte) {
	if r, ok := parseReport(line); ok && w.told < MaxReports {
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
func readClaims(path string) (c Claims, notes []string) {
	f, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, []string{fmt.Sprintf("the report was not read: %v", err)}
	}
	defer f.Close()
	var l lines
	malformed, many, odd := 0, 0, 0
	var first string
	var none []string // keys that mean nothing
	take := func(line []byte) {
		r, ok := parseReport(line)
		for _, key := range strange(line) {
			if key = fmt.Sprintf("%.60q", key); len(none) < maxStrange && !slices.Contains(none, key) {
				none = append(none, key)
			}
		}
		switch {
		case !ok:
			if malformed++; malformed == 1 {
				first = fmt.Sprintf("%.200s", plainText(string(line)))
			}
		case !c.add(r):
			many++
		case r.Odd:
			odd++
		}
	}
	n, err := eachLine(io.LimitReader(f, MaxReport), &l, take)
	l.end(take)
	notes = counted(notes, malformed, "lines of the report that were not understood: %d; the first: "+strings.ReplaceAll(first, "%", "%%"))
	if len(none) > 0 {
		notes = append(notes, "words of the report that mean nothing: "+strings.Join(none, ", "))
	}
	notes = counted(notes, odd, "lines of the report that say of tokens or cost what cannot be, of which too much counts as the most that can and the rest as not known: %d")
	notes = counted(notes, l.tooLong, "lines of the report that were too long: %d")
	notes = counted(notes, many, "discoveries or questions beyond those kept: %d")
	if err != nil {
		notes = append(notes, fmt.Sprintf("the report was not read to its end: %v", plainError(err)))
	} else if info, err := f.Stat(); err == nil && info.Size() > n {
		notes = append(notes, fmt.Sprintf("the report has %d bytes; the first %d were read", info.Size(), n))
	}
	return c, notes
}

// counted adds a note of what was counted, unless there was nothing of it.
func counted(notes []string, n int, format string) []string {
	if n > 0 {
		notes = append(notes, fmt.Sprintf(format, n))
	}
	return notes
}
