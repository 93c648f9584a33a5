// Package check runs the checks of one step, each in a process of its own, and
// says what each answer means.
//
// The one idea: only the wait status of a process that the harness itself
// started, and whose whole tree is dead, can be a pass. Output is read for one
// purpose: to say of a status that it proves nothing, because no test was run or
// a command was not there. Output never makes a pass.
//
// What it must NEVER do: make a step done, which is the engine's to say from all
// the answers; read a result from a file; run a command that is not in the step;
// or let the environment of the harness through, but for what an allow-list and
// the step name.
package check
