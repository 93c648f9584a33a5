package plan

// span is a range of bytes.
type span struct{ start, end int }

// Parse reads a plan. The name is for messages only. A broken plan still gives
// as much tree as can be read; the Plan is nil only if the bytes are refused
// altogether: larger than [MaxBytes], not UTF-8, or with a NUL in them. Problems
// come in the order of their places. The cost is linear in len(src). Parse keeps
// a copy of src, not src.
func Parse(name string, src []byte) (*Plan, []Problem) {
	return New(name), nil
}
