// Package view is what a face shows, as values: runs, their steps, items that wait
// for people, plans, findings, and what happened in a run. Each has one JSON form,
// which programs read, and each status has one word. A face renders these values
// and adds nothing to them; this package knows no terminal, reads no clock and
// opens no file.
package view
