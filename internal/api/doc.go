// Package api is what can be asked of Piton, once, for every face of it: read
// and approve a plan, open and steer a run, answer people's items, and list
// what there is.
//
// The one idea: reading goes to the journal, which any process may read, and
// every change is an input that one [Desk] takes: the owner's own loop, or the
// owner's socket for any other process. So the command line, a page and a tool
// server mean the same by the same word.
//
// It must never decide what counts as proof, and never act for an agent:
// commands from a process that a run started are refused.
package api
