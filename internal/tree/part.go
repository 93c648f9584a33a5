package tree

import (
	"errors"
	"path"
	"strings"
)

// A format knows how to take the part of a manifest that configures a runner
// out of its text, and how to put one back.
type format struct {
	// extract returns the part in a canonical form that ignores layout, or
	// nothing if the text has no such part. It fails if the text is malformed:
	// then all of it counts.
	extract func(text []byte, part string) ([]byte, error)
	// splice returns text with its part replaced by one that extract returned.
	splice func(text, part []byte, name string) ([]byte, error)
}

// errMalformed says that a text is not what its name promises, so that another
// program may see something else in it than this one.
var errMalformed = errors.New("malformed")

// maxManifest is how much of a manifest is looked into.
const maxManifest = keepProtected

// formatOf returns the format of "file#part", if there is one by which a part of
// such a file can count.
func formatOf(file, part string) *format {
	base := path.Base(file)
	switch {
	case part == "":
		return nil
	case strings.HasSuffix(base, ".json"):
		return &format{extractJSON, spliceJSON}
	case strings.HasSuffix(base, ".toml") && part == "tool":
		return &format{extractTOML, spliceTOML}
	case part == "run" && (file == ".git/config" || file == ".git/config.worktree" || base == ".gitconfig"):
		return &format{extractGit, spliceGit}
	}
	return nil
}

// splitPart separates "package.json#scripts". A name that no format knows is
// all path.
func splitPart(name string) (file, part string) {
	i := strings.LastIndexByte(name, '#')
	if i <= 0 || formatOf(name[:i], name[i+1:]) == nil {
		return name, ""
	}
	return name[:i], name[i+1:]
}

var byteOrderMark = []byte("\xef\xbb\xbf")
