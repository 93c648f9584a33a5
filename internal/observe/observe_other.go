//go:build !linux

package observe

// Watch cannot be had on this system.
type Watch struct{}

// Round cannot be had on this system.
type Round struct{}

// Begin says that this system cannot observe.
func Begin(string, func(dir string) bool) (*Watch, error) { return nil, ErrUnable }

// Round says that this system cannot observe.
func (*Watch) Round() (*Round, error) { return nil, ErrUnable }

// Take returns nothing.
func (*Round) Take() Seen { return Seen{Lost: ErrUnable.Error()} }

// End does nothing.
func (*Round) End() {}

// Close does nothing.
func (*Watch) Close() error { return nil }
