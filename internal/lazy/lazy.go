// Package lazy has what is made at its first use and costs too much to be made by every
// process that starts: many live for a few milliseconds.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp gives the compiled expression. It is safe for concurrent use, and panics for an
// expression that is none.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
