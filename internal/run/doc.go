// Package run holds the one loop: take what came in, decide, commit once, reconcile
// what runs.
//
// A turn takes all waiting inputs (results before commands before the clock) through
// the core's Admit. Decide adds events until nothing follows. All of them are one
// append. Only when that is durable are effects started or stopped, watchers told and
// callers answered. A read-only inquiry may start during the sync, unless the turn
// carries a person's input. What should be running is asked of the state and never
// remembered, so a restart is a replay and nothing else.
//
// It is the only place where the core, the clock and effects meet. It must never
// decide anything about a step, start work before its dispatch is durable, or show
// what is not durable.
package run
