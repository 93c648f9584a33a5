package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"strings"
)

// A Digest says what a path is: "-" if nothing is there, else a letter for its
// kind and, after a colon, the SHA-256 of what the kind is made of.
//
//	f, x   a file, an executable file: its content
//	l      a symbolic link: its target
//	d      a directory; what is in it has digests of its own
//	p      the counting part of a file (see [Tree.Protect]): that part
//	v      nothing that can be reached without going through a link: the link
//	u      something that may not be read
//	o      a device, a socket, a pipe: its type
//
// Two digests are equal exactly if nothing that counts differs.
type Digest string

// Absent is the digest of a path where nothing is.
const Absent Digest = "-"

const (
	directory  Digest = "d"
	unreadable Digest = "u:denied"
	broken     Digest = "o:broken" // a .git that git cannot read, in a manifest
)

func digestOf(kind byte, content []byte) Digest {
	sum := sha256.Sum256(content)
	return Digest(string(kind) + ":" + hex.EncodeToString(sum[:]))
}

func (d Digest) kind() byte {
	if d == "" {
		return '-'
	}
	return d[0]
}

// sum is the hex SHA-256 of the content, or "".
func (d Digest) sum() string {
	if len(d) == 2+2*sha256.Size {
		return string(d[2:])
	}
	return ""
}

// isFile reports whether the digest is that of a regular file.
func (d Digest) isFile() bool { return d.kind() == 'f' || d.kind() == 'x' }

// valid reports whether this package could have written d.
func (d Digest) valid() bool {
	switch d.kind() {
	case '-', 'd':
		return len(d) == 1
	case 'u', 'o':
		return len(d) > 2 && d[1] == ':'
	case 'f', 'x', 'l', 'p', 'v':
		return len(d.sum()) > 0 && d[1] == ':' && strings.Trim(d.sum(), hexDigits) == ""
	}
	return false
}

// what names the difference between two digests that are not equal, in the
// words of engine.Change.
func what(was, is Digest) string {
	class := func(d Digest) byte {
		if d.isFile() || d.kind() == 'p' {
			return 'f'
		}
		return d.kind()
	}
	switch {
	case was == Absent:
		return "added"
	case is == Absent:
		return "removed"
	case is.kind() == 'u' || was.isFile() && is.isFile() && was.sum() == is.sum():
		return "mode"
	case class(was) != class(is):
		return "type"
	}
	return "changed"
}

// fileKind is the letter of a regular file.
func fileKind(mode fs.FileMode) byte {
	if mode&0o100 != 0 {
		return 'x'
	}
	return 'f'
}
