// Package observe sees which files of a directory tree are opened while something runs:
// in any language, at any depth of processes, through namespaces, without rights of its
// own.
//
// It sees that a file was opened, and not by whom: what others open meanwhile is seen as
// well. A file that is opened by a name outside of the tree, such as another hard link, is
// not seen, and a file whose existence alone is asked for is not opened.
//
// It must NEVER report less than it was asked to see without saying so: where the system
// lost something, or cannot observe at all, what was opened is not known.
package observe

import "errors"

// ErrUnable is why nothing is observed on a system that cannot do it, whatever the tree is.
var ErrUnable = errors.New("this system does not tell which files are opened")

// Seen is what was opened.
type Seen struct {
	Files []string // by path below the root, with slashes; sorted, each once
	// Lost is why this is not all that was opened, for people; "" where it is.
	Lost string
}
