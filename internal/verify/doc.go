// Package verify judges a plan before anything of it runs, and turns a plan
// that stands into the program that the machine accepts.
//
// The one idea: [Needs] says what has to be looked up outside, the caller looks
// it up, and [Check] and [Compile] are pure functions of the plan and those
// [Facts]. A rule is a value with an id, a text and a check, one file each.
// [Compile] is the only maker of programs, and it refuses a plan in which
// Check finds an error.
//
// It must never look at a file, the environment, a clock or the network; never
// take more than linear time in the size of the plan; and never let a plan pass
// because it did not understand it.
package verify
