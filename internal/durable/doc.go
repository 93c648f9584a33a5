// Package durable writes files that are there whole or not at all, and durably.
//
// It must never know what is in them, or follow anything below a workspace that
// an agent could have put there: for that there is os.Root.
package durable
