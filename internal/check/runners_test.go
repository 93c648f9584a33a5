package check

import (
	"testing"

	"github.com/piton-dev/piton/internal/proc"
)

func TestTested(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command, output string
		want            int
	}{
		{"pytest -q", "F.\n1 failed, 4 passed, 2 skipped in 0.12s\n", 5},
		{"pytest", "===== 3 passed in 0.01s =====\n", 3},
		{"pytest a; pytest b", "== 3 passed, 1 warning in 0.01s ==\n== 2 failed in 0.3s ==\n", 5},
		{"python -m unittest", "Ran 7 tests in 0.001s\n\nOK\n", 7},
		{"go test -v ./...", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nok  \tx\t0.1s\n", 2},
		{"go test ./...", "ok  \tx\t0.1s\n", 0},
		{"go test ./...", "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\nFAIL\tx\t0.1s\n", 2},
		{"go test -json ./...", `{"Time":"t","Action":"run","Package":"x","Test":"TestA"}
{"Time":"t","Action":"output","Package":"x","Test":"TestA","Output":"--- PASS: TestA (0.00s)\\n"}
{"Time":"t","Action":"pass","Package":"x","Test":"TestA","Elapsed":0}
{"Time":"t","Action":"pass","Package":"x","Elapsed":0.2}
`, 1},
		{"cargo test", "test result: ok. 4 passed; 0 failed; 1 ignored\ntest result: FAILED. 2 passed; 1 failed; 0 ignored\n", 7},
		{"node --test", "# tests 5\n# pass 3\n# fail 1\n# skipped 1\n", 4},
		{"npx jest", "Tests:       1 failed, 2 skipped, 3 passed, 6 total\n", 4},
		{"npx vitest run", " Test Files  1 passed (1)\n      Tests  1 failed | 4 passed (5)\n", 5},
		{"npx mocha", "  6 passing (10ms)\n  1 failing\n", 7},
		{"cat log", "===== 3 passed in 0.01s =====\n", 0},
		{"pytest", "5 passed\n99999999999999999999 passed in 1s\n", maxTests},
	} {
		var r proc.Result
		r.Stdout = proc.Capture{Head: []byte(tt.output), Total: int64(len(tt.output))}
		if got, _ := tested(tt.command, r); got != tt.want {
			t.Errorf("%q after %q ran %d tests, want %d", tt.output, tt.command, got, tt.want)
		}
	}
}
