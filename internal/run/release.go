package run

import "maps"

// family visits a task and those of the runs that carry out its steps.
func (h *Host) family(stream string, t *task, visit func(string, *task)) {
	visit(stream, t)
	if t.state == nil {
		return // the workspace's own work has none
	}
	for _, d := range t.state.Delegations() {
		if child := h.tasks[d.Task]; child != nil {
			h.family(d.Task, child, visit)
		}
	}
}

// letGo stops the effects of a task and of the runs that carry out its steps.
func (h *Host) letGo(stream string, t *task, touched map[string]bool) {
	h.family(stream, t, func(stream string, t *task) { touched[stream], t.active = true, false })
}

// released answers who waits until nothing of a task runs any more.
func (h *Host) released() {
	maps.DeleteFunc(h.releases, func(stream string, acks []chan error) bool {
		t := h.stream(stream)
		if h.failed == nil && t != nil && !t.active && h.stops(t) {
			return false
		}
		if t != nil && !t.active {
			h.mu.Lock()
			h.family(stream, t, func(stream string, _ *task) { delete(h.carried, stream) })
			h.mu.Unlock()
		}
		for _, ack := range acks {
			ack <- h.failed
		}
		return true
	})
}

// stops reports whether effects of a task, or of the runs that carry out its
// steps, are still being stopped.
func (h *Host) stops(t *task) (stops bool) {
	h.family("", t, func(_ string, t *task) { stops = stops || len(t.running)+len(t.unstarted) > 0 })
	return stops
}
