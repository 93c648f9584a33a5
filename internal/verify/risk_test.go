package verify_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// weigh stands for the registry: what only looks begins with look, what makes
// a file is write_file.
func weigh(calls []verify.Call) map[string]verify.Weight {
	all := map[string]verify.Weight{}
	for _, c := range calls {
		w := verify.Weight{Tier: engine.FreeTier, Effect: "read"}
		switch {
		case c.Tool == "run_command" && strings.HasPrefix(c.Args, `{"command":"look`):
			w.Effect = "command"
		case c.Tool == "run_command":
			w = verify.Weight{Tier: engine.ReviewTier, Effect: "command", Reason: "runs code"}
		case c.Tool == "write_file":
			w.Effect = "create"
		}
		all[c.String()] = w
	}
	return all
}

func TestHazards(t *testing.T) {
	const held = "**writes:** none\n**network:** no\n"
	const proof = "**contract:**\n```shell\nlook out\n```\n"
	for _, tc := range []struct{ name, step, want string }{
		{"script", "**target:** script\n" + held + "**task:** `look at`\n" + proof, ""},
		{"role of a shell", "**target:** sh\n" + held + "**task:** `look at`\n" + proof, ""},
		{"agent", "**target:** coder\n" + held + proof, "an agent does it: nothing keeps it off the network or from deleting files"},
		{"nobody known", "**target:** nobody\n" + held + proof, "an agent does it: nothing keeps it off the network or from deleting files"},
		{"script that acts", "**target:** script\n" + held + "**task:** `act`\n" + proof, "its script does more than look: runs code"},
		{"check that acts", "**target:** script\n" + held + "**task:** `look`\n" + proof + "**checks:**\n- lint: `act`\n", `its check "lint" does more than look: runs code`},
		{"setup that acts", "**target:** script\n**workspace:** worktree\n" + held + "**task:** `look`\n**setup:**\n```shell\nact\n```\n" + proof, "its setup does more than look: runs code"},
		{"no scope", "**target:** script\n**network:** no\n**task:** `look`\n" + proof, "it may write anywhere: it has no `writes:`"},
		{"network", "**target:** script\n**writes:** none\n**task:** `look`\n" + proof, "what it runs may use the network: it has no `network: no`"},
		{"network of the contract", "**target:** script\n**writes:** none\n**network:** contract\n**task:** `look`\n" + proof, "what it runs may use the network: it has no `network: no`"},
		{"full mode", "**target:** script\n**mode:** full\n" + held + "**task:** `look`\n" + proof, "its `mode` is full"},
		{"items", "**target:** script\n**for each:** a, b\n" + held + "**task:** `look`\n" + proof, "what it does for each item is only known when it runs"},
		{"call that looks", "**tool:** read_file\n**args:**\n```json\n{\"path\":\"a\"}\n```\n", ""},
		{"call that looks, proved by what may use the network", "**tool:** read_file\n**args:**\n```json\n{\"path\":\"a\"}\n```\n" + proof, "what it runs may use the network: it has no `network: no`"},
		{"new file", "**tool:** write_file\n**writes:** a\n**args:**\n```json\n{\"path\":\"a\",\"content\":\"$other\"}\n```\n", ""},
		{"new file anywhere", "**tool:** write_file\n**args:**\n```json\n{\"path\":\"a\",\"content\":\"b\"}\n```\n", "it makes a file, and has no `writes:`"},
		{"unknown file", "**tool:** write_file\n**writes:** a\n**args:**\n```json\n{\"path\":\"$other\",\"content\":\"b\"}\n```\n", "what it is called with is only known when it runs: $other"},
		{"unknown part of the content", "**tool:** write_file\n**writes:** a\n**args:**\n```json\n{\"path\":\"a\",\"content\":[\"$other\"]}\n```\n", "what it is called with is only known when it runs: $other"},
		{"command", "**tool:** run_command\n**network:** no\n**args:**\n```json\n{\"command\":\"look\"}\n```\n", ""},
		{"command with the network", "**tool:** run_command\n**args:**\n```json\n{\"command\":\"look\"}\n```\n", "what it runs may use the network: it has no `network: no`"},
		{"command as it is called", "**tool:** run_command\n**network:** no\n**args:**\n```json\n{\"command\":\"$$look\"}\n```\n", "run_command does more than look, or make a file: runs code"},
		{"broken arguments", "**tool:** read_file\n**args:**\n```json\n{\n```\n", "its arguments cannot be read"},
		{"question", "**ask:** Go on?\n", ""},
		{"plan", "**plan:** there.md\n", ""},
		{"plan that is not there", "**plan:** gone.md\n", "its plan gone.md is not there yet"},
		{"plan in words", "**plan:** Think of something\n", "its plan is only known when it runs"},
	} {
		p, _ := plan.Parse("plan.md", []byte("---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# A plan\n\n## Steps\n\n### 1. One\n\n"+tc.step))
		hazards := func(exposed *string) string {
			_, facts := verify.Study(p, nil, func(q verify.Queries) verify.Facts {
				f := verify.Facts{
					Agents: map[string]verify.Agent{"coder": {}, "script": {Shell: true}, "sh": {Shell: true}},
					Files:  map[string]verify.File{"there.md": {Exists: true}}, Calls: weigh(q.Calls),
				}
				if q.Offline {
					f.Exposed = exposed
				}
				return f
			})
			var texts []string
			for _, h := range verify.Hazards(p, facts) {
				texts = append(texts, h.Text)
			}
			return strings.Join(texts, "\n")
		}
		if diff := cmp.Diff(tc.want, hazards(new(""))); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
		runs := strings.Contains(tc.step, "contract:") || strings.Contains(tc.step, "run_command")
		if tc.want != "" || !runs {
			continue
		}
		for why, exposed := range map[string]*string{"this machine cannot keep it off the network: refused": new("refused"), "it is not known whether this machine can keep it off the network": nil} {
			if got := hazards(exposed); got != why {
				t.Errorf("%s, exposed: %q, want %q", tc.name, got, why)
			}
		}
	}
}

// What nobody answered is a hazard, and so is a setup of the whole plan.
func TestHazardsOfWhatIsNotKnown(t *testing.T) {
	p, _ := plan.Parse("plan.md", []byte("---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# A plan\n\n**setup:**\n```shell\nlook\n```\n\n## Steps\n\n### 1. One\n\n**tool:** read_file\n**args:**\n```json\n{\"path\":\"a\"}\n```\n"))
	want := []verify.Hazard{
		{Text: "the `setup` of the header may use the network"},
		{Step: "one", Number: "1", Text: "read_file does more than look, or make a file, as far as can be told here"},
	}
	if diff := cmp.Diff(want, verify.Hazards(p, verify.Facts{})); diff != "" {
		t.Error(diff)
	}
}
