package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// A Code says for programs what went wrong with a call.
type Code string

const (
	NotFound         Code = "not_found"         // the file, the directory, or the tool itself
	Exists           Code = "exists"            // something is there already
	InvalidArguments Code = "invalid_arguments" // they do not fit the schema, or make no sense
	Denied           Code = "denied"            // by the system, by a rule, or by a list that does not name it
	OutsideWorkspace Code = "outside_workspace" // the path leads out
	NotAFile         Code = "not_a_file"        // a directory, a link, a pipe, a device
	NotText          Code = "not_text"          // bytes that are no UTF-8 text
	TooLarge         Code = "too_large"         // more than the limit, which the message names
	Changed          Code = "changed"           // what was shown is no longer what is there
	TimedOut         Code = "timeout"           // the call took longer than it may
	Cancelled        Code = "cancelled"         // the harness ended it
	Unavailable      Code = "unavailable"       // a server or this machine does not answer; trying again may help
	InvalidOutput    Code = "invalid_output"    // what came back does not fit the output schema
	Failed           Code = "failed"            // the tool did its work, and that went wrong
)

// A Problem is why a call has no output. The message is for people, in one line.
type Problem struct {
	Code    Code
	Message string
	Exit    int // of the process that was run; 0 where there was none
	cause   error
}

func (p *Problem) Error() string { return p.Message }

// Unwrap returns the system's own error, if there is one.
func (p *Problem) Unwrap() error { return p.cause }

// Final reports whether the call is refused by what it says and the configuration,
// so that it fails whatever the workspace or the system is like by then.
func (p *Problem) Final() bool {
	return p.cause == nil && (p.Code == Denied || p.Code == OutsideWorkspace)
}

func problem(c Code, format string, args ...any) *Problem {
	return &Problem{Code: c, Message: fmt.Sprintf(format, args...)}
}

// escapes is what os.Root says of a path that leads out; it exports no value for it.
const escapes = "path escapes from parent"

// asProblem puts a code to any error of a call.
func asProblem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	p := &Problem{Code: Failed, Message: err.Error(), cause: err}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		p.Code = TimedOut
	case errors.Is(err, context.Canceled):
		p.Code = Cancelled
	}
	return p
}

// onFile puts a code and plain words to an error of the file system.
func onFile(name string, err error) *Problem {
	p := asProblem(err)
	if p.cause == nil {
		return p
	}
	said := func(c Code, format string) *Problem {
		return &Problem{Code: c, Message: fmt.Sprintf(format, name), cause: err}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return said(NotFound, "%s is not there")
	case errors.Is(err, fs.ErrExist):
		return said(Exists, "%s is there already")
	case strings.HasSuffix(err.Error(), escapes):
		return said(OutsideWorkspace, "%s leads out of the workspace")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return said(Denied, "the system does not allow that for %s")
	case errors.Is(err, syscall.ENOTDIR):
		return said(NotAFile, "%s lies below something that is no directory")
	case errors.Is(err, syscall.EISDIR):
		return said(NotAFile, "%s is a directory")
	case errors.Is(err, syscall.ELOOP):
		return said(NotAFile, "%s is a link that leads nowhere, or one too many")
	}
	return p
}
