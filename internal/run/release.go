package run

import "maps"

// letGo stops the effects of a task and of the runs that carry out its steps.
func (h *Host) letGo(stream string, t *task, touched map[string]bool) {
	touched[stream], t.active = true, false
	for _, d := range t.state.Delegations() {
		if child := h.tasks[d.Task]; child != nil {
			h.letGo(d.Task, child, touched)
		}
	}
}

// released answers who waits until nothing of a task runs any more.
func (h *Host) released() {
	maps.DeleteFunc(h.releases, func(stream string, acks []chan error) bool {
		t := h.tasks[stream]
		if h.failed == nil && t != nil && !t.active && h.stops(t) {
			return false
		}
		if t != nil && !t.active {
			h.disown(stream, t)
		}
		for _, ack := range acks {
			ack <- h.failed
		}
		return true
	})
}

// stops reports whether effects of a task, or of the runs that carry out its
// steps, are still being stopped.
func (h *Host) stops(t *task) bool {
	if len(t.running)+len(t.unstarted) > 0 {
		return true
	}
	for _, d := range t.state.Delegations() {
		if child := h.tasks[d.Task]; child != nil && h.stops(child) {
			return true
		}
	}
	return false
}

// disown takes a task, and the runs that carry out its steps, from those that are
// carried on.
func (h *Host) disown(stream string, t *task) {
	h.mu.Lock()
	delete(h.carried, stream)
	h.mu.Unlock()
	for _, d := range t.state.Delegations() {
		if child := h.tasks[d.Task]; child != nil {
			h.disown(d.Task, child)
		}
	}
}
