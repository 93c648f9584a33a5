package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/check"
	"github.com/piton-dev/piton/internal/engine"
)

func TestExecutables(t *testing.T) {
	for _, command := range []string{
		"t", "/home/me/t", "a=1 t x", "x | t && y", "echo $(t)", "if t; then :; fi",
		"timeout 5 t", "timeout -k 1 5s t x", "env A=b t", "nice -n 3 t", "nohup t", "time t", "command t", "exec t",
		"sudo t", "sudo -u me t", "doas t", "setsid t", "x | xargs t", "x | xargs -n 1 -P4 t -v", "x | xargs -I {} t {}",
		"bash -c 't'", `sh -ec "t x"`, "bash -o pipefail -c 'x | t'", "timeout 5 bash -c 'xargs t'", "eval 't x'", `bash -c "sh -c 't'"`,
		"sudo -E bash -c 't x'", "find . -exec y {} \\; -exec t {} \\;", "find . -name x -exec t {} +", `find . -exec bash -c 't "$1"' _ {} \;`,
	} {
		names := check.Executables([]engine.Check{{Command: command}})
		if !slices.Contains(names, "t") && !slices.Contains(names, "/home/me/t") {
			t.Errorf("%s: %q", command, names)
		}
	}
	for _, command := range []string{"y t", "bash t", "bash run.sh -c t", "./t", "sub/t", "find t -name t", "echo 't'", "if", "bash -c"} {
		if names := check.Executables([]engine.Check{{Command: command}}); slices.Contains(names, "t") {
			t.Errorf("%s starts no t: %q", command, names)
		}
	}
	deep := strings.Repeat("find -exec sudo -E eval ", 200) + "t"
	if names := check.Executables([]engine.Check{{Command: deep}}); !slices.Contains(names, "t") {
		t.Errorf("deep down: %q", names)
	}
}
