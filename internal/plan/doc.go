// Package plan reads and writes the plan document: Markdown that a person
// enjoys reading, and that one parser reads for display, hash and execution.
//
// The one idea: text and tree are two views of the same plan. [Parse] is a line
// scanner in linear time that gives as much tree as it can, with the place of
// every value and a [Problem] for everything it did not understand; [Format]
// writes a tree so that parsing it gives the same tree again; [SetStatus] shows
// progress in a file by rewriting the projected bytes and no other, and
// [Plan.Hash] is the SHA-256 of all bytes but those.
//
// What the package must never do: touch a file, a clock, the network or a
// process; guess at a value it could not read; take more than linear time; or
// let a byte that [Plan.Hash] leaves out change what a plan means.
//
// Whether a plan may run is not decided here. A Problem is what the text itself
// shows to be wrong; everything that needs the workspace, the configuration or
// a second step is a finding of package verify.
package plan
