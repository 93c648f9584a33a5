package page

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/piton-dev/piton/internal/lazy"
)

// maxDiff is how many lines of a difference are shown.
const maxDiff = 4000

// Difference is what changed in a file.
type Difference struct {
	FileChanged
	Anchor string // its id in the page
	Lines  []CodeLine
	More   string // that lines are left out
}

// CodeLine is a line of a difference.
type CodeLine struct {
	Tone, Sign string // a, d, hk or none
	Old, New   string // numbers
	Parts      []CodePart
}

// CodePart is a piece of a line: code of a kind, that was or was not changed within its line.
type CodePart struct {
	Kind string // kw a keyword, str a text, com a comment, lit a number; "" else
	Mark string // ins, del or none
	Text string
}

// differences takes the difference of several files, as git writes it, apart.
func differences(text string, files []FileChanged) []Difference {
	var all []Difference
	lines := 0
	for n, part := range strings.Split("\n"+text, "\ndiff --git ")[1:] {
		if n >= len(files) {
			break
		}
		d := Difference{FileChanged: files[n], Anchor: anchor(files[n].Path)}
		body := strings.Split(strings.TrimSuffix(part, "\n"), "\n")[1:]
		if most := maxDiff - lines; len(body) > most {
			d.More = fmt.Sprintf("… %d more lines; piton diff shows all", len(body)-max(0, most))
			body = body[:max(0, most)]
		}
		lines += len(body)
		d.Lines = fileLines(body, languageOf(files[n].Path))
		all = append(all, d)
	}
	return all
}

var hunkHead = lazy.Regexp(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// fileLines numbers and colours lines of one file.
func fileLines(body []string, lang *language) (lines []CodeLine) {
	before, after := 0, 0
	inside := false
	var was, is coder // the old text, and the new one
	was.lang, is.lang = lang, lang
	for i := 0; i < len(body); i++ {
		l := body[i]
		m := hunkHead().FindStringSubmatch(l)
		switch {
		case m != nil:
			before, _ = strconv.Atoi(m[1]) // the pattern has only numbers
			after, _ = strconv.Atoi(m[2])
			inside, was.in, is.in = true, "", ""
			lines = append(lines, CodeLine{Tone: "hk", Parts: []CodePart{{Text: l}}})
		case !inside:
			if !strings.HasPrefix(l, "index ") && !strings.HasPrefix(l, "--- ") && !strings.HasPrefix(l, "+++ ") {
				lines = append(lines, CodeLine{Tone: "hk", Parts: []CodePart{{Text: l}}})
			}
		case strings.HasPrefix(l, "-") || strings.HasPrefix(l, "+"):
			var gone, come []string
			for ; i < len(body) && strings.HasPrefix(body[i], "-"); i++ {
				gone = append(gone, body[i][1:])
			}
			for ; i < len(body) && strings.HasPrefix(body[i], "+"); i++ {
				come = append(come, body[i][1:])
			}
			i--
			lines = append(lines, changedLines(gone, come, &was, &is, before, after)...)
			before, after = before+len(gone), after+len(come)
		case strings.HasPrefix(l, `\`):
			lines = append(lines, CodeLine{Tone: "hk", Parts: []CodePart{{Text: l}}})
		default:
			l = strings.TrimPrefix(l, " ")
			was.parts(l, nil, "")
			lines = append(lines, CodeLine{Old: strconv.Itoa(before), New: strconv.Itoa(after), Parts: is.parts(l, nil, "")})
			before, after = before+1, after+1
		}
	}
	return lines
}

// changedLines are lines that went, and those that came in their place. Where as many came as
// went, each is compared with the one that it took the place of.
func changedLines(gone, come []string, was, is *coder, before, after int) (lines []CodeLine) {
	a, b := make([][][2]int, len(gone)), make([][][2]int, len(come))
	if len(gone) == len(come) {
		for i := range gone {
			a[i], b[i] = words(gone[i], come[i])
		}
	}
	for i, l := range gone {
		lines = append(lines, CodeLine{Tone: "d", Sign: "−", Old: strconv.Itoa(before + i), Parts: was.parts(l, a[i], "del")})
	}
	for i, l := range come {
		lines = append(lines, CodeLine{Tone: "a", Sign: "+", New: strconv.Itoa(after + i), Parts: is.parts(l, b[i], "ins")})
	}
	return lines
}

// Bounds on what is compared word by word.
const (
	mostWords = 200
	alike     = 0.3 // the part of two lines that is the same, below which they are different lines
)

var word = lazy.Regexp(`[\p{L}\p{N}_]+|\s+|.`)

// words finds the parts of two lines that are not in the other, as ranges of bytes.
func words(a, b string) (gone, come [][2]int) {
	x, y := word().FindAllStringIndex(a, -1), word().FindAllStringIndex(b, -1)
	if len(x) > mostWords || len(y) > mostWords || len(x) == 0 || len(y) == 0 {
		return nil, nil
	}
	same := func(i, j int) bool { return a[x[i][0]:x[i][1]] == b[y[j][0]:y[j][1]] }
	long := make([][]int, len(x)+1) // of what both have from there on, in bytes
	for i := range long {
		long[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			long[i][j] = max(long[i+1][j], long[i][j+1])
			if same(i, j) {
				long[i][j] = max(long[i][j], long[i+1][j+1]+x[i][1]-x[i][0])
			}
		}
	}
	if float64(2*long[0][0]) < alike*float64(len(a)+len(b)) || a == b {
		return nil, nil
	}
	mark := func(all [][2]int, at []int) [][2]int {
		if n := len(all); n > 0 && all[n-1][1] == at[0] {
			all[n-1][1] = at[1]
			return all
		}
		return append(all, [2]int{at[0], at[1]})
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && same(i, j) && long[i][j] == long[i+1][j+1]+x[i][1]-x[i][0]:
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && long[i+1][j] >= long[i][j+1]:
			gone, i = mark(gone, x[i]), i+1
		default:
			come, j = mark(come, y[j]), j+1
		}
	}
	return gone, come
}

// language is how code of a family is written.
type language struct {
	line     []string // begin a comment to the end of the line
	open     string   // begins a comment that may have several lines
	shut     string   // ends it
	quotes   string   // begin and end texts
	across   string   // those of texts that may have several lines
	keywords map[string]bool
}

func keywords(text string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		all[w] = true
	}
	return all
}

// The families. A word that is none of a language does no harm.
var (
	curly = &language{[]string{"//"}, "/*", "*/", "\"'`", "`", keywords(`abstract as async await break case catch chan class const constexpr continue crate
		default defer delete do else enum export extends extern false final finally fn for func function go goto if impl implements import in interface
		let loop map match mod move mut namespace new nil null nullptr override package private protected pub public range return select self static
		struct super switch template this throw trait true try type typedef typeof undefined union unsafe use using val var virtual void where while with yield`)}
	hash = &language{[]string{"#"}, "", "", "\"'", "", keywords(`and as assert async await begin break case class continue def del do done elif else elsif end
		ensure esac except exit export false fi finally for from function global if import in is lambda local module next nil None not null or pass raise
		require rescue return self set then true True False try unless until use when while with yield`)}
	dash = &language{[]string{"--"}, "/*", "*/", "'\"", "", keywords(`add alter and as begin between by case column commit constraint create default delete
		distinct drop else end exists foreign from function group having if in index inner insert integer into is join key left like limit local not null
		on or order primary references returns return select set table text then transaction union unique update values view when where while with`)}
	angle   = &language{nil, "<!--", "-->", "\"", "", nil}
	sheetOf = &language{nil, "/*", "*/", "\"'", "", nil}
)

// languages are the families by the ends, or the whole, of names.
var languages = sync.OnceValue(func() map[string]*language {
	all := map[string]*language{}
	for lang, endings := range map[*language]string{
		curly:   ".go .js .mjs .cjs .ts .tsx .jsx .java .c .h .cc .cpp .hpp .cs .rs .swift .kt .kts .scala .php .dart .zig .proto .json",
		hash:    ".py .rb .sh .bash .zsh .yaml .yml .toml .pl .r .tf .ini .mk Makefile Dockerfile .ex .exs .jl .cmake",
		dash:    ".sql .lua .hs .elm .ada",
		angle:   ".html .xml .svg .vue .svelte",
		sheetOf: ".css .scss .less",
	} {
		for e := range strings.FieldsSeq(endings) {
			all[e] = lang
		}
	}
	return all
})

// languageOf is the family of a file by its name; nil for none.
func languageOf(file string) *language {
	all := languages()
	return cmp.Or(all[path.Ext(file)], all[path.Base(file)])
}

// coder reads code line by line. What began in a line above it goes on.
type coder struct {
	lang *language
	in   string // what ends the comment, or the text, that the line begins in
}

// longest is how long a line may be to be read as code.
const longest = 2000

// parts reads a line. marks are the ranges of it that get a mark.
func (c *coder) parts(l string, marks [][2]int, mark string) (parts []CodePart) {
	at := 0
	for _, w := range append(c.tokens(l), token{to: len(l)}) {
		for at < w.to {
			to, kind, m := w.to, w.kind, ""
			if at < w.from {
				to, kind = w.from, ""
			}
			for _, r := range marks {
				switch {
				case r[0] <= at && at < r[1]:
					to, m = min(to, r[1]), mark
				case at < r[0]:
					to = min(to, r[0])
				}
			}
			parts, at = append(parts, CodePart{kind, m, l[at:to]}), to
		}
	}
	return parts
}

// token is a part of a line that has a colour.
type token struct {
	kind     string
	from, to int
}

// tokens are what of a line has a colour.
func (c *coder) tokens(l string) (all []token) {
	if c.lang == nil || len(l) > longest {
		return nil
	}
	emit := func(kind string, from, to int) { all = append(all, token{kind, from, to}) }
	for i := 0; i < len(l); {
		switch rest := l[i:]; {
		case c.in != "":
			end, kind := len(l), "str"
			if c.in == c.lang.shut {
				kind = "com"
			}
			if n := strings.Index(rest, c.in); n >= 0 {
				end, c.in = i+n+len(c.in), ""
			}
			emit(kind, i, end)
			i = end
		case c.lang.comments(rest):
			emit("com", i, len(l))
			i = len(l)
		case c.lang.open != "" && strings.HasPrefix(rest, c.lang.open):
			c.in = c.lang.shut
			if n := strings.Index(rest[len(c.lang.open):], c.in); n >= 0 {
				end := i + len(c.lang.open) + n + len(c.in)
				emit("com", i, end)
				i, c.in = end, ""
			} else {
				emit("com", i, len(l))
				i = len(l)
			}
		case strings.IndexByte(c.lang.quotes, l[i]) >= 0:
			end, closed := quotedEnd(rest)
			if !closed && strings.IndexByte(c.lang.across, l[i]) >= 0 {
				c.in = l[i : i+1]
			}
			if !closed && c.in == "" && l[i] == '\'' { // an apostrophe, or a lifetime
				i++
				break
			}
			emit("str", i, i+end)
			i += end
		case letter(l[i]):
			n := i
			for n < len(l) && (letter(l[n]) || digit(l[n])) {
				n++
			}
			if w := l[i:n]; c.lang.keywords[w] || c.lang == dash && c.lang.keywords[strings.ToLower(w)] {
				emit("kw", i, n)
			}
			i = n
		case digit(l[i]):
			n := i
			for n < len(l) && (letter(l[n]) || digit(l[n]) || l[n] == '.') {
				n++
			}
			emit("lit", i, n)
			i = n
		default:
			i++
		}
	}
	return all
}

// comments reports whether a comment begins that goes to the end of the line.
func (g *language) comments(rest string) bool {
	for _, mark := range g.line {
		if strings.HasPrefix(rest, mark) {
			return true
		}
	}
	return false
}

// quotedEnd is where a text ends that begins with its quote.
func quotedEnd(rest string) (end int, closed bool) {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			if rest[0] != '`' {
				i++
			}
		case rest[0]:
			return i + 1, true
		}
	}
	return len(rest), false
}

func letter(b byte) bool {
	return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}
func digit(b byte) bool { return b >= '0' && b <= '9' }
