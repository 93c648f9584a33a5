package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// opens notes what a check was the first to open of what judges.
func (s *State) opens(o *Opened) {
	if o != nil && o.Judges != "" && !slices.Contains(s.run.Judges, o.Judges) {
		s.run.Judges = append(s.run.Judges, o.Judges)
	}
}

// opensFirst keeps what the checks opened before any work.
func (st *step) opensFirst() {
	st.Before, st.Observed = nil, false
	for _, c := range st.Checks {
		if c.Opened != nil {
			before := *c.Opened
			before.Shared = c.Shared
			st.Observed = st.Observed || before.Unseen == ""
			st.Before = append(st.Before, before)
		} else {
			st.Before = append(st.Before, Opened{})
		}
	}
}

// rests notes which files the complete answers rest on that the step itself changed. What
// it may write is its work, which the checks are there to judge; what changed outside of that is
// not. A file that a step made is its own work too; one that another step's proof opened first is
// not. What was not seen on a system that sees is not taken for nothing.
func (s *State) rests(i int) {
	st, p, own := &s.steps[i], s.prog.Step(i), s.prog.Step(i).ID
	if pattern, of := s.prog.Pattern(i); of {
		own = s.prog.Step(pattern).ID
	}
	st.Rests, st.Gone, st.Unseen = nil, nil, ""
	for n, c := range st.Checks {
		if c.Opened == nil {
			continue
		}
		for _, path := range c.Opened.Made {
			if s.run.Made == nil {
				s.run.Made = map[string]string{}
			}
			if s.run.Made[path] == "" {
				s.run.Made[path] = own
			}
		}
		output := func(path string) bool { return n < len(st.Before) && slices.Contains(st.Before[n].Wrote, path) }
		if len(p.Writes) > 0 {
			st.Rests = append(st.Rests, slices.DeleteFunc(slices.Clone(c.Opened.Beyond), output)...)
			continue
		}
		if c.Opened.Unseen != "" && (!c.Opened.Dark || st.Observed) {
			st.Unseen = cmp.Or(st.Unseen, c.Opened.Unseen)
		}
		st.Gone = append(st.Gone, c.Opened.Gone...)
		st.Rests = append(st.Rests, slices.DeleteFunc(slices.Clone(c.Opened.Changed), output)...)
		for _, path := range c.Opened.Made {
			if s.run.Made[path] != own {
				st.Rests = append(st.Rests, path)
			}
		}
	}
	if Said(st.Checks) != Pass {
		st.Rests, st.Gone = nil, nil // there is no proof that could rest on them
	}
	st.Rests, st.Gone = less(sorted(st.Rests), st.Vouched.Files), less(sorted(st.Gone), st.Vouched.Gone)
}

// resting says what the proof rests on that the step itself changed; "" is nothing.
func (s *State) resting(i int) string {
	var said []string
	st := &s.steps[i]
	if scoped := len(s.prog.Step(i).Writes) > 0; scoped && len(st.Rests) > 0 {
		said = append(said, "the checks opened files outside `writes:` that changed during the work: "+few(st.Rests))
	} else if len(st.Rests) > 0 {
		said = append(said, "the checks opened what the step itself changed: "+few(st.Rests))
	}
	if len(st.Gone) > 0 {
		said = append(said, "the checks opened before the work, and no more: "+few(st.Gone))
	}
	if st.Unseen != "" {
		said = append(said, "which files the checks opened is not known: "+st.Unseen)
	}
	return strings.Join(said, "; ")
}

// few names the first of some paths.
func few(paths []string) string {
	const most = 5
	named := strings.Join(paths[:min(most, len(paths))], ", ")
	if more := len(paths) - most; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return named
}
