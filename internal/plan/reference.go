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
		"context":          {"text", "", "What a reader must know. Every agent gets it."},
		"priority":         {"`critical`, `high`, `normal`, `low`, `idle`", "`normal`", "How urgent the plan is, for people. Runs do not go by it yet."},
		"constraints":      {"list of sentences", "", "Rules for every step."},
		"tags":             {"list of words", "", "Words for finding the plan again."},
		"complexity":       {"1 to 10", "", "The author's estimate."},
		"memories":         {"list", "", "The memories that informed the plan."},
		"estimate":         {"duration", "", "How long the whole plan should take."},
		"parallel":         {"number", "1", "How many steps may run at the same time."},
		"replans":          {"number", "3", "How many revisions may be made after failures. Not supported yet."},
		"id":               {"slug: `a-z`, `0-9`, `-`, `_`", "the title in lower case joined by hyphens", "Names the step across revisions. Other steps refer to it."},
		"target":           {"name of an agent, or `any`", "`any`", "Who does the step. `script` runs the task as a shell script."},
		"needs":            {"numbers or ids, or `none`", "the step before", "The steps that must be done before this one starts."},
		"subscriptions":    {"list of `file:path`, `topic:name`, `step:id`", "", "Context that the agent gets in its prompt."},
		"task":             {"text, or a fenced shell block for `script`", "the title", "What the agent should do."},
		"acceptance":       {"list of sentences", "", "Criteria in words, for the agent and for reviewers. They prove nothing."},
		"tool":             {"name of a tool", "", "The step calls this tool, without an agent."},
		"args":             {"fenced JSON or YAML", "", "The arguments of the tool. A string such as `$step` or `$step.field[0]` is a reference to an output; `$$` is a dollar."},
		"plan":             {"path, or a request in words", "", "The step runs another plan: its path below the workspace. A request in words is not supported yet."},
		"ask":              {"question, with choices as bullets below it", "", "The step asks a person. The answer is its output."},
		"when":             {"expression", "always", "The step runs only if this is true. Otherwise it is skipped, with the reason."},
		"for each":         {"glob, list, or `$step`", "", "One instance of the step for each item: `{item}` in title, task, `args` and `writes`, `PITON_ITEM` in scripts."},
		"batch":            {"number", "one item, not a list", "How many items an instance gets, as a list."},
		"contract":         {"fenced shell, and `exit_code == N` below it", "", "The check that decides the step. Piton runs it, not the agent."},
		"checks":           {"list of `name: command`; `(optional)` after a name that need not pass", "", "Further checks. All but the optional ones must pass."},
		"judge":            {"text", "", "A question to a model that reads the evidence. It is never the only proof. Not supported yet."},
		"expect":           {"`any`, `red`, `green`", "`any`", "What the contract must say before the work. `red`: it must fail. `green`: it must pass before and after."},
		"on_fail":          {"`retry(N)`, `escalate`, `abort`, `skip`, `replan`, joined by `, then`", "`retry(2), then escalate`", "What happens after a failed attempt. `retry(N)` means N more attempts. After `skip` the step does not satisfy its dependents and the run ends as failed, unlike after `piton skip`. `replan` is not supported yet."},
		"backoff":          {"duration, or `none`", "`none` for agents", "The wait between attempts."},
		"iterations":       {"number", "no loop; 10 for the label alone", "The step is a loop with a fresh agent each time, until its checks pass. Not supported yet."},
		"approval":         {"`required`, `auto`, or a reason", "`auto`", "A person must approve the step before it starts."},
		"critical":         {"`yes`, `no`", "`yes`", "`no`: if the step fails, steps that do not need it go on."},
		"timeout":          {"duration", "10m", "The longest time for one attempt."},
		"contract timeout": {"duration", "1m", "The longest time for the contract, or for one check."},
		"writes":           {"globs, or `none`", "the whole workspace", "What the step may change. Any other change fails the attempt. `**` and patterns with `{item}` do not open protected files. Git hooks, git's configuration and `.piton/config.yaml` are opened only by a pattern that begins with `.git` or `.piton`."},
		"protect":          {"globs", "", "What must not change. In the header: unless a step's `writes:` names it."},
		"budget":           {"`max 200k tokens, $1.50, 20 minutes`: any of these", "no limit", "What the step, or the whole run, may use."},
		"mode":             {"`read`, `edit`, `full`", "`edit`", "What the agent may do. It is told in its own words (`modes:`)."},
		"network":          {"`yes`, `no`, `contract`", "`yes`", "`no`: scripts, setups, contracts and checks reach only their own loopback; an agent is only told. A machine that cannot do this refuses the run, unless `--allow-unsealed`. `yes` and `contract` restrict nothing yet."},
		"env":              {"names of variables", "", "Variables that the step's agent and contract get. They are shown when you approve."},
		"workspace":        {"`shared`, `worktree`", "`shared`", "`worktree`: the step, or in the header the whole run, works in its own git worktree, which is then merged."},
		"setup":            {"fenced shell", "", "Prepares a new worktree before the first attempt. In the header: for the run, and for steps without their own setup."},
		"isolation":        {"`sealed`, `fenced`", "what the machine can do", "The least isolation that is accepted."},
		"holds":            {"`run`, `step`", "`run`", "`run`: the contract is proven again at the end of the run."},
		"rerunnable":       {"`yes`, `no`", "`yes`", "`no`: the contract runs only once."},
		"strong":           {"`yes`, `no`", "`no`", "`yes`: without the step's change the contract must fail. Not supported yet."},
		"schema":           {"fenced JSON Schema", "", "The form of the output, or of the answer to `ask`."},
		"status":           {"written by Piton", "", "Shows people how far the step is. Piton never reads it back."},
	}
}
