package config

import "fmt"

// nearest returns a hint that names the known word closest to what was
// written, or "" where none is close. Ties go to the first.
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

// distance counts the edits between two words; it stops counting at limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
