package tool

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Limits of a search.
const (
	maxDepth     = 64
	maxSearched  = 50_000    // files
	maxFileBytes = 8 << 20   // a larger file is passed over
	maxLineBytes = 400       // of a match's text
	maxMatches   = 768 << 10 // bytes of all matches' texts and paths
	usualMatches = 200
)

type searchArgs struct {
	Text       string `json:"text"`
	Literal    bool   `json:"literal"`
	IgnoreCase bool   `json:"ignore_case"`
	Glob       string `json:"glob"`
	Path       string `json:"path"`
	Limit      int    `json:"limit"`
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text,omitempty"`
}

type found struct {
	Matches   []match `json:"matches"`
	Files     int     `json:"files"`
	Truncated bool    `json:"truncated"`
}

// seeker is one search under way.
type seeker struct {
	found
	room  *room
	dir   string
	glob  string
	line  *regexp.Regexp // nil: paths are what is looked for
	limit int
	bytes int
}

func (r *room) search(ctx context.Context, _ *Call, a searchArgs) (found, error) {
	dir, err := clean(orHere(a.Path))
	if err != nil {
		return found{}, err
	}
	s := &seeker{room: r, dir: dir, glob: a.Glob, limit: a.Limit, found: found{Matches: []match{}}}
	if s.limit == 0 {
		s.limit = usualMatches
	}
	if err := s.prepare(a); err != nil {
		return found{}, err
	}
	err = r.walk(ctx, dir, maxDepth, func(name string, d fs.DirEntry) error { return s.visit(ctx, name, d) })
	return s.found, err
}

func (s *seeker) prepare(a searchArgs) error {
	if a.Glob != "" {
		if strings.Count(a.Glob, "*") > 20 || strings.Count(a.Glob, "{") > 4 || !doublestar.ValidatePattern(a.Glob) {
			return problem(InvalidArguments, "%q is no glob that can be used; write one such as **/*.go", a.Glob)
		}
	}
	if a.Text == "" {
		return nil
	}
	text := a.Text
	if a.Literal {
		text = regexp.QuoteMeta(text)
	}
	if a.IgnoreCase {
		text = "(?i)" + text
	}
	line, err := regexp.Compile(text)
	if err != nil {
		return problem(InvalidArguments, "%q is no regular expression (%v); set literal to look for the text itself", a.Text, err)
	}
	s.line = line
	return nil
}

func (s *seeker) visit(ctx context.Context, name string, d fs.DirEntry) error {
	if d.IsDir() {
		if base := d.Name(); base == ".git" || base == ".hg" || base == ".svn" || base == ".jj" {
			return fs.SkipDir
		}
		return nil
	}
	if !d.Type().IsRegular() || !s.wants(name) {
		return nil
	}
	if s.Files++; s.Files > maxSearched {
		s.Files, s.Truncated = maxSearched, true
		return errEnough
	}
	if s.line == nil {
		return s.add(match{Path: name})
	}
	return s.lines(ctx, name)
}

func (s *seeker) wants(name string) bool {
	if s.glob == "" {
		return true
	}
	below := strings.TrimPrefix(name, s.dir+"/")
	if ok, err := doublestar.Match(s.glob, below); ok && err == nil {
		return true
	}
	if strings.Contains(s.glob, "/") {
		return false
	}
	ok, err := path.Match(s.glob, path.Base(name)) // a plain name is looked for everywhere
	return ok && err == nil
}

// add notes a match, or ends the search.
func (s *seeker) add(m match) error {
	if len(s.Matches) == s.limit || s.bytes > maxMatches {
		s.Truncated = true
		return errEnough
	}
	s.bytes += len(m.Path) + len(m.Text)
	s.Matches = append(s.Matches, m)
	return nil
}

// lines looks at the lines of a file. One that cannot be read has none.
func (s *seeker) lines(ctx context.Context, name string) error {
	f, info, err := s.room.open(name)
	if err != nil {
		return nil //nolint:nilerr // others may still be found
	}
	defer f.Close()
	if info.Size() > maxFileBytes {
		s.Truncated = true
		return nil
	}
	in := bufio.NewReader(io.LimitReader(f, maxFileBytes))
	if start, _ := in.Peek(512); bytes.IndexByte(start, 0) >= 0 {
		return nil
	}
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 && s.line.Match(line) {
			if err := s.add(match{name, number, cut(strings.ToValidUTF8(string(line), "\uFFFD"), maxLineBytes)}); err != nil {
				return err
			}
		}
		if err != nil {
			return nil //nolint:nilerr // the end of the file, or of what can be read
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
