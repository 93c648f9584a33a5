// Package effect carries the core's wishes out: it knows which package does
// what, and in which order the security of a verdict asks for it.
//
// The one idea: an effect goes in, one input for the core comes out, and
// nothing else decides. Before an attempt its protected files are put back and
// its checks asked; after it everything it started is dead before anything is
// compared; what was compared is compared again after the checks.
//
// It must never judge a step, write the journal, or let an agent's word stand
// for what the harness can see.
package effect
