package verify

// OfText reports a rule that the parser of plans keeps.
func OfText(r Rule) bool { return r.check == nil && r.step == nil }

// Judges are the rules that the code has.
func Judges() []Rule { return judges() }
