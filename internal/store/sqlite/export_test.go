package sqlite

// Waiting is how many appends wait for the one that is under way.
func (s *Store) Waiting() int {
	s.mu.Lock()
	o := s.owner
	s.mu.Unlock()
	o.queue.mu.Lock()
	defer o.queue.mu.Unlock()
	return len(o.queue.waiting)
}
