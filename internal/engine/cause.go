package engine

import "strings"

// Cause is why the work of an agent ended as it did, apart from what its contract says:
// as its program told of itself.
type Cause struct {
	Kind CauseKind `json:"kind"`
	Text string    `json:"text,omitempty"` // in the agent's own words
	Next string    `json:"next,omitempty"` // what a person can do
	// Lasts: waiting does not change it.
	Lasts bool `json:"lasts,omitempty"`
}

// CauseKind says what kind of cause it is; none is not known.
type CauseKind string

const (
	NotStarted CauseKind = "not-started"
	NoLogin    CauseKind = "no-login"
	NoKey      CauseKind = "no-key"
	KeyRefused CauseKind = "key-refused"
	NoQuota    CauseKind = "quota"
	NoModel    CauseKind = "model"
	NoNetwork  CauseKind = "network"
	WasDenied  CauseKind = "denied" // it was not allowed to do something
	Crashed    CauseKind = "crash"
)

// Outside reports a cause that lies neither in the work nor in its contract.
func (c *Cause) Outside() bool {
	if c == nil {
		return false
	}
	switch c.Kind {
	case NotStarted, NoLogin, NoKey, KeyRefused, NoQuota, NoModel, NoNetwork:
		return true
	}
	return false
}

// causeWords say a kind to people.
var causeWords = map[CauseKind]string{
	NotStarted: "could not be run", NoLogin: "not logged in", NoKey: "no key", KeyRefused: "key refused", NoQuota: "no quota", NoModel: "no such model",
	NoNetwork: "no answer from the model", WasDenied: "denied", Crashed: "its program failed",
}

// plain is the cause as a journal can hold it, from a known kind.
func (c *Cause) plain() *Cause {
	if c == nil || c.Kind != "" && causeWords[c.Kind] == "" {
		return nil
	}
	return &Cause{Kind: c.Kind, Text: text(c.Text), Next: text(c.Next), Lasts: c.Lasts}
}

// String is the cause in a line, with what to do.
func (c *Cause) String() string {
	if c == nil {
		return ""
	}
	said := c.Text
	if w := causeWords[c.Kind]; w != "" {
		said = strings.TrimSuffix(w+": "+said, ": ")
	}
	if c.Next != "" {
		said += "; " + c.Next
	}
	return said
}
