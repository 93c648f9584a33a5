// Package engine decides what a run does next and what counts as proof.
//
// It is a pure fold. Commands and outside results enter through [State.Admit], which
// turns them into events or refuses them. [State.Decide] adds the events that now
// follow. [State.Apply] is the only mutation. [State.Pending] says what should be running
// now, as a function of the state and not of a transition. So there is no code for
// recovery: replay the journal, ask Pending, start what is missing.
//
// The journal holds the compiled [Program] and the events of this package. A later
// parser of plan documents cannot change how an old run replays, and this package must
// never import one.
//
// Every rule is a function of one step and of what holds for the whole run. Whatever
// changes a step touches it, and a touch renews its place in the indexes. So the cost of
// an event does not grow with the size of the plan.
//
// It must never read a clock, start a goroutine, use a channel or touch anything outside
// its arguments, and no event in the course of a run may cost a scan of all steps.
package engine
