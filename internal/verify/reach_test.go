package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/shell"
)

// TestReach derives what a contract reaches by other ways than a literal name.
func TestReach(t *testing.T) {
	for _, test := range []struct{ contract, want string }{
		{`"$PWD/x.sh"`, "x.sh"},
		{`cd a && "$PWD/x.sh"`, "a/x.sh"},
		{`cd a; "$PITON_WORKSPACE/x.sh"`, "x.sh"},
		{`bash ${PITON_WORKSPACE}/x.sh`, "x.sh"},
		{`/ws/x.sh`, "x.sh"},
		{`bash /ws/a/x.sh`, "a/x.sh"},
		{`/wsx/x.sh`, ""},
		{`cd "$PITON_WORKSPACE" && ./x.sh`, "x.sh"},
		{`cd /ws/a && ./x.sh`, "a/x.sh"},
		{`cd -P a; ./x.sh; cd ..; ./y.sh`, "a/x.sh y.sh"},
		{`pushd a; ./x.sh`, "a/x.sh"},
		{`if cd a; then ./x.sh; fi; ./y.sh`, "a/x.sh a/y.sh"},
		{`s=./x.sh; $s`, "x.sh"},
		{`s=./x.sh; "$s" --fast`, "x.sh"},
		{`d=a; bash "$d/x.sh"`, "a/x.sh"},
		{`d=$PWD/a; cd b; bash "$d/x.sh"`, "a/x.sh"},
		{`export S=x.sh; bash "${S}"`, "x.sh"},
		{`cmd="bash x.sh"; $cmd`, "x.sh"},
		{`if test -f y; then s=a.sh; else s=b.sh; fi; bash $s`, "a.sh b.sh"},
		{`bash "${CHECK:-x.sh}"`, "x.sh"},
		{`for s in a.sh b.sh; do bash "$s"; done`, "a.sh b.sh"},
		{`for s in a b; do ./$s/x.sh; (cd $s && ./y.sh); done`, "a/x.sh b/x.sh a/y.sh b/y.sh"},
		{`for s in checks/*.sh; do bash "$s"; done`, "checks/*.sh"},
		{`for a in x y; do for b in 1 2; do ./$a$b.sh; done; done`, "x1.sh x2.sh y1.sh y2.sh"},
		{`while true; do bash $s; s=x.sh; done`, "x.sh"},
		{`f() { ./x.sh; }; cd a; f`, "a/x.sh"},
		{`run() { "$@"; }; run ./x.sh a`, "x.sh"},
		{`run() { timeout 5 bash "$1"; }; run x.sh; run y.sh`, "x.sh y.sh"},
		{`into() { cd a; }; into; ./x.sh`, "a/x.sh"},
		{`f() { ./never.sh; }; true`, "never.sh"},
		{`f() { f "$@"; f "$@"; ./x.sh; }; f a`, "x.sh"},
		{`bash < x.sh`, "x.sh"},
		{`bash -s a b < x.sh`, "x.sh"},
		{`python3 < x.py`, "x.py"},
		{"bash <<EOF\n./x.sh\nEOF", "x.sh"},
		{"bash <<'EOF'\n./x.sh\nEOF", "x.sh"},
		{`bash <<< ./x.sh`, "x.sh"},
		{`bash -c "cd a && ./x.sh"`, "a/x.sh"},
		{`bash -c 'bash "$1"' _ x.sh`, "x.sh"},
		{`bash -eu -o pipefail -c './x.sh'`, "x.sh"},
		{`s=./x.sh; bash -c "$s --all"`, "x.sh"},
		{`s=./x.sh; eval "$s"`, "x.sh"},
		{`trap './x.sh' EXIT`, "x.sh"},
		{`ls | xargs ./x.sh`, "x.sh"},
		{`ls | xargs -I{} bash x.sh {}`, "x.sh"},
		{`find . -name '*.go' -exec ./x.sh {} \;`, "x.sh"},
		{`find . -exec bash x.sh {} + -o -execdir ./y.sh ';'`, "x.sh y.sh"},
		{`env -C a ./x.sh`, "a/x.sh"},
		{`env --chdir=a ./x.sh`, "a/x.sh"},
		{`env "A=$B" nice -n 5 timeout -k 1 "$T" ./x.sh`, "x.sh"},
		{`flock /tmp/l ./x.sh; exec ./y.sh`, "x.sh y.sh"},
		{`git bisect run ./x.sh`, "x.sh"},
		{`source "$(dirname "$PWD/a/b")/x.sh"`, "a/x.sh"},
		{`. "$(pwd)/x.sh"`, "x.sh"},
		{`d=$(cd a && pwd); bash "$d/x.sh"`, "a/x.sh"},
		{`bash "$(realpath x.sh)"`, "x.sh"},
		{`PATH="$PWD/bin:$PATH"; tool`, "bin/tool+"},
		{`bash "a b.sh" "it's.sh"`, "a b.sh"},
		{`bash 'it'"'"'s.sh'`, "it's.sh"},
		{`bash 'x*.sh'`, "x?.sh"},
		{`bash 'x{1}.sh'`, "x?1?.sh"},
		{`vendor/check.sh; bash dist/x.sh; node node_modules/y/z.js`, "vendor/check.sh dist/x.sh node_modules/y/z.js"},
		{`npm ci; node node_modules/y/z.js`, ".npmrc+"},
		{`case $1 in a) ./x.sh;; *) ./y.sh;; esac`, "x.sh y.sh"},
	} {
		s := derived(test.contract, nil)
		if s.Fault != "" {
			t.Errorf("%s: %s", test.contract, s.Fault)
			continue
		}
		want := strings.Fields(test.want)
		if strings.Contains(test.want, "a b.sh") {
			want = []string{test.want}
		}
		slices.Sort(want)
		if got := said(s.guards); !slices.Equal(got, want) {
			t.Errorf("%s\n guards %q\n want   %q", test.contract, got, want)
		}
		if len(s.Lost) > 0 {
			t.Errorf("%s: cannot tell %v", test.contract, s.Lost)
		}
	}
}

// TestBeyond derives what the files that a contract names run in turn.
func TestBeyond(t *testing.T) {
	files := map[string]string{
		".git":         "",
		"check.sh":     "#!/usr/bin/env bash\nset -e\nhere=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"\n. \"$here/lib/common.sh\"\n./tools/a.sh \"$1\"\n",
		"tools/a.sh":   "cd \"$(dirname \"$0\")\"\n./b.sh\npython3 c.py\n",
		"tools/b.sh":   "#!/bin/sh\nexec ../check.sh\n",
		"tools/c.py":   "import json, os.path\nfrom helpers import x\n",
		"wrap.sh":      "\"$@\"\n",
		"root.sh":      "cd \"$(git rev-parse --show-toplevel)\" && ./x.sh\n",
		"run.py":       "#!/usr/bin/env python3\nimport json\nimport app\n",
		"Makefile":     "include rules.mk\nPY := python3\nall: test\ntest: lint\n\t@$(PY) tools/c.py $@\n\t./run-$$X || ./fallback.sh\nlint:\n\t$(MAKE) -C sub\ndeploy:\n\t./deploy.sh\n",
		"sub/Makefile": "x:\n\tbash ../wrap.sh ./y.sh\n",
		"package.json": `{"scripts": {"pretest": "./pre.sh", "test": "npm run unit && node checks/run.js", "unit": "jest --ci", "deploy": "./deploy.sh"}}`,
		"pkg/tool.py":  "import re\n",
	}
	for _, test := range []struct{ contract, want, not string }{
		{`./check.sh x`, "check.sh lib/common.sh tools/a.sh tools/b.sh tools/c.py tools/json.py+ tools/json/__init__.py+ tools/os.py+ tools/helpers.py", ""},
		{`bash wrap.sh ./x.sh`, "wrap.sh x.sh", ""},
		{`cd sub; ../wrap.sh ../x.sh`, "wrap.sh x.sh", ""},
		{`cd sub; ../root.sh`, "root.sh x.sh", "sub/x.sh"},
		{`source wrap.sh`, "wrap.sh", ""},
		{`./run.py`, "run.py json.py+ json/__init__.py+", "app.py"},
		{`make test`, "Makefile+ GNUmakefile+ rules.mk+ tools/c.py tools/json.py+ sub/Makefile+ wrap.sh sub/y.sh fallback.sh", "deploy.sh"},
		{`make`, "tools/c.py", "deploy.sh"},
		{`make deploy`, "deploy.sh", "tools/c.py"},
		{`npm test`, "package.json#scripts+ pre.sh checks/run.js node_modules/.bin/jest", "deploy.sh"},
		{`npx jest`, "node_modules/.bin/jest", ""},
		{`python -m pkg.tool`, "pkg/tool.py pkg/re.py+", ""},
	} {
		got := said(derived(test.contract, files).guards)
		for name := range strings.FieldsSeq(test.want) {
			if !slices.Contains(got, name) {
				t.Errorf("%s does not guard %s: %q", test.contract, name, got)
			}
		}
		if test.not != "" && (slices.Contains(got, test.not) || slices.Contains(got, test.not+"+")) {
			t.Errorf("%s guards %s", test.contract, test.not)
		}
	}
}

// TestIdleGoals tells for which goals make may run nothing, and what is included
// by a pattern.
func TestIdleGoals(t *testing.T) {
	for name, test := range map[string]struct{ contract, makefile, idle, open, guards string }{
		"plain":             {"make test", "test:\n\ttrue\n", "test", "", "test+"},
		"the first":         {"make", "all:\n\tgo vet\n", "all", "", ""},
		"no check":          {"make app", "app:\n\tgo build ./cmd/app\n", "app", "", ""},
		"phony":             {"make test", "test:\n\ttrue\n.PHONY: all test\n", "", "", ""},
		"phony by variable": {"make test", "ALL = a test\n.PHONY: $(ALL)\ntest:\n\ttrue\n", "", "", ""},
		"phony unknown":     {"make test", ".PHONY: $(shell ls)\ntest:\n\ttrue\n", "", "", ""},
		"phony elsewhere":   {"make test", "include a.mk\ntest:\n\ttrue\n", "", "", "a.mk+"},
		"included unknown":  {"make test", "include $(TOP)/x.mk\ntest:\n\ttrue\n", "", "", ""},
		"double colon":      {"make test", "test::\n\ttrue\n", "", "", ""},
		"always make":       {"make -B test", "test:\n\ttrue\n", "", "", ""},
		"forced":            {"make test", "test: FORCE\n\ttrue\nFORCE:\n", "", "", ""},
		"of a need":         {"make all", ".PHONY: all\nall: lint unit-test\nlint: a.c\n\tcc -c a.c\nunit-test:\n\t./run\n", "lint unit-test", "", "lint+ run unit-test+"},
		"elsewhere":         {"make -C sub test", "", "sub/test", "", "sub/test+"},
		"made":              {"make test", "test: test.c\n\tcc -o test test.c\n", "", "", ""},
		"made by a name":    {"make lint", "lint: *.c\n\tsplint $^ && touch $@\n", "", "", ""},
		"a stamp":           {"make lint", "lint:\n\tsplint a.c; touch lint\n", "", "", ""},
		"a path":            {"make out/test", "out/test:\n\t./run\n", "", "", "run"},
		"nothing to run":    {"make test", "test: a b\n", "", "", ""},
		"a pattern":         {"make test", "include mk/*.mk\ntest:\n\t./run\n", "", "mk/*.mk", "mk/*.mk run"},
		"a wildcard":        {"make test", "D = mk\n-include $(wildcard $(D)/*.mk local.mk)\n.PHONY: test\ntest:\n\t./run\n", "", "mk/*.mk", "local.mk+ mk/*.mk run"},
		"of a compiler":     {"make test", "-include build/*.d\n.PHONY: test\ntest:\n\t./run\n", "", "", "build/*.d run"},
	} {
		files := map[string]string{"Makefile": test.makefile, "a.mk": ".PHONY: test\n", "sub/Makefile": "test:\n\ttrue\n"}
		facts := Facts{Texts: files, Files: map[string]File{"test": {}, "lint": {}, "unit-test": {}, "all": {}, "app": {}, "sub/test": {}}}
		s := newTracer(facts, shell.NewParser()).read(test.contract)
		guards := slices.DeleteFunc(said(s.guards), func(g string) bool { return strings.HasSuffix(g, "akefile+") })
		if got := strings.Join(s.goals.idle, " "); got != test.idle {
			t.Errorf("%s: idle %q, want %q", name, got, test.idle)
		}
		if got := strings.Join(s.goals.open, " "); got != test.open {
			t.Errorf("%s: open %q, want %q", name, got, test.open)
		}
		if got := strings.Join(guards, " "); got != test.guards {
			t.Errorf("%s: guards %q, want %q", name, got, test.guards)
		}
	}
}

// TestPatternRulesInOrder holds that the rules of a Makefile that name no goal
// count in the order of the text: what is built before is no guard.
func TestPatternRulesInOrder(t *testing.T) {
	files := map[string]string{".git": "", "Makefile": "all: x.b\n%.a:\n\tgo build -o build/tool .\n%.b:\n\t./build/check\n%.c:\n\t./late.sh\n"}
	first := said(derived("make", files).guards)
	if slices.Contains(first, "build/check") || !slices.Contains(first, "late.sh") {
		t.Fatalf("guards %q", first)
	}
	for range 30 {
		if again := said(derived("make", files).guards); !slices.Equal(first, again) {
			t.Fatalf("guards %q, and then %q", first, again)
		}
	}
}

// TestUntold names what cannot be told, and nothing in ordinary contracts.
func TestUntold(t *testing.T) {
	for _, test := range []struct {
		contract string
		at       int // -1 for none
	}{
		{`"$TOOL" x.sh`, 0},
		{`true && $TOOL`, 8},
		{`$(find-tool) --all`, 0},
		{`bash "$X"`, 5},
		{`python3 "$X/check.py"`, 8},
		{`curl -s https://example.org/x | sh`, 32},
		{`bash <(curl -s https://example.org/x)`, 5},
		{`pushd a; ./x.sh; popd; ./y.sh`, 23},
		{`cmd=(bash x.sh -v); "${cmd[@]}"`, 20},
		{`cat x.sh | bash`, 11},
		{`cat x.py | python3 -`, 11},
		{`echo ./x.sh | sh -eu`, 14},
		{"cat <<'EOF' | bash\n./x.sh\nEOF", 14},
		{`f() { shift; "$1"; }; f a ./x.sh`, 13},
		{`cd "$DIR" && ./x.sh`, 13},
		{`bash -c "$X"`, 0},
		{`bash -c "cd $DIR && ./x.sh"`, 0},
		{`eval "$X"`, 0},
		{`while read -r f; do bash "$f"; done < list`, 25},
		{`find . -name '*.sh' -exec bash {} \;`, 31},
		{`find . -name '*.sh' | xargs bash`, 28},
		{`. "$VENV/bin/activate"`, 2},
		{`make -f "$X"`, 8},
		{`for i in 1 2; do ./$i$Y.sh; done`, 17},
		{`python3 -m "$X"`, 11},

		{`make test`, -1},
		{`go test ./...`, -1},
		{`npm test`, -1},
		{`pytest -q`, -1},
		{`! grep -q x f`, -1},
		{`test -f x`, -1},
		{`[ "$(cat x)" = y ]`, -1},
		{`[[ $(wc -l < x) -gt 10 ]] && grep -c "$PITON_ITEM" y`, -1},
		{`cat x | grep -v "$Y" | wc -l`, -1},
		{`test "$(git rev-parse HEAD)" = "$PITON_STEP_X"`, -1},
		{`for f in *.md; do grep -q title "$f" || exit 1; done`, -1},
		{`while read -r f; do test -f "$f"; done < list`, -1},
		{`find . -name '*.go' -exec gofmt -l {} +`, -1},
		{`diff <(sort a) <(sort b)`, -1},
		{`bash -c "echo $HOME; test -f $X"`, -1},
		{`cd "$(mktemp -d)" && git init -q`, -1},
		{`python3 -c "import x; print($Y)"`, -1},
		{`echo "$X" | python3 -m json.tool`, -1},
		{`go test -run "$X" ./...; npm run build -- --env "$Y"`, -1},
		{`set -euo pipefail; x=$(mktemp); go build -o "$x" . && test -s "$x"`, -1},
		{`/usr/bin/env true; ../outside.sh; "$HOME/bin/x"`, -1},
		{`docker run --rm "$IMAGE" true`, -1},
	} {
		s := derived(test.contract, nil)
		got := -1
		if len(s.Lost) > 0 {
			got = s.Lost[0].At
		}
		if got != test.at {
			t.Errorf("%s: cannot tell at %d (%v), want %d", test.contract, got, s.Lost, test.at)
		}
	}
}

// TestReachIsLinear counts what is walked of scripts that are made to repeat.
func TestReachIsLinear(t *testing.T) {
	for _, script := range []string{
		strings.Repeat("for i in 1 2 3 4 5 6 7 8; do ", 40) + "./x$i.sh" + strings.Repeat("; done", 40),
		"f0() { ./x.sh; }\n" + func() string {
			var b strings.Builder
			for i := range 200 {
				fmt.Fprintf(&b, "f%d() { f%d; f%d; f%d; }\n", i+1, i, i, i)
			}
			return b.String() + "f200\n"
		}(),
		strings.Repeat("eval '", 1) + strings.Repeat("x=1 ./a.sh;", 5000) + "'",
		"s=a;" + strings.Repeat(`s="$s$s$s";`, 300) + "$s",
		strings.Repeat("a=1;a=2;b=3;b=4;c=5;c=6;$a$b$c $a$b$c $a$b$c;", 200),
	} {
		s := derived(script, nil)
		if s.Left < -10*len(script)-1000 {
			t.Errorf("%.40s…: %d statements too many for %d bytes", script, -s.Left, len(script))
		}
		if len(s.Calls) > 16*len(script)+20000 {
			t.Errorf("%.40s…: %d commands in %d bytes", script, len(s.Calls), len(script))
		}
	}
}
