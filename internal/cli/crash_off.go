//go:build !crash

package cli

// crashPoint is nil: only a build for crash tests stops at numbered points.
var crashPoint func(string)
