// Package verify measures what it costs to judge a plan: the rules over a plan
// of 1,000 steps and one ten times as long, and `piton verify` of a short plan
// as a whole process.
//
// The one idea: the two lengths are measured in turns in one process, so that
// their ratio says more of the rules than of the machine; a rule that compares
// each step with each other shows at once.
//
//	go test -tags bench ./bench/verify -bench . -benchtime 5x
//
// It holds benchmarks only and must never be imported.
package verify
