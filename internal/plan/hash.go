package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// Hash identifies the plan: the SHA-256, in hex, of its source bytes without
// the projected ones, which are the value of `status` in the frontmatter, each
// step's `**status:**` lines that match the projection's grammar, and one mark
// after a step's number. A plan that was not parsed is hashed as [Format] writes it.
func (p *Plan) Hash() string {
	if p.Source == nil {
		if q, _ := Parse(p.Name, Format(p)); q != nil {
			p = q
		}
	}
	h := sha256.New()
	at := 0
	for _, s := range p.projected {
		h.Write(p.Source[at:s.start])
		at = s.end
	}
	h.Write(p.Source[at:])
	return hex.EncodeToString(h.Sum(nil))
}

// SetStatus returns src with the projected bytes rewritten and every other byte
// as it was: the status in the frontmatter, and the mark of each step whose id
// is in marks ([NoMark] takes it away). The hash of the plan stays the same.
// What the text has no place for is left out: a status where the frontmatter has
// none, or that is not one word of lower-case letters and hyphens; a mark in a
// heading without a title. Bytes that Parse refuses come back unchanged.
func SetStatus(src []byte, status string, marks map[string]Mark) []byte {
	p, _ := Parse("", src)
	if p == nil {
		return bytes.Clone(src)
	}
	out := make([]byte, 0, len(src)+8*len(marks))
	at := 0
	put := func(s span, text string) {
		out = append(append(out, src[at:s.start]...), text...)
		at = s.end
	}
	if p.status.end > 0 && statusName(status) {
		put(p.status, status)
	}
	for i, s := range p.Steps {
		m, ok := marks[s.ID.Value]
		if !ok || p.marks[i].start < 0 || !m.valid() {
			continue
		}
		text := string(m)
		if m != NoMark {
			text += " "
		}
		put(p.marks[i], text)
	}
	return append(out, src[at:]...)
}

func statusName(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c != '-' || i == 0) {
			return false
		}
	}
	return s != ""
}

func (m Mark) valid() bool {
	return m == NoMark || m == MarkDone || m == MarkFailed || m == MarkSkipped || m == MarkWaiting
}
