// Package append measures what it costs to make facts durable.
//
// The one idea: the journal's price is given as a ratio, of the same rows on
// the same disk in the same process, each measurement beside its counterpart:
// one caller against transactions written by hand, sixty-four callers against
// one. Absolute times say more of the disk than of the store.
//
// It holds benchmarks only and must never be imported.
package append
