// Package verify judges a plan before anything of it runs, and compiles a valid plan
// into the program that the engine accepts.
//
// [Study] says what has to be looked up outside, the caller looks it up, and checking
// and compiling are pure functions of the plan and these [Facts]. A rule is a row of a
// table with an id and a check; its texts are in docs/findings.md and nowhere else.
// Compile is the only maker of programs, and refuses a plan that has an error.
//
// It must never look at a file, the environment, a clock or the network; never take
// more than linear time in the size of the plan; and never let a plan pass because it
// did not understand it.
package verify
