package notes

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of a map.
const (
	maxMapDepth = 8
	maxMapLines = 200
	maxMapBytes = 8 << 10
	maxMapLine  = 160 // bytes of the names of one directory's files
)

// mapped is a map of the files below a directory.
func (from Sources) mapped(root *os.Root, dir string) Content {
	dir = path.Clean(dir)
	if !filepath.IsLocal(filepath.FromSlash(dir)) {
		return missing("it is not a path inside the workspace")
	}
	if info, err := root.Lstat(filepath.FromSlash(dir)); err != nil {
		return missing(why(err))
	} else if !info.IsDir() {
		return missing("it is no directory")
	}
	if from.Below == nil {
		return missing("files cannot be listed here")
	}
	names, more, err := from.Below(dir)
	switch {
	case err != nil:
		return missing(oneLine(err.Error()))
	case len(names) == 0:
		return missing("there is no file below it that may be shown")
	}
	return shown([]byte(drawn(dir, names, more)))
}

// drawn is a map of the files below dir, to the greatest depth to which it fits.
func drawn(dir string, names []string, more int) string {
	head := fmt.Sprintf("%d files\n", len(names))
	if more > 0 {
		head = fmt.Sprintf("%d files, and %d more are left out\n", len(names), more)
	}
	for depth := maxMapDepth; ; depth-- {
		lines := make([]string, 0, maxMapLines)
		size := len(head)
		for _, p := range placesOf(dir, names, depth) {
			lines = append(lines, p.String())
			size += len(lines[len(lines)-1])
		}
		if len(lines) <= maxMapLines && size <= maxMapBytes {
			return head + strings.Join(lines, "")
		}
		if depth == 1 {
			return head + cut(lines, maxMapBytes-len(head))
		}
	}
}

// cut are the first lines, at most size bytes of them, and how many there are besides.
func cut(lines []string, size int) string {
	var b strings.Builder
	for i, line := range lines {
		if i == maxMapLines || b.Len()+len(line) > size {
			fmt.Fprintf(&b, "… %d more directories\n", len(lines)-i)
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// place is a directory of a map.
type place struct {
	dir   string
	files []string // the names of those in it
	deep  int      // the number of those further down than the map goes
}

// placesOf are the directories that have files, sorted. What is more than depth directories
// below dir is counted in the directory above it.
func placesOf(dir string, names []string, depth int) []*place {
	places := map[string]*place{}
	for _, name := range names {
		at, deep := within(dir, path.Dir(name), depth)
		if places[at] == nil {
			places[at] = &place{dir: at}
		}
		if p := places[at]; deep {
			p.deep++
		} else {
			p.files = append(p.files, path.Base(name))
		}
	}
	sorted := make([]*place, 0, len(places))
	for _, p := range places {
		sorted = append(sorted, p)
	}
	slices.SortFunc(sorted, func(a, b *place) int { return strings.Compare(a.dir, b.dir) })
	return sorted
}

// within is the directory at that is not more than depth below dir, and whether that cuts it.
func within(dir, at string, depth int) (string, bool) {
	begin := 0
	if dir != "." {
		begin = len(dir) + 1
	}
	for i := begin; i < len(at); i++ {
		if at[i] != '/' {
			continue
		}
		if depth--; depth == 0 {
			return at[:i], true
		}
	}
	return at, false
}

// String is the line of a map.
func (p *place) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/ (%d", plainName(p.dir), len(p.files))
	if p.deep > 0 {
		fmt.Fprintf(&b, ", and %d further down", p.deep)
	}
	b.WriteByte(')')
	names := 0
	for i, name := range p.files {
		name = " " + plainName(name)
		if names += len(name); names > maxMapLine && i > 0 {
			fmt.Fprintf(&b, " … %d more", len(p.files)-i)
			break
		}
		b.WriteString(name)
	}
	b.WriteByte('\n')
	return b.String()
}

// plainName is a name as a line can hold it: in quotes where it has spaces, or characters
// that do not print.
func plainName(name string) string {
	if quoted := fmt.Sprintf("%q", name); quoted != `"`+name+`"` || strings.Contains(name, " ") {
		return quoted
	}
	return name
}
