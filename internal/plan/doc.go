// Package plan reads and writes the plan document: Markdown that a person can read, and
// that one parser reads for display, hash and execution.
//
// Text and tree are two views of the same plan. [Parse] is a line scanner in linear
// time. It gives as much tree as it can, with the place of every value, and a
// [Problem] for everything that it did not understand. [Format] writes a tree so that
// parsing it gives the same tree again. [SetStatus] shows progress in a file by
// rewriting the projected bytes and no others. [Plan.Hash] is the SHA-256 of all other
// bytes.
//
// It must never touch a file, a clock, the network or a process; guess at a value that
// it could not read; take more than linear time; or let a byte that [Plan.Hash] leaves
// out change what a plan means.
//
// It does not decide whether a plan may run. A Problem is what the text alone shows to
// be wrong. Everything that needs the workspace, the configuration or a second step is
// a finding of package verify.
package plan
