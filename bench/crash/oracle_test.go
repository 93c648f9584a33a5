//go:build linux

package main

import "testing"

// TestTold: a check that this machine could not run in the proof at the end makes a
// step that is done wait, and that is no second end of it. One without a passing
// check is.
func TestTold(t *testing.T) {
	settled := func(verdict string) entry { return told("step.settled", "done", verdict) }
	passing := []entry{
		told("run.opened", "", ""), told("work.dispatched", "", ""),
		told("check.ended", "", "pass"), settled("pass"),
	}
	for name, c := range map[string]struct {
		then  []entry
		sound bool
	}{
		"the proof holds":            {[]entry{told("check.ended", "", "pass")}, true},
		"the proof is asked again":   {[]entry{told("check.ended", "", "infra"), settled("infra"), settled("infra"), told("check.ended", "", "pass")}, true},
		"it is done again":           {[]entry{settled("pass")}, false},
		"it is done without a check": {[]entry{told("check.ended", "", "fail"), settled("pass")}, false},
		"it works again":             {[]entry{told("work.dispatched", "", "")}, false},
	} {
		entries := append(append(passing[:len(passing):len(passing)], c.then...), told("run.ended", "", ""))
		w := &workspace{scenario: scenario{story: &story{}}}
		if err := w.told(entries, 1); (err == nil) != c.sound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func told(typ, status, verdict string) entry {
	e := entry{typ: typ}
	e.body.Step, e.body.Status, e.body.Verdict = "first", status, verdict
	return e
}
