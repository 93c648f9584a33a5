// Package check runs the checks of one step, each in its own process, and says what
// each answer means.
//
// Only the wait status of a process that Piton itself started, and whose whole tree is
// dead, can be a pass. Output is read for one purpose: to find that a status proves
// nothing, because no test ran or a command was missing. Output never makes a pass.
//
// It must NEVER make a step done, which the engine decides from all answers; read a
// result from a file; run a command that is not in the step; or pass on the
// environment, except an allow-list and the names in the step.
package check
