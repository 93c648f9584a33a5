package view

import (
	"maps"
	"slices"
)

// Foretelling are the codes of the findings that warn of what a run can show.
func Foretelling() []string { return slices.Sorted(maps.Keys(foretells)) }
