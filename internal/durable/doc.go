// Package durable writes files durably: a file is there as a whole, or not at all.
//
// It must never know what is in them, or follow anything below a workspace that an
// agent could have put there: for that there is os.Root.
package durable
