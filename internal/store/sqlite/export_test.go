package sqlite

import "testing"

// WaitForEver has connections that are opened wait for others without an end.
func WaitForEver(t *testing.T) {
	before := busyMillis
	busyMillis = 1<<31 - 1
	t.Cleanup(func() { busyMillis = before })
}

// Waiting is how many appends wait for the one that is under way.
func (s *Store) Waiting() int {
	s.mu.Lock()
	o := s.owner
	s.mu.Unlock()
	o.queue.mu.Lock()
	defer o.queue.mu.Unlock()
	return len(o.queue.waiting)
}
