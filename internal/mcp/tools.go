package mcp

import "github.com/modelcontextprotocol/go-sdk/mcp"

// tools registers all tools. Each costs its reader a few hundred tokens in every
// conversation, so there are few, and they say little.
func (c Config) tools(s *mcp.Server) {
	looks := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)}
	adds := &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)}
	tool(c, s, &mcp.Tool{
		Name: "plan_list", Annotations: looks,
		Description: "List the newest runs, the plans that wait for a person's approval, and the plan files of this workspace.",
	}, list)
	tool(c, s, &mcp.Tool{
		Name: "plan_show", Annotations: looks,
		Description: "Show the text of a plan: of a file as it is now, or of a run as it was approved.",
	}, show)
	tool(c, s, &mcp.Tool{
		Name: "plan_verify", Annotations: looks,
		Description: "Check a plan or a draft like a compiler, and list what is wrong. Runs and records nothing. The prompt draft_plan explains the format.",
	}, verify)
	tool(c, s, &mcp.Tool{
		Name: "plan_propose", Annotations: adds,
		Description: "Write a draft that verifies to a new file in plans/. Existing files are never overwritten. A person approves it before it runs.",
	}, propose)
	tool(c, s, &mcp.Tool{
		Name: "plan_run", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(true)},
		Description: "Start a plan in the background, or take up its unfinished run. If a person must approve first, nothing starts and the answer names their command.",
	}, run)
	tool(c, s, &mcp.Tool{
		Name: "run_status", Annotations: looks,
		Description: "Show how far a run is, and what waits for a person.",
	}, status)
	tool(c, s, &mcp.Tool{
		Name: "run_cancel", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(false)},
		Description: "End a run for good. What is proven stays in its journal.",
	}, cancel)
	tool(c, s, &mcp.Tool{
		Name: "step_evidence", Annotations: looks,
		Description: "Show why a step passed, failed or waits: its contract, and verdict, exit code and output of its newest checks.",
	}, evidence)
}
