package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/piton-dev/piton/docs"
)

const draftText = `Write a plan for the request at the end, as the text below explains. Look at the workspace first: which tests, build and
commands it has. Then call plan_verify with your text until there is no error, and plan_propose it. Do not run it: say what each
contract would let through, and that a person must read it.`

const reviewText = `Review a plan before a person approves it. Read it with plan_show, and the findings of plan_verify. For each step say:
which wrong or missing work its contract would let through; whether its writes: could be narrower; whether it could change what
judges it; whether its task says all that an agent needs who sees no other step. End with the changes that you would make, the
most important first. Change nothing yourself, and do not run it.`

// prompts registers the two that a person can choose.
func prompts(s *mcp.Server) {
	s.AddPrompt(&mcp.Prompt{
		Name: "draft_plan", Title: "Draft a plan", Description: "Write a plan for a request, with contracts that can fail",
		Arguments: []*mcp.PromptArgument{{Name: "request", Description: "What is to be done", Required: true}},
	}, said(func(args map[string]string) string {
		return draftText + "\n\n" + docs.Lesson() + "\n\nThe request:\n\n" + quoted(args["request"])
	}))
	s.AddPrompt(&mcp.Prompt{
		Name: "review_plan", Title: "Review a plan", Description: "Say what a plan would let through, before a person approves it",
		Arguments: []*mcp.PromptArgument{{Name: "plan", Description: "Its path in the workspace", Required: true}},
	}, said(func(args map[string]string) string {
		return reviewText + "\n\nThe plan:\n\n" + quoted(args["plan"])
	}))
}

func said(text func(args map[string]string) string) mcp.PromptHandler {
	return func(_ context.Context, q *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text(q.Params.Arguments)}}}}, nil
	}
}

// quoted is what a person gave, as a block of its own.
func quoted(text string) string {
	return "> " + strings.ReplaceAll(cut(text, maxRequest), "\n", "\n> ")
}
