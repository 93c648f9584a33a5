// Package api is what can be asked of Piton, for every face: read and approve a
// plan, open and steer a run, answer items, and list what there is.
//
// Reading goes to the journal, which any process may read. Every change is a use
// case ([Uses]) that the owner of the workspace carries out; [Client] sends it there.
// So the command line, a page and a tool server mean the same by the same word.
//
// It must never decide what counts as proof, and never act for an agent: commands
// from a process that a run started are refused.
package api
