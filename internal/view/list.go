package view

import (
	"cmp"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
)

// moving reports whether the journal may have a run that people see so as running:
// it is interrupted where nobody carries it on, and waits where a run does that
// carries out a step of it.
func moving(s engine.Status) bool {
	return s == engine.Running || s == Interrupted || s == engine.Waiting
}

// Stored are the statuses that the journal has for those that people see.
func Stored(asked []engine.Status) []engine.Status {
	in := slices.DeleteFunc(slices.Clone(asked), func(s engine.Status) bool { return s == Interrupted })
	if slices.ContainsFunc(asked, moving) && !slices.Contains(in, engine.Running) {
		in = append(in, engine.Running)
	}
	return in
}

// Among tells the runs that stand as was asked from those that only the journal
// takes for such; nil if it takes none.
func Among(asked []engine.Status, by Stands) func(engine.HeadRow) bool {
	if !slices.ContainsFunc(asked, moving) {
		return nil
	}
	return func(h engine.HeadRow) bool { return slices.Contains(asked, by.Of(h)) }
}

// Families puts the runs that carry out steps of another one of the list behind
// that one.
func Families(heads []engine.HeadRow) []engine.HeadRow {
	below, here := map[string][]engine.HeadRow{}, map[string]bool{}
	for _, h := range heads {
		here[h.Run] = true
	}
	for _, h := range heads {
		if here[h.Parent.Run] {
			below[h.Parent.Run] = append(below[h.Parent.Run], h)
		}
	}
	var all []engine.HeadRow
	var add func(h engine.HeadRow)
	add = func(h engine.HeadRow) {
		all = append(all, h)
		for _, child := range slices.Backward(below[h.Run]) {
			add(child)
		}
	}
	for _, h := range heads {
		if !here[h.Parent.Run] {
			add(h)
		}
	}
	return all
}

// inPlace puts the instances of steps below the steps that they are of.
func inPlace(rows []engine.StepRow) []engine.StepRow {
	place := make(map[string]int, len(rows))
	for _, r := range rows {
		place[r.ID] = r.Index
	}
	of := func(r engine.StepRow) int {
		if pattern, instance := engine.InstanceOf(r.ID); instance {
			return place[pattern]
		}
		return r.Index
	}
	slices.SortStableFunc(rows, func(a, b engine.StepRow) int { return cmp.Or(of(a)-of(b), a.Index-b.Index) })
	return rows
}
