// Package owner is the process that owns a workspace. It carries out the use cases of
// package api, and runs what they begin.
//
// Only this process writes the journal; every other process asks it. It starts when
// somebody has a request. It reads, verifies, compiles and journals by itself. It ends
// when nothing is left to do and nobody is connected.
//
// It must never believe what a client says about itself: the system says who sent a
// request. It must never start the effects of a run that nobody wants to continue.
package owner
