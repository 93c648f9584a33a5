package verify_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

func TestHazards(t *testing.T) {
	const held = "**writes:** none\n**network:** no\n"
	const proof = "**contract:**\n```shell\nlook out\n```\n"
	for _, tc := range []struct{ name, step, want string }{
		{"script", "**target:** script\n" + held + "**task:** `look at`\n" + proof, ""},
		{"role of a shell", "**target:** sh\n" + held + "**task:** `look at`\n" + proof, ""},
		{"directories", "**target:** script\n**network:** no\n**writes:** build/**, a/b/**\n**task:** `act`\n" + proof, ""},
		{"items", "**target:** script\n**for each:** a, b\n" + held + "**task:** `look`\n" + proof, ""},
		{"agent", "**target:** coder\n" + held + proof, "an agent does it, and decides what to run"},
		{"nobody known", "**target:** nobody\n" + held + proof, "an agent does it, and decides what to run"},
		{"no scope", "**target:** script\n**network:** no\n**task:** `look`\n" + proof, "it may write anywhere: it has no `writes:`"},
		{"a file", "**target:** script\n**network:** no\n**writes:** a.txt\n**task:** `look`\n" + proof, "the system cannot hold it to \"a.txt\", only to whole directories, such as `writes: build/**`"},
		{"a pattern", "**target:** script\n**network:** no\n**writes:** src/*/**\n**task:** `look`\n" + proof, "the system cannot hold it to \"src/*/**\", only to whole directories, such as `writes: build/**`"},
		{"all", "**target:** script\n**network:** no\n**writes:** `**`\n**task:** `look`\n" + proof, "the system cannot hold it to \"**\", only to whole directories, such as `writes: build/**`"},
		{"git", "**target:** script\n**network:** no\n**writes:** a/.GIT/**\n**task:** `look`\n" + proof, "\"a/.GIT/**\" may hold files of Git or Piton"},
		{"network", "**target:** script\n**writes:** none\n**task:** `look`\n" + proof, "what it runs may use the network: it has no `network: no`"},
		{"network of the contract", "**target:** script\n**writes:** none\n**network:** contract\n**task:** `look`\n" + proof, "what it runs may use the network: it has no `network: no`"},
		{"full mode", "**target:** script\n**mode:** full\n" + held + "**task:** `look`\n" + proof, "its `mode` is full"},
		{"words that are allowed", "**target:** script\n**task:** `make all`\n**contract:** `make test`\n", ""},
		{"words that are allowed, and others", "**target:** script\n**task:** `make all`\n" + proof, "what it runs may use the network: it has no `network: no`"},
		{"call that looks", "**tool:** read_file\n**args:**\n```json\n{\"path\":\"a\"}\n```\n", ""},
		{"call that is asked for", "**tool:** delete_file\n**args:**\n```json\n{\"path\":\"a\"}\n```\n", ""},
		{"call that looks, proved by what may use the network", "**tool:** read_file\n**args:**\n```json\n{\"path\":\"a\"}\n```\n" + proof, "what it runs may use the network: it has no `network: no`"},
		{"command", "**tool:** run_command\n**args:**\n```json\n{\"command\":\"act\"}\n```\n", ""},
		{"question", "**ask:** Go on?\n", ""},
		{"plan", "**plan:** there.md\n", ""},
		{"plan that is not there", "**plan:** gone.md\n", ""},
		{"plan in words", "**plan:** Think of something\n", "its plan is only known when it runs"},
	} {
		p, _ := plan.Parse("plan.md", []byte("---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# A plan\n\n## Steps\n\n### 1. One\n\n"+tc.step))
		hazards := func(loose *string) string {
			_, facts := verify.Study(p, nil, func(q verify.Queries) verify.Facts {
				f := verify.Facts{
					Agents: map[string]verify.Agent{"coder": {}, "script": {Shell: true}, "sh": {Shell: true}},
					Files:  map[string]verify.File{"there.md": {Exists: true}}, Allow: []string{"make all", "make test"},
				}
				if q.Held {
					f.Loose = loose
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
		if tc.want != "" || !strings.Contains(tc.step, "look") || strings.Contains(tc.step, "tool:") {
			continue
		}
		for why, loose := range map[string]*string{"this machine cannot hold it inside its `writes:`: refused": new("refused"), "it is not known whether this machine can hold it inside its `writes:`": nil} {
			if got := hazards(loose); got != why {
				t.Errorf("%s, loose: %q, want %q", tc.name, got, why)
			}
		}
	}
}

// A setup of the whole plan is a hazard.
func TestHazardsOfAPlan(t *testing.T) {
	p, _ := plan.Parse("plan.md", []byte("---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# A plan\n\n**setup:**\n```shell\nlook\n```\n\n## Steps\n\n### 1. One\n\n**tool:** read_file\n**args:**\n```json\n{\"path\":\"a\"}\n```\n"))
	want := []verify.Hazard{{Text: "the `setup` of the header may use the network"}}
	if diff := cmp.Diff(want, verify.Hazards(p, verify.Facts{})); diff != "" {
		t.Error(diff)
	}
}
