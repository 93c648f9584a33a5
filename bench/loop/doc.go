// Package loop measures what the harness itself costs a run: the core and the
// loop, without a process or a disk, and the way from a journal to what should
// be running.
//
// The one idea: a cost is given for each step, for a short plan and for one
// ten times as long. The two must not differ, because nothing may look at all
// steps for each event.
//
//	go test -tags bench ./bench/loop -bench . -benchtime 5x
//
// It holds benchmarks only and must never be imported.
package loop
