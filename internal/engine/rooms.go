package engine

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Nowhere is a scope that holds no file of a workspace.
const Nowhere = "/dev/null"

// Rooms lists the directories, with all below them, that a scope consists of; why says why
// it is none that the system could hold a process to: that knows directories, and neither
// single names nor patterns.
func Rooms(writes []string) (dirs []string, why string) {
	if len(writes) == 0 {
		return nil, "it may write anywhere: it has no `writes:`"
	}
	for _, w := range writes {
		if w == Nowhere {
			continue
		}
		dir, all := strings.CutSuffix(w, "/**")
		dir = path.Clean(dir)
		parts := strings.Split(strings.ToLower(dir), "/")
		switch {
		case !all || strings.ContainsAny(dir, `*?[{\`) || path.IsAbs(dir):
			return nil, fmt.Sprintf("the system cannot hold it to %q, only to whole directories, such as `writes: build/**`", w)
		case dir == "." || parts[0] == "..", slices.Contains(parts, ".git"), slices.Contains(parts, ".piton"):
			return nil, fmt.Sprintf("%q may hold files of Git or Piton", w)
		}
		dirs = append(dirs, dir)
	}
	return dirs, ""
}

// Held reports a step whose scripts, contract and checks run inside a boundary where the
// policy asks nobody for what is of low risk: without network, and unable to change a file
// but below the directories of its scope.
func (s *Step) Held() bool {
	_, why := Rooms(s.Writes)
	return s.Offline() && why == ""
}
