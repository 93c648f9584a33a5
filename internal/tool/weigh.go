package tool

import (
	"context"
	"encoding/json"
	"fmt"
)

// A Target is a file that a call would change, as it is now.
type Target struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"` // SHA-256 in hex; "" is no file
}

// A Weight says what a call would do, and whether a person must be asked before.
type Weight struct {
	Effect  Effect   `json:"effect"`
	Asks    bool     `json:"asks"`             // a person says yes to this very call
	Reason  string   `json:"reason,omitempty"` // why, for people
	Named   bool     `json:"named,omitempty"`  // the configuration allows these very words
	Targets []Target `json:"targets"`          // what the call would change, never nil
	Hash    string   `json:"hash"`             // of the tool, its arguments and all of the above: what an approval is bound to
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

// byEffect is the weight of a tool that has no more to say. What a foreign tool does is
// not known, whatever it says of itself, unless the configuration says that it reads.
func byEffect(d Definition) Weight {
	switch {
	case d.Effect == Read, d.Effect == Create && !d.Foreign:
		return Weight{Effect: d.Effect}
	case d.Foreign:
		return Weight{Asks: true, Effect: d.Effect, Reason: fmt.Sprintf("what a tool of server %s does is not known here", d.Server)}
	}
	return Weight{Asks: true, Effect: d.Effect, Reason: fmt.Sprintf("%s has the effect %s", d.Name, d.Effect)}
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
