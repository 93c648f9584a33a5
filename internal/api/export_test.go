package api

import "time"

// ListenFor serves the place's socket with waits of a test's own.
func ListenFor(p Place, s Serving, head, body, idle time.Duration) (*Listener, error) {
	return listenFor(p, s, waits{head: head, body: body, idle: idle})
}
