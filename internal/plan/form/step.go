package form

import (
	"time"

	"github.com/piton-dev/piton/internal/plan"
)

type durationField = plan.Field[time.Duration]

// stepFields are the keys of a step in YAML and JSON.
func stepFields() []field[row] {
	f := []field[row]{indexField(), stepNumber(), idField()}
	f = append(f, at("description", "The step's title, in one line.", line(), func(s row) *plan.Text { return &s.Title }).as("title").required())
	f = append(f, statusField[row]("pending", "in_progress", "complete", "failed", "skipped"), on("suggestedAgent", "The agent role that does the step.", name(), func(s row) *plan.Field[string] { return &s.Target }).as("target"))
	f = append(f, on("fallbackAgent", "The agent role of the next attempt, once the agent of one has failed.", name(), func(s row) *plan.Field[string] { return &s.Fallback }).as("fallback"))
	f = append(f, needsFields()...)
	f = append(f, workLabels()...)
	f = append(f, proofLabels()...)
	f = append(f, scopeLabels()...)
	f = append(f,
		at("prose", "Text of the step that has no label. No agent gets it.", verbatim(), func(s row) *plan.Text { return &s.Prose }),
	)
	return append(f, history()...)
}

func history() []field[row] {
	return []field[row]{
		past[row]("executedBy", "Who did the step.", name()),
		past[row]("attempts", "How often it was tried.", integer(0, 1<<30)),
		past[row]("startedAt", "When it started.", name()),
		past[row]("completedAt", "When it was completed.", name()),
		past[row]("output", "Its output.", anyText()),
		past[row]("error", "Why it failed, or was skipped.", anyText()),
	}
}

func idField() field[row] {
	return on("id", "Names the step, in this revision and later ones.", stepID(), func(s row) *plan.Field[string] { return &s.ID })
}

// workLabels say what the step does.
func workLabels() []field[row] {
	return []field[row]{
		prose("instructions", "What the agent is told to do.", func(s row) *plan.Text { return &s.Task }).as("task"),
		on("acceptanceCriteria", "Criteria in words, for the agent and its reviewer.", listOf(running(), 0), func(s row) *plan.Field[lines] { return &s.Acceptance }).as("acceptance"),
		on("subscriptions", "Context that the agent gets: file:path, map:directory, topic:name, step:id.", listOf(subscription(), 0), func(s row) *plan.Field[[]plan.Subscription] { return &s.Subscriptions }),
		on("tool", "The tool that the step calls, instead of an agent.", name(), func(s row) *plan.Field[string] { return &s.Tool }),
		data("args", "Arguments of the tool. A text that is $step or $step.field is a reference to an earlier step's output.", func(s row) *plan.Text { return &s.Args }),
		prose("plan", "A sub-plan: a path, or a request in words.", func(s row) *plan.Text { return &s.Plan }),
		prose("ask", "A question to a person, instead of an agent.", func(s row) *plan.Text { return &s.Ask }),
		choicesField(),
		prose("when", "The step runs only if this expression is true.", func(s row) *plan.Text { return &s.When }),
		forEachField(),
		on("batch", "Items for each instance of `forEach`.", integer(1, 100_000), func(s row) *plan.Field[int] { return &s.Batch }),
		on("allowEmpty", "Whether `forEach` may come to no item at all. If not, a person is asked.", yesNo(), func(s row) *plan.Field[bool] { return &s.AllowEmpty }).as("allow_empty"),
		data("schema", "JSON Schema of the output.", func(s row) *plan.Text { return &s.Schema }),
	}
}

// proofLabels decide whether the step is done.
func proofLabels() []field[row] {
	return []field[row]{
		contractField(),
		exitCodeField(),
		on("contractTimeout", "", duration(), func(s row) *durationField { return &s.CheckTimeout }).as("contract timeout"),
		checksField(),
		prose("judge", "What a model must find in the evidence.", func(s row) *plan.Text { return &s.Judge }),
		on("expect", "What the contract says before the step.", word("any", "red", "green"), func(s row) *plan.Field[string] { return &s.Expect }),
		on("onFail", "What happens after an attempt that did not pass.", onFail(), func(s row) *plan.Field[plan.OnFail] { return &s.OnFail }).as("on_fail"),
		on("backoff", "The pause between attempts.", backoff(), func(s row) *durationField { return &s.Backoff }),
		on("iterations", "The step is a loop with a fresh agent each time, at most this often.", integer(1, 1000), func(s row) *plan.Field[int] { return &s.Iterations }),
		on("contextLimit", "Tokens that all iterations may use together; 150000 if absent.", integer(1, 1_000_000_000), func(s row) *plan.Field[int] { return &s.ContextLimit }).as("context limit"),
		on("holds", "Whether the contract must hold at the end of the run too.", word("run", "step"), func(s row) *plan.Field[string] { return &s.Holds }),
		on("reveal", "When the agent is shown what will judge it.", word("first", "after-failure"), func(s row) *plan.Field[string] { return &s.Reveal }),
		on("rerunnable", "Whether the contract may run more than once.", yesNo(), func(s row) *plan.Field[bool] { return &s.Rerunnable }),
		on("strong", "Without the step's change the contract must fail.", yesNo(), func(s row) *plan.Field[bool] { return &s.Strong }),
	}
}

// scopeLabels say what the step may do and use.
func scopeLabels() []field[row] {
	return []field[row]{
		on("affectedFiles", "Globs that the step may change; [] for none. Absent: the whole workspace.", listOf(line(), 0), func(s row) *plan.Field[lines] { return &s.Writes }).as("writes"),
		on("protect", "Globs that must not change during the step.", listOf(line(), 0), func(s row) *plan.Field[lines] { return &s.Protect }),
		on("approval", "required, auto, or why a person must say yes.", name(), func(s row) *plan.Field[string] { return &s.Approval }),
		on("critical", "After its failure nothing new starts.", yesNo(), func(s row) *plan.Field[bool] { return &s.Critical }),
		on("timeout", "Of one attempt.", duration(), func(s row) *durationField { return &s.Timeout }),
		on("budget", "What the step may use.", budget(), func(s row) *plan.Field[plan.Budget] { return &s.Budget }),
		on("mode", "What the agent may do.", word("read", "edit", "full"), func(s row) *plan.Field[string] { return &s.Mode }),
		on("network", "What the step may reach: yes, no, contract, or hosts with commas between.", network(), func(s row) *plan.Field[string] { return &s.Network }),
		on("env", "Names of variables that agent and contract get.", listOf(variable(), 0), func(s row) *plan.Field[lines] { return &s.Env }),
		on("workspace", "", word("shared", "worktree"), func(s row) *plan.Field[string] { return &s.Workspace }),
		script("setup", "Shell that prepares a fresh worktree.", func(s row) *plan.Text { return &s.Setup }),
		on("isolation", "The least isolation that the step accepts.", word("sealed", "fenced"), func(s row) *plan.Field[string] { return &s.Isolation }),
	}
}

func anyText() shape[string] {
	return shape[string]{
		schema: func() *node { return schemaOf("type", "string") },
		read:   func(r *reader, n *node) (string, bool) { return n.value, r.is(n, text) },
		write:  texts,
	}
}
