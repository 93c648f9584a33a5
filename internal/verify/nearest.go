package verify

import (
	"fmt"
	"strconv"
)

func quote(s string) string { return strconv.Quote(s) }

// nearest returns a hint that names the known word closest to what was
// written, or "" where none is close. Its cost is one comparison a word.
func nearest(word string, known []string) string {
	best, at := len(word)/3+2, -1
	for i, k := range known {
		if d := distance(word, k, best); d < best {
			best, at = d, i
		}
	}
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", known[at])
}

// distance counts the edits between two words; it gives limit for more.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
