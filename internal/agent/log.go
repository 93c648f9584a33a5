package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// MaxLog is the number of bytes that one attempt may add to its output file.
const MaxLog = 64 << 20

// logFile is the attempt's output file. Only the harness opens it, so it is
// what the agent printed, and what it was refused. It is made for the first byte.
type logFile struct {
	path string
	mu   sync.Mutex
	file *os.File // nil until something is written
	left int64
	full bool
	err  error
}

func newLog(path string) *logFile { return &logFile{path: path, left: MaxLog} }

// open makes the file and its directory.
func (l *logFile) open() error {
	if l.file != nil {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(l.path), 0o700)
	if err == nil {
		l.file, err = os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	return err
}

// write keeps what there is room for. It never fails: the agent is not to
// suffer from a full disk before the harness does.
func (l *logFile) write(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || l.full {
		return
	}
	if l.err = l.open(); l.err != nil {
		return
	}
	if l.full = int64(len(p)) > l.left; l.full {
		p = fmt.Appendf(p[:l.left:l.left], "\n… output beyond %d bytes is not kept …\n", MaxLog)
	}
	l.left -= int64(len(p))
	_, l.err = l.file.Write(p)
}

// note says why the file does not hold all output. A write that hangs keeps the lock.
func (l *logFile) note() string {
	if !l.mu.TryLock() {
		return "the output file is not complete: its disk does not answer"
	}
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return fmt.Sprintf("the output file is not complete: %v", l.err)
	case l.full:
		return fmt.Sprintf("the output file is not complete: at most %d bytes are kept", MaxLog)
	}
	return ""
}

func (l *logFile) close() {
	if !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
	}
}

// teeTo hands output to the log and the transcript and counts it as life.
type teeTo struct {
	log   *logFile
	pulse *pulse
	text  *transcript
}

func (t teeTo) Write(p []byte) (int, error) {
	t.pulse.touch()
	t.log.write(p)
	t.text.write(p)
	return len(p), nil
}
