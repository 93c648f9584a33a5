package verify_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

const diffed = `# A plan

**protect:** go.mod, go.sum

### 1. First
**id:** first
**target:** coder
**needs:** none
**writes:** src/
**acceptance:**
- it builds
- it is short
**checks:**
- lint: make lint
**contract:** make build && make test
**task:** Do it.

### 2. Second
**id:** second
**target:** coder
**needs:** first
**expect:** red
**contract:** make e2e
**task:** Do more.

### 3. Third
**id:** third
**target:** coder
**needs:** none
**contract:** make docs
**task:** Write.
`

func parsed(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, _ := plan.Parse("plan.md", []byte(text))
	if p == nil {
		t.Fatalf("it is no plan:\n%s", text)
	}
	return p
}

// edited is the plan with pairs of texts replaced, each of which must be there.
func edited(t *testing.T, pairs ...string) *plan.Plan {
	t.Helper()
	text := diffed
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("there is no %q", pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return parsed(t, text)
}

func TestDiff(t *testing.T) {
	third := diffed[strings.Index(diffed, "### 3."):]
	for name, x := range map[string]struct {
		edit []string
		want string
	}{
		"nothing":        {nil, ""},
		"white space":    {[]string{"Do it.", "Do it.\n\n"}, ""},
		"a mark":         {[]string{"### 1. First", "### 1. ✅ First"}, ""},
		"a task":         {[]string{"Do it.", "Do it well."}, "changed first [task]"},
		"a contract":     {[]string{"make e2e", "make all"}, "changed second [contract]"},
		"several":        {[]string{"make e2e", "make all", "expect:** red", "expect:** any"}, "changed second [contract expect]"},
		"the header":     {[]string{"go.mod, go.sum", "go.mod"}, "header [protect]"},
		"one gone":       {[]string{third, ""}, "removed third []"},
		"one more":       {[]string{"### 3. Third", "### 3. New\n**id:** new\n**needs:** none\n**contract:** make new\n\n### 4. Third"}, "added new []"},
		"another order":  {[]string{third, "", "### 1. First", third + "\n### 1. First"}, "moved third []"},
		"another id":     {[]string{"**id:** third", "**id:** last"}, "added last []; removed third []"},
		"another number": {[]string{"### 3. Third", "### 7. Third"}, ""},
	} {
		d := verify.Diff(parsed(t, diffed), edited(t, x.edit...))
		var got []string
		if len(d.Header) > 0 {
			got = append(got, "header ["+strings.Join(d.Header, " ")+"]")
		}
		for _, s := range d.Steps {
			slices.Sort(s.Labels)
			got = append(got, string(s.How)+" "+s.ID+" ["+strings.Join(s.Labels, " ")+"]")
		}
		if text := strings.Join(got, "; "); text != x.want || d.Empty() != (x.want == "") {
			t.Errorf("%s: %q, want %q (%+v)", name, text, x.want, d)
		}
	}
}

// What cannot be shown to prove as much is for a person to judge.
func TestWeakerScript(t *testing.T) {
	const less, other = "contract checks less: some of its commands are gone", "contract is replaced: it may prove less"
	for name, x := range map[string]struct{ before, after, want string }{
		"the same":                {"grep -q a a", "grep -q a a", ""},
		"a remark":                {"grep -q a a", "# a is there\ngrep -q a a  # still", ""},
		"another command":         {"grep -q a a", "test -e a", other},
		"another for two":         {"grep -q a a && grep -q b a", "test -f a", other},
		"other words":             {"grep -q a a", "grep -q . a", other},
		"one more":                {"grep -q a a", "grep -q a a && grep -q b a", ""},
		"one less":                {"grep -q a a && grep -q b a", "grep -q a a", less},
		"one before":              {"grep -q a a", "exit 0 && grep -q a a", "contract can no longer fail"},
		"another order":           {"cd x && test -e a", "test -e a && cd x", other},
		"with an alternative":     {"grep -q a a", "grep -q a a || true", "contract can no longer fail"},
		"with some alternative":   {"grep -q a a", "grep -q a a || test -e a", other},
		"one more, or not":        {"grep -q a a", "grep -q a a && test -e a || test -e b", other},
		"the other way round":     {"grep -q a a", "! grep -q a a", other},
		"beside it":               {"grep -q a a", "grep -q a a && test -e a &", "contract can no longer fail"},
		"another line":            {"grep -q a a", "grep -q a a\ntest -e a", other},
		"more in the last line":   {"cd x\ntest -e a", "cd x\ntest -e a && test -e b", ""},
		"another line before":     {"cd x\ntest -e a", "cd y\ntest -e a && test -e b", other},
		"other words of a text":   {"cmp - a <<E\nx\nE", "cmp - a <<E\ny\nE", other},
		"more, with a text":       {"cmp - a <<E\nx\nE", "cmp - a <<E && test -e b\ny\nE", other},
		"more than can be parsed": {"grep -q a a", "grep -q a a && (", other},
	} {
		step := func(script string) *plan.Plan {
			return parsed(t, "# A plan\n\n### 1. One\n**id:** one\n**task:** Do it.\n**contract:**\n```shell\n"+script+"\n```\n")
		}
		var got []string
		for _, w := range verify.Weaker(step(x.before), step(x.after)) {
			got = append(got, w.Text)
		}
		if text := strings.Join(got, "; "); text != x.want {
			t.Errorf("%s: %q, want %q", name, text, x.want)
		}
	}
	for after, want := range map[string]string{"test -e a": "", "test -e a && test -e b": other} {
		step := func(script string) *plan.Plan {
			return parsed(t, "# A plan\n\n### 1. One\n**id:** one\n**task:** Do it.\n**contract:**\n```shell\n"+script+"\n```\nexit_code == 1\n")
		}
		all := verify.Weaker(step("test -e a"), step(after))
		if want == "" && len(all) > 0 || want != "" && (len(all) != 1 || all[0].Text != want) {
			t.Errorf("%s, where it has to fail: %v, want %q", after, all, want)
		}
	}
}

func TestDiffCounts(t *testing.T) {
	d := verify.Diff(parsed(t, diffed), edited(t, "Do it.", "Do it!", "Do more.", "Do less.", "**id:** third", "**id:** last"))
	if got, want := d.Counts(), "2 steps changed, 1 added, 1 removed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := verify.Diff(parsed(t, diffed), edited(t, "**id:** third", "**id:** last")).Counts(), "1 step added, 1 removed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWeaker(t *testing.T) {
	for name, x := range map[string]struct {
		edit []string
		want []string
	}{
		"nothing":          {nil, nil},
		"more tries":       {[]string{"Do it.", "Do it.\n", "**id:** first", "**id:** first\n**on_fail:** retry(9), escalate"}, nil},
		"another contract": {[]string{"make e2e", "make all"}, []string{"second: contract is replaced: it may prove less"}},
		"one command more": {[]string{"make e2e", "make e2e && make all"}, nil},
		"a check more":     {[]string{"- lint: make lint", "- lint: make lint\n- vet: make vet"}, nil},
		"stricter":         {[]string{"**contract:** make docs", "**expect:** red\n**contract:** make docs"}, nil},
		"a narrower scope": {[]string{"writes:** src/", "writes:** src/a/"}, nil},
		"no contract":      {[]string{"**contract:** make e2e", "**checks:**\n- other: make other"}, []string{"second: contract is gone"}},
		"constant":         {[]string{"make e2e", "make e2e || true"}, []string{"second: contract can no longer fail"}},
		"fewer commands":   {[]string{"make build && make test", "make build"}, []string{"first: contract checks less: some of its commands are gone"}},
		"a check gone":     {[]string{"**checks:**\n- lint: make lint\n", ""}, []string{`first: check "lint" is gone`}},
		"a check renamed":  {[]string{"- lint: make lint", "- style: make lint"}, nil},
		"optional":         {[]string{"- lint: make lint", "- lint (optional): make lint"}, []string{`first: check "lint" is optional now`}},
		"exit code":        {[]string{"**contract:** make e2e", "**contract:**\n```shell\nmake e2e\n```\nexit_code == 3"}, []string{"second: contract wants exit code 3, was 0"}},
		"expect":           {[]string{"expect:** red", "expect:** any"}, []string{"second: expects its checks to be any before the work, was red"}},
		"a criterion":      {[]string{"- it is short\n", ""}, []string{`first: drops the criterion "it is short"`}},
		"a wider scope":    {[]string{"writes:** src/", "writes:** src/, docs/"}, []string{"first: may also change docs/"}},
		"any scope":        {[]string{"**writes:** src/\n", ""}, []string{"first: may change the whole workspace"}},
		"protection":       {[]string{"go.mod, go.sum", "go.mod"}, []string{": the plan no longer protects go.sum"}},
		"holds":            {[]string{"**id:** third", "**id:** third\n**holds:** step"}, []string{"third: is no longer proven at the end of the run (holds: step)"}},
		"only sometimes":   {[]string{"**id:** third", "**id:** third\n**when:** `$first == 1`"}, []string{"third: is skipped if a condition is false (when)"}},
		"never":            {[]string{"**id:** third", "**id:** third\n**when:** `false`"}, []string{"third: is skipped if a condition is false (when)"}},
		"a need":           {[]string{"**needs:** first", "**needs:** none"}, []string{"second: no longer waits for first"}},
		"rights":           {[]string{"**id:** third", "**id:** third\n**mode:** full"}, []string{`third: has mode "full", was "edit"`}},
		"another id":       {[]string{"**id:** third", "**id:** last"}, []string{"third: is gone, or has another id"}},
		"a step more":      {[]string{"### 3. Third", "### 3. New\n**id:** new\n**needs:** none\n**contract:** make new\n\n### 4. Third"}, nil},
	} {
		var got []string
		for _, w := range verify.Weaker(parsed(t, diffed), edited(t, x.edit...)) {
			got = append(got, w.Step+": "+w.Text)
		}
		if diff := cmp.Diff(x.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// A step that waited for many is told of in one line.
func TestWeakerNeeds(t *testing.T) {
	var text strings.Builder
	text.WriteString("# A plan\n\n")
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		text.WriteString("### 1. X\n**id:** " + id + "\n**needs:** none\n**contract:** make " + id + "\n**task:** Do it.\n\n")
	}
	last := func(needs string) *plan.Plan {
		return parsed(t, text.String()+"### 2. Last\n**id:** last\n**needs:** "+needs+"\n**contract:** make last\n**task:** Do it.\n")
	}
	all := verify.Weaker(last("a, b, c, d, e, f, g"), last("none"))
	if len(all) != 1 || all[0].Text != "no longer waits for a, b, c, d, e and 2 more" {
		t.Error(all)
	}
	if all := verify.Weaker(last("a, b"), last("c, b, a")); len(all) > 0 {
		t.Error(all)
	}
}

func schemaOf(text string) string { return "**schema:**\n```json\n" + text + "\n```" }

func TestWeakerHeader(t *testing.T) {
	apart := edited(t, "**protect:**", "**workspace:** worktree\n**protect:**")
	shared := edited(t, "**protect:**", "**workspace:** shared\n**protect:**")
	silent := parsed(t, diffed)
	for _, before := range []*plan.Plan{apart, silent} {
		all := verify.Weaker(before, shared)
		if len(all) != 1 || all[0].Text != "the plan no longer works in its own worktree (workspace)" {
			t.Error(all)
		}
	}
	for _, c := range [][2]*plan.Plan{{silent, apart}, {apart, silent}, {shared, apart}, {shared, silent}} {
		if all := verify.Weaker(c[0], c[1]); len(all) > 0 {
			t.Error(all)
		}
	}
}

// An explicit scope lifts the guard of what other steps are judged by.
func TestWeakerOpening(t *testing.T) {
	const (
		plain  = "### 1. A\n**id:** a\n**writes:** src/**\n**contract:** bash check.sh\n**task:** Do it.\n\n"
		pytest = "### 1. A\n**id:** a\n**writes:** src/**\n**contract:** pytest\n**task:** Do it.\n\n"
		free   = "### 2. X\n**id:** x\n**contract:** test -e x\n**task:** Do it.\n\n"
		judged = `x: may write check.sh, by which step "a" is judged`
	)
	x := func(writes string) string {
		return "### 2. X\n**id:** x\n**writes:** " + writes + "\n**contract:** test -e x\n**task:** Do it.\n\n"
	}
	for name, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"a new step":               {plain, plain + x("check.sh"), []string{judged}},
		"by a pattern":             {plain, plain + x("`*.sh`"), nil},
		"by each of two scopes":    {plain, plain + x("check.sh, `*.sh`"), []string{judged}},
		"of everything":            {plain, plain + x("`**`"), nil},
		"beside it":                {plain, plain + x("docs/"), nil},
		"nothing":                  {plain, plain + x("none"), nil},
		"protected":                {"**protect:** go.mod\n\n" + plain, "**protect:** go.mod\n\n" + plain + x("go.mod"), []string{"x: may write go.mod, which is protected"}},
		"the configuration":        {plain, plain + x(".piton/config.yaml"), []string{"x: may write .piton/config.yaml, which is protected"}},
		"a step that is not new":   {plain + free, plain + x("check.sh"), []string{judged}},
		"one with another scope":   {plain + x("docs/"), plain + x("docs/, check.sh"), []string{"x: may also change check.sh", judged}},
		"one that had it":          {plain + x("check.sh"), plain + x("check.sh"), nil},
		"one that had it wider":    {plain + x("`*.sh`"), plain + x("check.sh"), []string{"x: may also change check.sh", judged}},
		"for a new step":           {free, plain + x("check.sh"), nil},
		"the tests":                {pytest, pytest + x("tests/, `tests/*.py`"), nil},
		"a test":                   {pytest, pytest + x("tests/test_a.py"), []string{"x: may write tests/test_a.py, which judges (test: test_*.py)"}},
		"manifest":                 {pytest, pytest + x("pyproject.toml"), []string{"x: may write pyproject.toml, which judges (manifest)"}},
		"some that others may too": {pytest, pytest + x("src/b/"), nil},
	} {
		var got []string
		for _, w := range verify.Weaker(parsed(t, "# A plan\n\n"+c.before), parsed(t, "# A plan\n\n"+c.after)) {
			got = append(got, w.Step+": "+w.Text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// What only some steps have is compared as well: each row is one step before and after.
func TestWeakerStep(t *testing.T) {
	for name, x := range map[string]struct{ before, after, want string }{
		"writes over the contract": {"", "**writes:** t.sh", `may write t.sh, by which step "one" is judged`},
		"writes over protection":   {"", "**writes:** go.mod", "may write go.mod, which is protected"},
		"writes beside it":         {"", "**writes:** src/", ""},
		"each":                     {"", "**for each:** a, b", "is done for other items (for each)"},
		"more items":               {"**for each:** a, b", "**for each:** a, b, c", ""},
		"fewer items":              {"**for each:** a, b", "**for each:** a", "is no longer done for b"},
		"no items":                 {"**for each:** `*.go`", "", "is no longer done for *.go"},
		"batch":                    {"**for each:** a, b\n**batch:** 2", "**for each:** a, b\n**batch:** 3", "takes 3 items at once, was 2 (batch)"},
		"no item":                  {"**for each:** `*.go`", "**for each:** `*.go`\n**allow_empty:** yes", "is done where there is no item (allow_empty)"},
		"another condition":        {"**when:** `$x == 1`", "**when:** `$x == 2`", "has another condition (when)"},
		"no condition":             {"**when:** `$x == 1`", "", "has another condition (when)"},
		"critical":                 {"", "**critical:** no", "may fail and other steps go on (critical: no)"},
		"strong":                   {"**strong:** yes", "", "has a contract that may pass without its change (strong: no)"},
		"skip":                     {"", "**on_fail:** retry(2), skip", "is skipped if it fails (on_fail)"},
		"env":                      {"**env:** A", "**env:** A, B", "gets the variable B"},
		"budget raised":            {"**budget:** 1000 tokens", "**budget:** 2000 tokens", "may use more tokens (budget)"},
		"loop may use more":        {"**iterations:** 3", "**iterations:** 3\n**context limit:** 200k tokens", "may use 200000 tokens in its loop, was 150000 (context limit)"},
		"loop may use less":        {"**iterations:** 3", "**iterations:** 9\n**context limit:** 90k tokens", ""},
		"detected check gone":      {"**iterations:** 3\n**checks:**\n- build\n- test", "**iterations:** 3\n**checks:**\n- test", `check "build" is gone`},
		"check detected":           {"**iterations:** 3\n**checks:**\n- build: make strict", "**iterations:** 3\n**checks:**\n- build", `check "build" is replaced: it may prove less`},
		"budget gone":              {"**budget:** 1000 tokens", "", "may use more tokens (budget)"},
		"budget lowered":           {"**budget:** 1000 tokens", "**budget:** 500 tokens", ""},
		"network":                  {"**network:** no", "", `has network "yes", was "no"`},
		"schema gone":              {schemaOf(`{"required":["n"]}`), "", "schema is gone"},
		"another schema":           {schemaOf(`{"required":["n"]}`), schemaOf(`{"required":["n","ok"]}`), "schema is replaced: it may ask for less"},
		"the same schema":          {schemaOf(`{"required":["n"]}`), schemaOf(`{"required":["n"]}`), ""},
		"a schema":                 {"", schemaOf(`{"required":["n"]}`), ""},
		"no worktree":              {"**workspace:** worktree", "", "no longer works in its own worktree (workspace)"},
		"a worktree":               {"", "**workspace:** worktree", ""},
		"another sub-plan":         {"**plan:** a.md", "**plan:** b.md", "is done by the sub-plan b.md, was by the sub-plan a.md"},
		"no sub-plan":              {"**plan:** a.md", "", "is done by any agent, was by the sub-plan a.md"},
		"the same sub-plan":        {"**plan:** a.md", "**plan:** ./a.md", ""},
		"a sub-plan":               {"", "**plan:** a.md", "is done by the sub-plan a.md, was by any agent"},
	} {
		step := func(labels string) *plan.Plan {
			return parsed(t, "# A plan\n\n**protect:** go.mod\n\n### 1. One\n**id:** one\n"+labels+"\n**contract:** bash t.sh\n**task:** Do it.\n")
		}
		var got []string
		for _, w := range verify.Weaker(step(x.before), step(x.after)) {
			got = append(got, w.Text)
		}
		if text := strings.Join(got, "; "); text != x.want {
			t.Errorf("%s: %q, want %q", name, text, x.want)
		}
	}
}

// A plan is no weaker than itself and differs in nothing, however it is written.
func TestDiffOfItself(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/PT*/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no plans", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := plan.Parse(file, text)
		if p == nil {
			continue
		}
		again, _ := plan.Parse(file, plan.Format(p))
		if d := verify.Diff(p, p); !d.Empty() || len(d.Weaker) > 0 {
			t.Errorf("%s differs from itself: %+v", file, d)
		}
		if d := verify.Diff(p, again); again != nil && (len(d.Weaker) > 0 || slices.ContainsFunc(d.Steps, func(s verify.StepChange) bool { return s.How != verify.Changed })) {
			t.Errorf("%s, formatted, differs: %+v", file, d)
		}
	}
}
