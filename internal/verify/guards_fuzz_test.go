package verify

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

var (
	plainScript = regexp.MustCompile(`^\./[a-z]+\.sh$`)
	movesAbout  = regexp.MustCompile(`cd|pushd|popd|-o|chdir|-C|\(\)|function`)
)

// FuzzGuards derives the guards of any contract, in a workspace where every file
// is this contract again, a Makefile and a manifest included. Nothing panics, the
// work is bounded by the size, and what the text itself names as a command, in a
// script that stays where it is, is guarded.
func FuzzGuards(f *testing.F) {
	for _, contract := range []string{
		`for s in a.sh b.sh; do bash "$s"; ./x.sh; done`, `s=./x.sh; $s; eval "$s"`, `f() { "$@"; f x; }; f ./x.sh`,
		`cat x.sh | bash; bash < y.sh; python3 - < z.py`, "make test:\n\t./x.sh\ninclude y.mk\n", "import json, os\nfrom x import y\n",
		`cd "$(dirname "$0")" && . "${BASH_SOURCE[0]%/*}/x.sh"`, `{"scripts": {"test": "./x.sh"}}`, "#!/usr/bin/env python3\nimport x",
		`find . -exec bash x.sh {} + | xargs -I{} ./y.sh`, `PATH=$PWD/bin:$PATH; x`, `a=(1 2 "${a[@]}"); "${a[@]}"`, "bash <<E\n./x.sh\nE\n",
		`case x in a) ./x.sh ;; esac; while ./y.sh; do ./z.sh; done; if ./a.sh; then :; fi`, "npm test; python3 -m x.y; npx x; ./x.sh",
	} {
		f.Add(contract)
	}
	f.Fuzz(func(t *testing.T, contract string) {
		if len(contract) > 1<<14 {
			return
		}
		files := map[string]string{".git": ""}
		for _, name := range []string{"x.sh", "y.sh", "z.sh", "x", "bin/x", "x.py", "y.mk", "Makefile", "package.json", "x/y.py"} {
			files[name] = contract
		}
		s := derived(contract, files)
		if s.Fault != "" {
			return
		}
		if s.Left < -8*len(contract)-8000 {
			t.Errorf("%d statements are walked too often for %d bytes", -s.Left, len(contract))
		}
		if movesAbout.MatchString(contract) || strings.Contains(contract, "`") {
			return
		}
		names := said(s.guards)
		for node := range syntax.Preorder(s.File) {
			c, ok := node.(*syntax.CallExpr)
			if !ok || len(c.Args) == 0 || !plainScript.MatchString(c.Args[0].Lit()) {
				continue
			}
			if name := c.Args[0].Lit()[2:]; !slices.Contains(names, name) && !slices.Contains(names, name+"+") {
				t.Errorf("runs %s, which is not guarded: %q", name, names)
			}
		}
	})
}
