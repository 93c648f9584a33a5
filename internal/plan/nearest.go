package plan

import "fmt"

// Nearest returns a hint that names the known word [Closest] to what was written.
func Nearest(word string, known []string) string { return Meant(Closest(word, known)) }

// Meant is the hint that names a word; "" for none.
func Meant(word string) string {
	if word == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", word)
}

// Closest returns the known word closest to what was written, or "" where none is close.
// Ties go to the first. Its cost is one comparison a word.
func Closest(word string, known []string) string {
	best, at := len(word)/3+2, -1
	for i, k := range known {
		if d := distance(word, k, best); d < best && d < max(len(word), len(k)) { // something of it is alike
			best, at = d, i
		}
	}
	if at < 0 {
		return ""
	}
	return known[at]
}

// longName is how long a word may be that is compared without an allocation.
const longName = 64

// distance is the Levenshtein distance of two short strings, or more than limit. It is 0 where
// two neighbours have changed places: no other slip is as common.
func distance(a, b string, limit int) int {
	if swapped(a, b) {
		return 0
	}
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var buf [longName + 1]int
	row := buf[:]
	if len(b) > longName {
		row = make([]int, len(b)+1)
	}
	row = row[:len(b)+1]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
			least = min(least, cost)
		}
		if least > limit {
			return least
		}
	}
	return row[len(b)]
}

// swapped reports two words of which two neighbours have changed places.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
