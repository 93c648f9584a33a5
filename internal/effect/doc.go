// Package effect carries out the core's wishes. It knows which package does what, and
// in which order, so that a verdict is safe.
//
// An effect goes in, one input for the core comes out. Before an attempt, protected
// files are put back and the checks run. After the attempt, everything that it started
// is dead before anything is compared, and what was compared is compared again after
// the checks.
//
// It must never judge a step, write the journal, or accept an agent's word for what
// Piton can see itself.
package effect
