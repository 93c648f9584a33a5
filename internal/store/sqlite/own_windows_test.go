package sqlite_test

import "errors"

// A lock cannot be left to a child here.
func leaveLockToChild([]string) error { return errors.ErrUnsupported }
func holdUntilEOF([]string) error     { return errors.ErrUnsupported }
