package plan

// LabelText is what people need to know of a label.
type LabelText struct {
	Name    string // as it is written
	Header  bool   // it may stand above the steps
	Step    bool   // it may stand under a step's heading
	Value   string // what its value looks like
	Default string // what holds where it is absent
	Meaning string
}

// Labels lists every label of the format in the order of the reference.
func Labels() []LabelText {
	texts := labelTexts()
	list := make([]LabelText, 0, len(table))
	for _, s := range table {
		t := texts[s.name]
		list = append(list, LabelText{
			Name: s.name, Header: s.where&inHeader != 0, Step: s.where&inStep != 0,
			Value: t.value, Default: t.absent, Meaning: t.meaning,
		})
	}
	return list
}

type labelText struct{ value, absent, meaning string }

func labelTexts() map[string]labelText {
	return map[string]labelText{
		"context":          {"text", "", "What a reader has to know. Every agent gets it."},
		"priority":         {"`critical`, `high`, `normal`, `low`, `idle`", "`normal`", "Which run goes first where several wait."},
		"constraints":      {"list of sentences", "", "What holds for every step."},
		"tags":             {"list of words", "", "For finding the plan again."},
		"complexity":       {"1 to 10", "", "The author's estimate."},
		"memories":         {"list", "", "The memories that informed the plan."},
		"estimate":         {"duration", "", "How long the whole plan should take."},
		"parallel":         {"number", "1", "How many steps may run at once."},
		"replans":          {"number", "3", "How many revisions may be made after failures."},
		"id":               {"slug: `a-z`, `0-9`, `-`, `_`", "the title in lower case joined by hyphens", "The identity of the step across revisions. Other steps refer to it."},
		"target":           {"name of an agent, or `any`", "`any`", "Who does the step. `script` runs the task as a shell script."},
		"needs":            {"numbers or ids, or `none`", "the step before", "What must be done before this step may start."},
		"subscriptions":    {"list of `file:path`, `topic:name`, `step:id`", "", "Context that the step's agent gets in its prompt."},
		"task":             {"text, or a fenced shell block for `script`", "the title", "What the agent is asked to do."},
		"acceptance":       {"list of sentences", "", "Criteria in words, for the agent and for reviewers. They prove nothing."},
		"tool":             {"name of a tool", "", "The step is a call of a tool and not the work of an agent."},
		"args":             {"fenced JSON or YAML", "", "The arguments of the tool. A string that is `$step` or `$step.field[0]` is a reference to an output; `$$` is a dollar."},
		"plan":             {"path, or a request in words", "", "The step is a plan of its own, which a run of its own carries out: its path below the workspace. A request in words cannot be run yet."},
		"ask":              {"question, with choices as bullets below it", "", "The step is a question to a person. The answer is its output."},
		"when":             {"expression", "always", "The step runs only where this is true; else it is skipped, and says why."},
		"for each":         {"glob, list, or `$step`", "", "One instance of the step for each item: `{item}` in title, task, `args` and `writes`, `PITON_ITEM` in scripts."},
		"batch":            {"number", "one item as it is", "How many items one instance gets, as a list."},
		"contract":         {"fenced shell, and `exit_code == N` below it", "", "The check that decides the step. Piton runs it, not the agent."},
		"checks":           {"list of `name: command`; `(optional)` after a name that need not pass", "", "Further checks. All but the optional ones must pass."},
		"judge":            {"text", "", "A question to a model that reads the evidence. It is never the only proof."},
		"expect":           {"`any`, `red`, `green`", "`any`", "What the contract says before the step: `red` = it must fail first, `green` = it holds before and after."},
		"on_fail":          {"`retry(N)`, `escalate`, `abort`, `skip`, `replan`, joined by `, then`", "`retry(2), then escalate`", "What happens after an attempt that was not proved. `retry(N)` means N more attempts. A step that ends as `skip` does not satisfy what needs it, and the run ends as failed; a person's `piton skip` does."},
		"backoff":          {"duration, or `none`", "`none` for agents", "The wait between attempts."},
		"iterations":       {"number", "no loop; 10 for the label alone", "The step is a loop with a fresh agent each time, until its checks pass."},
		"approval":         {"`required`, `auto`, or a reason", "`auto`", "A person must say yes before the step starts."},
		"critical":         {"`yes`, `no`", "`yes`", "`no`: after its failure, steps that do not need it go on."},
		"timeout":          {"duration", "10m", "The longest that one attempt may take."},
		"contract timeout": {"duration", "1m", "The longest that the contract, or one check, may take."},
		"writes":           {"globs, or `none`", "the whole workspace", "What the step may change. A change outside of it fails the attempt. `**`, and what `{item}` is put into, open no protected file. Git hooks, git's configuration and `.piton/config.yaml` are meant only where a glob begins with `.git` or `.piton`."},
		"protect":          {"globs", "", "What must not change. In the header: unless a step's `writes:` names it."},
		"budget":           {"`max 200k tokens, $1.50, 20 minutes`: any of these", "no limit", "What the step, or the whole run, may use."},
		"mode":             {"`read`, `edit`, `full`", "`edit`", "What the agent may do, which it is told in its own words (`modes:`)."},
		"network":          {"`yes`, `no`, `contract`", "`yes`", "`no`: a script, and the setup, contract and checks of any step, reach a loopback of their own and no other network; an agent is only told so. A machine that has no such loopback to give refuses the run, unless `--allow-unsealed`. With `yes` and `contract` nothing is kept from the network yet."},
		"env":              {"names of variables", "", "Variables that the step's agent and contract get. They are shown when you approve."},
		"workspace":        {"`shared`, `worktree`", "`shared`", "`worktree`: the work, in the header that of the whole run, is done in a git worktree of its own and merged."},
		"setup":            {"fenced shell", "", "Prepares a fresh worktree before the first attempt in it. In the header: that of the run, and those of steps without a setup of their own."},
		"isolation":        {"`sealed`, `fenced`", "what the machine can do", "The least that is accepted."},
		"holds":            {"`run`, `step`", "`run`", "`run`: the contract is proved again at the end of the run."},
		"rerunnable":       {"`yes`, `no`", "`yes`", "`no`: the contract runs only once."},
		"strong":           {"`yes`, `no`", "`no`", "`yes`: without the step's change the contract must fail."},
		"schema":           {"fenced JSON Schema", "", "The form of the output, or of the answer to an `ask`."},
		"status":           {"written by the harness", "", "How the step stands, for the eye. It is never read back as truth."},
	}
}
