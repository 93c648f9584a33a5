// Package run holds the one loop: drain what came in, decide, commit once,
// reconcile what runs.
//
// The idea is the turn. All inputs that wait, results before commands before
// the clock, go through the core's Admit; Decide adds what follows until
// nothing does; all of it is one append; and only when that is durable are
// effects started or stopped, watchers told and callers answered; but an
// inquiry, which may be repeated, begins while the disk syncs where no person's
// word stands behind it and nothing it does could be taken for a step's work. What should be running is asked of the state, never
// remembered, so a restart is a replay and nothing else.
//
// It is the only place where the core, the clock and effects meet. It must
// never decide anything about a step, start work before its dispatch is
// durable, or show what is not.
package run
