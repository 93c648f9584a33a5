package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// A Tier says what a call needs from people, the least first.
type Tier string

const (
	Free    Tier = "free"    // nothing
	Review  Tier = "review"  // that they saw these very arguments when they approved the plan
	Approve Tier = "approve" // that they say yes to this call
	Block   Tier = "block"   // nothing helps: it is not done
)

// tiers are in order.
func tierList() []Tier { return []Tier{Free, Review, Approve, Block} }

// Above reports whether t needs more than other.
func (t Tier) Above(other Tier) bool {
	return slices.Index(tierList(), t) > slices.Index(tierList(), other)
}

// A Target is a file that a call would change, as it is now.
type Target struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"` // SHA-256 in hex; "" is no file
}

// A Weight says what a person must be asked before a call, and why.
type Weight struct {
	Tier    Tier     `json:"tier"`
	Effect  Effect   `json:"effect"`
	Reasons []string `json:"reasons,omitempty"` // for people; the worst first
	Targets []Target `json:"targets"`           // what the call would change, never nil
	Hash    string   `json:"hash"`              // of the tool, its arguments and all of the above: what an approval is bound to
}

// Weigh looks at the workspace and says what a call would need. It changes
// nothing. An error is a *[Problem] that the call itself would have too.
func (r *Registry) Weigh(ctx context.Context, name string, args json.RawMessage) (Weight, error) {
	e, err := r.find(ctx, name)
	if err != nil {
		return Weight{}, err
	}
	if args, err = e.accept(ctx, args); err != nil {
		return Weight{}, err
	}
	w := byEffect(e.Definition)
	if e.Tool.Weigh != nil {
		if w, err = e.Tool.Weigh(ctx, args); err != nil {
			return Weight{}, asProblem(err)
		}
	}
	if w.Targets == nil {
		w.Targets = []Target{}
	}
	return w.sealed(e.Definition, args)
}

// sealed adds the hash.
func (w Weight) sealed(d Definition, args json.RawMessage) (Weight, error) {
	w.Hash = ""
	text, err := json.Marshal(struct {
		Tool, Definition string
		Args             json.RawMessage
		Weight           Weight
	}{d.Name, d.Hash(), args, w})
	w.Hash = hashOf(text)
	return w, err
}

// byEffect is the weight of a tool that has no more to say. What a foreign tool
// does is not known, whatever it says of itself.
func byEffect(d Definition) Weight {
	switch {
	case d.Foreign:
		return Weight{Tier: Approve, Effect: d.Effect, Reasons: []string{fmt.Sprintf("what a tool of server %s does is not known here", d.Server)}}
	case d.Effect == Read, d.Effect == Create:
		return Weight{Tier: Free, Effect: d.Effect}
	}
	return Weight{Tier: Approve, Effect: d.Effect, Reasons: []string{fmt.Sprintf("%s has the effect %s", d.Name, d.Effect)}}
}

// bound refuses a call whose target is not as it was shown.
func (c *Call) bound(now Target) error {
	if c.Shown == nil {
		return nil
	}
	for _, t := range c.Shown {
		if t.Path == now.Path && t.Before == now.Before {
			return nil
		}
	}
	return problem(Changed, "%s is not what was shown: it was changed, made or removed since", now.Path)
}
