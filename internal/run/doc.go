// Package run holds the one loop: drain what came in, decide, commit once,
// reconcile what runs.
//
// The idea is the turn. All inputs that wait, results before commands before
// the clock, go through the core's Admit; Decide adds what follows until
// nothing does; all of it is one append; and only when that is durable are
// effects started or stopped, watchers told and callers answered. What should
// be running is asked of the state, never remembered, so a restart is a replay
// and nothing else.
//
// It is the only place where the core, the clock and effects meet. It must
// never decide anything about a step, start an effect inside a turn, or show
// what is not yet durable.
package run
