package plan

// Hash identifies the plan: the SHA-256, in hex, of its source bytes without
// the projected ones, which are the value of `status` in the frontmatter, each
// step's `**status:**` lines that match the projection's grammar, and one mark
// after a step's number. A plan that was not parsed is hashed as [Format] writes it.
func (p *Plan) Hash() string { return "" }

// SetStatus returns src with the projected bytes rewritten and every other byte
// as it was: the status in the frontmatter (if it has one, and status is not
// empty), and the mark of each step whose id is in marks (NoMark takes it away).
// The hash of the plan stays the same. Bytes that Parse refuses come back unchanged.
func SetStatus(src []byte, status string, marks map[string]Mark) []byte { return src }

// AssignIDs gives each step without an `id:` a slug of its title that is unique
// in the plan: lower-case letters and digits joined by hyphens, followed by -2,
// -3 … where an earlier step has it already. Parse has done so. The cost is linear.
func (p *Plan) AssignIDs() {}

// Find returns the indexes of the steps that a reference in `needs:` means: the
// step of that id, else every step of that number.
func (p *Plan) Find(ref string) []int { return nil }

// Format writes the plan in its canonical layout; parsing the result gives an
// equal tree, places, unreadable values and repeated labels apart.
func Format(p *Plan) []byte { return nil }
