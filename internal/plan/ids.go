package plan

import (
	"strconv"
	"strings"
)

// Longest ids in bytes: of a slug without the number behind it, and of any.
const (
	maxSlug = 60
	maxID   = 80
)

// AssignIDs gives each step without an `id:` a slug of its title that is unique
// in the plan: lower-case letters and digits joined by hyphens, followed by -2,
// -3 … where another step has it already. Parse has done so. The cost is linear.
func (p *Plan) AssignIDs() {
	ids := make(IDs, len(p.Steps))
	for _, s := range p.Steps {
		if s.ID.Set {
			ids.Take(s.ID.Value)
		}
	}
	for _, s := range p.Steps {
		if !s.ID.Set {
			s.ID.Value = ids.Free(Slug(s.Title.Value))
		}
	}
}

// IDs are ids that are taken, each with the number that is tried next behind it.
type IDs map[string]int

// Take notes an id that a step has.
func (ids IDs) Take(id string) { ids[id] = 2 }

// Free takes an id that no step has: base, or base-2, base-3 …
func (ids IDs) Free(base string) string {
	id := base
	for ids[id] > 0 {
		id = base + "-" + strconv.Itoa(ids[base])
		ids[base]++
	}
	ids.Take(id)
	return id
}

// Slug is the id that a title gives: its ASCII letters in lower case and its
// digits, joined by hyphens, at most 60 bytes. A title without any gives
// "step", one of digits alone gives "step-" and them.
func Slug(title string) string {
	var b strings.Builder
	b.Grow(min(len(title), maxSlug))
	gap, letters := false, false
	for i := range len(title) {
		c := title[i]
		if c >= 'A' && c <= 'Z' {
			c |= 32
		}
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			gap = b.Len() > 0
			continue
		}
		if b.Len() >= maxSlug-1 {
			break
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		letters = letters || c > '9'
		b.WriteByte(c)
	}
	switch {
	case b.Len() == 0:
		return "step"
	case !letters:
		return "step-" + b.String()
	}
	return b.String()
}

// ValidID reports whether s can be an `id:`. A number is none, since `needs:`
// takes numbers too.
func ValidID(s string) bool {
	letters := false
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z':
			letters = true
		case c >= '0' && c <= '9', i > 0 && (c == '-' || c == '_'):
		default:
			return false
		}
	}
	return letters && len(s) <= maxID && s != "none" && s != "n"
}

// Refs finds steps by what `needs:` and other references call them.
type Refs struct {
	ids     map[string]int
	numbers map[string][]int
	each    []int // every index, to be pointed at
	digits  bool  // an id is a number
}

// Refs builds the index of the plan's steps as they are now, in linear time.
func (p *Plan) Refs() Refs {
	size := len(p.Steps)
	r := Refs{ids: make(map[string]int, size), numbers: make(map[string][]int, size), each: make([]int, size)}
	for i, s := range p.Steps {
		r.each[i] = i
		if _, twice := r.ids[s.ID.Value]; !twice {
			r.ids[s.ID.Value] = i
		}
		r.digits = r.digits || isNumber(s.ID.Value)
		n := plainNumber(s.Number)
		if same := r.numbers[n]; len(same) > 0 {
			r.numbers[n] = append(same, i)
		} else {
			r.numbers[n] = r.only(i)
		}
	}
	return r
}

// Find returns the indexes of the steps that a reference means: the one of that
// id, else every step of that number. Several mean that the plan uses the
// number twice, so that the reference is ambiguous.
func (r Refs) Find(ref string) []int {
	if isNumber(ref) && !r.digits {
		return r.numbers[ref]
	}
	if i, ok := r.ids[ref]; ok {
		return r.only(i)
	}
	return r.numbers[plainNumber(ref)]
}

func (r Refs) only(i int) []int { return r.each[i : i+1 : i+1] }

func isNumber(s string) bool { return digits(s) == len(s) }

// plainNumber is a step's number with one spelling of the dash and no blanks.
func plainNumber(s string) string {
	if isNumber(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case '–', '—':
			return '-'
		case 'n':
			return 'N'
		case ' ':
			return -1
		}
		return r
	}, s)
}

// splitNumber splits "3–N. Title" after the point. The number is "1", "N",
// "N+1", or two of these with a dash between them. In the place of the point a
// bracket, a colon or a dash may stand: "1) Title", "1: Title", "1 - Title".
func splitNumber(s string) (number, rest string, ok bool) {
	n := term(s)
	if n == 0 {
		return "", s, false
	}
	if m := dash(s[n:]); m > 0 {
		if last := term(s[n+m:]); last > 0 {
			if rest, ok := pointed(s[n+m+last:]); ok {
				return s[:n+m+last], rest, true
			}
		}
	}
	rest, ok = pointed(s[n:])
	return s[:n], rest, ok
}

// pointed is what follows the point behind a number, or what stands for it.
func pointed(s string) (rest string, ok bool) {
	if m := dash(s); m > 0 && isSpace(s[0]) && isSpace(s[m-1]) {
		return s[m:], true
	}
	s = strings.TrimLeft(s, " ")
	if s == "" || strings.IndexByte(".):", s[0]) < 0 || len(s) > 1 && !isSpace(s[1]) {
		return "", false
	}
	return s[1:], true
}

// bareNumber splits "1 Title". It begins a step only where a step of that
// number is the next, and never in the notes: a heading of a text may begin
// with a number too.
func bareNumber(s string) (number, rest string, ok bool) {
	n := digits(s)
	if n == 0 || n > 9 || n == len(s) || !isSpace(s[n]) || strings.Trim(s[n:], white) == "" {
		return "", s, false
	}
	return s[:n], s[n:], true
}

// term is the length of the number that s begins with: digits, N, or N+digits.
func term(s string) int {
	if s == "" || s[0] != 'N' && s[0] != 'n' {
		n := digits(s)
		if n > 9 {
			return 0
		}
		return n
	}
	if len(s) > 2 && s[1] == '+' {
		if n := digits(s[2:]); n > 0 && n <= 9 {
			return 2 + n
		}
	}
	return 1
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// dash is the length of the dash that s begins with, blanks around it included.
func dash(s string) int {
	rest := strings.TrimLeft(s, " ")
	for _, d := range [...]string{"-", "–", "—"} {
		if after, ok := strings.CutPrefix(rest, d); ok {
			return len(s) - len(strings.TrimLeft(after, " "))
		}
	}
	return 0
}

// almostNumbered reports whether a heading was probably meant to begin a step:
// "1.2. Title", "Step 1: Title".
func almostNumbered(s string) bool {
	rest, isStep := cutFold(s, "step ")
	n := digits(rest)
	if n == 0 || n == len(rest) {
		return isStep && n > 0
	}
	switch rest[n] {
	case '.', ')', ':':
		return true
	}
	return isStep && dash(rest[n:]) > 0
}

// cutFold cuts an ASCII prefix whatever its case.
func cutFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}
