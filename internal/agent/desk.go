package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/piton-dev/piton/internal/proc"
)

// MaxOutput is the largest output of an attempt that is kept, in bytes.
const MaxOutput = 1 << 20

// desk is what lies ready for an agent in its scratch directory.
type desk struct {
	report string // made empty, to be appended to
	output string // not made: whether it exists says whether it was written
	prompt string
	home   string
}

// newDesk takes an empty scratch directory into use. The report is not laid out:
// who has something to say makes it, and most say nothing.
func newDesk(scratch string) (desk, error) {
	d := desk{
		report: filepath.Join(scratch, "report.jsonl"), output: filepath.Join(scratch, "output"),
		prompt: filepath.Join(scratch, "prompt.md"), home: filepath.Join(scratch, "home"),
	}
	if !filepath.IsAbs(scratch) {
		return d, fmt.Errorf("scratch directory %q is not absolute", scratch)
	}
	entries, err := os.ReadDir(scratch)
	switch {
	case err != nil:
		return d, fmt.Errorf("open scratch directory: %w", err)
	case len(entries) > 0:
		return d, fmt.Errorf("scratch directory %s is not empty", scratch)
	}
	return d, nil
}

func (d desk) write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("lay out the agent's files: %w", err)
	}
	_, err = io.WriteString(f, text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("lay out the agent's files: %w", err)
	}
	return nil
}

func (d desk) writePrompt(text string) error { return d.write(d.prompt, text) }

func (d desk) makeHome() error {
	if err := os.Mkdir(d.home, 0o700); err != nil {
		return fmt.Errorf("make an isolated home: %w", err)
	}
	return nil
}

// clean removes what an agent may have made hard to remove: package caches in
// an isolated home are read-only trees. The rest is the caller's.
func (d desk) clean() { _ = proc.RemoveAll(d.home) }

// readOutput returns what the agent wrote to its output file, nil if nothing is
// there that can be read. The note says what is wrong with it.
func (d desk) readOutput() (body []byte, note string) {
	f, err := openRegular(d.output)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	if err != nil {
		return nil, fmt.Sprintf("the output file was not read: %v", err)
	}
	defer f.Close()
	body, err = io.ReadAll(io.LimitReader(f, MaxOutput+1))
	switch {
	case err != nil:
		return nil, fmt.Sprintf("the output file was not read: %v", err)
	case len(body) > MaxOutput:
		return body[:MaxOutput], fmt.Sprintf("the output file has more than %d bytes; the rest is not kept", MaxOutput)
	}
	return body, ""
}

var errNotRegular = errors.New("it is no regular file any more")

// openRegular opens a file that an agent may have replaced by anything. It
// never waits, follows no link and returns regular files only.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, plainError(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// plainError is err without its path, which no reader of a note can use.
func plainError(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
