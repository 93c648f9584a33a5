package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/piton-dev/piton/internal/proc"
)

// column says how a table shows one of its columns. One column, the flexible
// one, gets what the others leave.
type column struct {
	most  int  // columns it may take
	right bool // for numbers
	flex  bool
	least int // narrower terminals do without it
}

// cell is a text that is one safe line, and its colour.
type cell struct {
	text string
	tone tone
}

const gap = 2 // blanks between columns

// table lays rows out within the theme's width. Its cost is linear in the cells.
func (t theme) table(cols []column, rows [][]cell) []string {
	widths := t.widths(cols, rows)
	lines := make([]string, len(rows))
	for n, row := range rows {
		lines[n] = t.row(cols, widths, row)
	}
	return lines
}

// widths measures the columns; one that is not shown has the width 0.
func (t theme) widths(cols []column, rows [][]cell) []int {
	widths := make([]int, len(cols))
	for i, c := range cols {
		if t.width < c.least {
			continue
		}
		for _, row := range rows {
			widths[i] = max(widths[i], min(ansi.StringWidth(row[i].text), max(c.most, 0)))
		}
	}
	left := t.width - 1
	for i, c := range cols {
		if !c.flex && widths[i] > 0 {
			left -= widths[i] + gap
		}
	}
	for i, c := range cols {
		if c.flex && t.width >= c.least {
			widths[i] = min(max(left, 0), widest(rows, i))
		}
	}
	return widths
}

func widest(rows [][]cell, i int) int {
	w := 0
	for _, row := range rows {
		w = max(w, ansi.StringWidth(row[i].text))
	}
	return w
}

// row is one line: never wider than the terminal, never blank at its end.
func (t theme) row(cols []column, widths []int, row []cell) string {
	last := 0
	for i, c := range row {
		if c.text != "" && widths[i] > 0 {
			last = i
		}
	}
	var b strings.Builder
	b.WriteByte(' ')
	left := t.width - 1
	for i, c := range row[:last+1] {
		w := min(widths[i], left)
		if widths[i] == 0 || w <= 0 {
			continue
		}
		text := t.pad(c.text, w)
		if cols[i].right {
			text = t.right(c.text, w)
		} else if i == last {
			text = t.fit(c.text, left) // nothing stands behind it
		}
		b.WriteString(t.paint(c.tone, text))
		if left -= w + gap; i < last && left > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// sides is a line with a text at its left end and one at its right. Where it has no room for
// both, the second one is below the first, and further in. Nothing is cut.
func (t theme) sides(left, right cell) []string {
	between := t.width - ansi.StringWidth(left.text) - ansi.StringWidth(right.text)
	if right.text != "" && between >= gap {
		return []string{t.paint(left.tone, left.text) + strings.Repeat(" ", between) + t.paint(right.tone, right.text)}
	}
	lines := []string{t.paint(left.tone, left.text)}
	if ansi.StringWidth(left.text) > t.width {
		lines = t.under(3, left.tone, left.text)
		lines[0] = strings.TrimLeft(lines[0], " ")
	}
	if right.text == "" {
		return lines
	}
	return append(lines, t.under(3, right.tone, right.text)...)
}

// some joins as many of the parts as have room in w columns, the first ones first. None is cut.
func (t theme) some(parts []string, w int) string {
	for n := len(parts); n > 0; n-- {
		if s := strings.Join(parts[:n], strings.Repeat(" ", gap)); ansi.StringWidth(s) <= w {
			return s
		}
	}
	return ""
}

// under writes lines that belong to the row above them.
func (t theme) under(indent int, c tone, text string) []string {
	indent = min(indent, t.width/2)
	var lines []string
	for _, l := range t.wrap(text, t.width-indent) {
		in := indent
		if w := ansi.StringWidth(l); w <= t.width { // a path may need the room
			in = min(indent, t.width-w)
		}
		lines = append(lines, strings.Repeat(" ", in)+t.paint(c, l))
	}
	return lines
}

// fold breaks a text into lines, the first of which is indented by first. Where no person
// reads, it stays one line.
func (t theme) fold(first, rest int, text string) []string {
	if t.whole {
		return []string{strings.Repeat(" ", first) + text}
	}
	lines := t.under(rest, plainTone, text)
	lines[0] = strings.Repeat(" ", first) + strings.TrimLeft(lines[0], " ")
	return lines
}

// quoteTail shows the end of captured output below a row.
func (t theme) quoteTail(indent int, text string, n int) []string {
	indent = min(indent, t.width/4)
	return t.barred(indent, t.tail(text, n, t.width-indent-2))
}

// quoteEnds is quoteTail of both outputs of a check.
func (t theme) quoteEnds(indent int, stdout, stderr string, n int) []string {
	indent = min(indent, t.width/4)
	return t.barred(indent, t.ends(stdout, stderr, n, t.width-indent-2))
}

// barred are quoted lines, which fit.
func (t theme) barred(indent int, quoted []string) []string {
	var lines []string
	for _, l := range quoted {
		lines = append(lines, strings.Repeat(" ", indent)+t.paint(idleTone, t.fit(t.bar(), t.width-indent))+l)
	}
	return lines
}

// mostWords is how many lines are shown of a model's words.
const mostWords = 5

// claimed shows the first lines of what a model said, below whose words they are.
func (t theme) claimed(indent int, whose, text string) []string {
	indent = min(indent, t.width/4)
	said := t.beginning(text, t.width-indent-2)
	if said == nil {
		return nil
	}
	blank := strings.Repeat(" ", indent)
	lines := []string{t.fit(blank+whose, t.width)}
	for _, l := range said {
		lines = append(lines, blank+t.paint(idleTone, t.bar())+l)
	}
	return lines
}

// beginning are the first lines of a text that are not empty, each safe and at most w
// columns wide; a sign says that there are more.
func (t theme) beginning(text string, w int) []string {
	var lines []string
	for l := range strings.SplitSeq(proc.Plain([]byte(text)), "\n") {
		if l = t.captured(l); l == "" {
			continue
		}
		if len(lines) == mostWords {
			return append(lines, t.dots())
		}
		lines = append(lines, t.fit(l, w))
	}
	return lines
}

// quote shows a text whole, each of its lines on lines of its own.
func (t theme) quote(indent int, text string) []string {
	indent = min(indent, t.width/4, max(0, t.width-narrowest-2))
	edge := strings.Repeat(" ", indent) + t.paint(idleTone, t.bar())
	var lines []string
	for l := range strings.SplitSeq(strings.Trim(proc.Plain([]byte(text)), "\n"), "\n") {
		for _, part := range t.wrap(t.captured(l), t.width-indent-2) {
			lines = append(lines, strings.TrimRight(edge+part, " "))
		}
	}
	return lines
}

// script shows shell text whole, each of its lines on lines of its own.
func (t theme) script(indent int, text string) []string {
	var lines []string
	sign := "$ "
	for l := range strings.SplitSeq(proc.Plain([]byte(text)), "\n") {
		if l = t.captured(l); l != "" {
			lines = append(lines, t.under(indent, plainTone, sign+l)...)
			sign = "  "
		}
	}
	return lines
}

func printLines(w io.Writer, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintln(w, strings.Join(lines, "\n"))
	}
}
