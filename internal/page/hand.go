package page

import (
	"slices"
	"sync"
)

// hand is what a person has at hand and has not finished: edits of plans that can be undone,
// and comments that were not sent. It lives as long as the server. It is safe for concurrent
// use.
type hand struct {
	sync.Mutex
	undos    map[string][]undo    // by path, the newest last
	comments map[string][]Comment // by path
}

// undo is a text that an edit replaced, and what was done.
type undo struct {
	was  []byte
	is   string // digest of the text that the edit wrote
	said string
}

// Comment is what a person has to say of a step of a plan to the planner.
type Comment struct{ Step, Text string }

// mostUndone bounds the texts that are kept of one document, in bytes.
const mostUndone = 16 << 20

// handOf is what a user has at hand; "" is the person whose machine it is.
func (s *server) handOf(user string) *hand {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hands[user] == nil {
		s.hands[user] = newHand()
	}
	return s.hands[user]
}

func newHand() *hand { return &hand{undos: map[string][]undo{}, comments: map[string][]Comment{}} }

// did keeps an edit. Of a document that others changed in between only this one can be undone.
func (h *hand) did(path string, u undo) {
	h.Lock()
	defer h.Unlock()
	all := append(h.undos[path], u)
	size := 0
	for i, u := range slices.Backward(all) {
		if size += len(u.was); size > mostUndone && i < len(all)-1 {
			all = slices.Clone(all[i+1:])
			break
		}
	}
	h.undos[path] = all
}

// last is the newest edit of a document, nil for none.
func (h *hand) last(path string) *undo {
	h.Lock()
	defer h.Unlock()
	if all := h.undos[path]; len(all) > 0 {
		return &all[len(all)-1]
	}
	return nil
}

// undone forgets the newest edit of a document.
func (h *hand) undone(path string) {
	h.Lock()
	defer h.Unlock()
	if all := h.undos[path]; len(all) > 0 {
		h.undos[path] = all[:len(all)-1]
	}
}

// said are the comments on a document.
func (h *hand) said(path string) []Comment {
	h.Lock()
	defer h.Unlock()
	return slices.Clone(h.comments[path])
}

// comment puts the comment on a step; an empty text takes it away.
func (h *hand) comment(path string, c Comment) {
	h.Lock()
	defer h.Unlock()
	all := slices.DeleteFunc(slices.Clone(h.comments[path]), func(d Comment) bool { return d.Step == c.Step })
	if c.Text != "" {
		all = append(all, c)
	}
	h.comments[path] = all
}
