package sqlite

// Self is what the lock file says of its holder.
func Self() string { return self().String() }

// Waiting is how many appends wait for the one that is under way.
func (s *Store) Waiting() int {
	s.mu.Lock()
	o := s.owner
	s.mu.Unlock()
	o.queue.mu.Lock()
	defer o.queue.mu.Unlock()
	return len(o.queue.waiting)
}

// WithNext makes c know a version more than this program does.
func (c Config) WithNext(migration string) Config {
	c.migrations = append(migrations(), migration)
	return c
}
