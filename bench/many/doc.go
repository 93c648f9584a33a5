// Package many measures what looking costs in a workspace where much has run:
// the verbs list, status and inbox, as whole processes, on a journal of a
// hundred and of ten thousand runs.
//
// The one idea: the journal is made by the real owner's loop over the real
// store, run by run, and is then looked at by the real program. The figures of
// the two journals must not differ by much, because nothing may cost more for
// runs that are not shown.
//
//	go test -tags bench ./bench/many -bench . -benchtime 100x
//
// The figures are milliseconds: the median and the 95th percentile, and the time of
// processors, which other work of the machine changes least. "version" is what the
// process alone costs.
//
// It holds benchmarks only and must never be imported.
package many
