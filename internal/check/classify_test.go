package check_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/piton-dev/piton/internal/check"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

func exited(status int, stdout, stderr string) proc.Result {
	return proc.Result{Exit: status, Stdout: capture(stdout), Stderr: capture(stderr)}
}

func capture(s string) proc.Capture { return proc.Capture{Head: []byte(s), Total: int64(len(s))} }

// What real programs printed, and what it means.
func TestClassifyRunners(t *testing.T) {
	files, err := filepath.Glob("testdata/runners/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captured outputs: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			head := map[string]string{}
			for line := range strings.Lines(string(ar.Comment)) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				head[key] = value
			}
			var status int
			if _, err := fmt.Sscan(head["exit"], &status); err != nil || len(ar.Files) != 2 {
				t.Fatalf("malformed: %v", err)
			}
			c := engine.Check{Name: "contract", Command: head["command"]}
			got, reason := check.Classify(c, exited(status, string(ar.Files[0].Data), string(ar.Files[1].Data)))
			if string(got) != head["verdict"] {
				t.Errorf("%s (%s), want %s", got, reason, head["verdict"])
			}
			if (got == engine.Inconclusive || got == engine.Infra) == (reason == "") {
				t.Errorf("%s has the reason %q", got, reason)
			}
			// The same output of another program means nothing.
			if status == 0 {
				c.Command = "./check.sh"
				if got, _ := check.Classify(c, exited(0, string(ar.Files[0].Data), string(ar.Files[1].Data))); got != engine.Pass {
					t.Errorf("as output of a script of one's own: %s, want pass", got)
				}
			}
		})
	}
}

// fixed is the end of a check that could only read ~/.cargo.
func fixed(status int, stderr string) proc.Result {
	r := exited(status, "", stderr)
	r.Fixed = []string{"/h/.cargo"}
	return r
}

func TestClassifyEnds(t *testing.T) {
	plain := engine.Check{Name: "contract", Command: "make test"}
	three := engine.Check{Name: "contract", Command: "make test", Exit: 3}
	gone := engine.Check{Name: "contract", Command: "! command", Exit: 127}
	tests := []struct {
		name   string
		check  engine.Check
		result proc.Result
		want   engine.Verdict
		reason string
	}{
		{"as wanted", plain, exited(0, "", ""), engine.Pass, ""},
		{"otherwise", plain, exited(1, "", ""), engine.Fail, ""},
		{"another code wanted", three, exited(3, "", ""), engine.Pass, ""},
		{"zero is not wanted", three, exited(0, "", ""), engine.Fail, ""},
		{"a code for a signal is a code", plain, exited(137, "", ""), engine.Fail, ""},
		{"not found is wanted", gone, exited(127, "", ""), engine.Pass, ""},
		{"not found", plain, exited(127, "", "make: jest: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n"), engine.Inconclusive, "command not found: jest"},
		{"not found by another shell", plain, exited(127, "", "sh: 1: jest: not found\n"), engine.Inconclusive, "command not found: jest"},
		{"not found, and nobody says what", plain, exited(127, "", ""), engine.Inconclusive, "command not found"},
		{"a bad interpreter", plain, exited(126, "", "bash: line 1: ./x: /no/such: bad interpreter: No such file or directory\n"), engine.Inconclusive, "cannot be executed: ./x"},
		{"a signal", plain, proc.Result{Exit: -1, Signal: "SIGKILL"}, engine.Fail, "killed by SIGKILL"},
		{"a signal and a code", plain, proc.Result{Exit: 0, Signal: "SIGTERM"}, engine.Fail, "killed by SIGTERM"},
		{"too slow", plain, proc.Result{Exit: -1, Signal: "SIGKILL", TimedOut: true, Duration: 60003e6}, engine.Timeout, "took longer than 1m (`contract timeout:` gives it more)"},
		{"too slow and cold", plain, proc.Result{Exit: -1, TimedOut: true, Duration: 61e9, Cold: []string{"~/.cache/go-build"}}, engine.Infra, "took longer than 1m1s (`contract timeout:` gives it more); it began with an empty ~/.cache/go-build, so all was made anew: run it once yourself, which fills that, and try again"},
		{"too slow and content", plain, proc.Result{Exit: 0, TimedOut: true, Duration: 61e9}, engine.Timeout, "took longer than 1m1s (`contract timeout:` gives it more)"},
		{"called off", plain, proc.Result{Exit: 0, Cancelled: true}, engine.Infra, "stopped by Piton"},
		{"never started", plain, proc.Result{Exit: 0, Err: errors.New("not started: no bash")}, engine.Infra, "not started: no bash"},
		{"nobody knows", plain, proc.Result{Exit: -1}, engine.Infra, "its end is not known"},
		{"full", plain, exited(2, "", "cc: out.o: No space left on device\nmake: *** [all] Error 1\n"), engine.Infra, "No space left on device"},
		{"full, and it did not matter", plain, exited(0, "", "No space left on device\n"), engine.Pass, ""},
		{"full, said long ago", plain, exited(1, "No space left on device\n"+strings.Repeat("more\n", 50), ""), engine.Fail, ""},
		{"a tool that cannot write", plain, fixed(1, "error: failed to open: /h/.cargo/.package-cache: Read-only file system (os error 30)\n"), engine.Infra, "/h/.cargo cannot be changed inside of the seal: something is mounted in it; unmount that, or list the directory under `sandbox: {writable: […]}` in .piton/config.yaml"},
		{"one that cannot write elsewhere", plain, fixed(1, "touch: /usr/x: Read-only file system\n"), engine.Fail, ""},
		{"one that needs not write", plain, fixed(0, "touch: /h/.cargo/x: Read-only file system\n"), engine.Pass, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, reason := check.Classify(tt.check, tt.result)
			if got != tt.want || reason != tt.reason {
				t.Errorf("%s (%s), want %s (%s)", got, reason, tt.want, tt.reason)
			}
		})
	}
}

// Only a runner that the command calls is believed.
func TestClassifyCalls(t *testing.T) {
	const pytest, jest = "no tests ran in 0.01s\n", "No tests found, exiting with code 0\n"
	tests := []struct {
		command, output string
		want            engine.Verdict
	}{
		{"pytest", pytest, engine.Inconclusive},
		{".venv/bin/pytest -q tests/", pytest, engine.Inconclusive},
		{"cd x && A=1 timeout -k 5 60 env B=2 'pytest' | tee log", pytest, engine.Inconclusive},
		{"python3 -W error -m pytest", pytest, engine.Inconclusive},
		{"uv run --frozen pytest", pytest, engine.Inconclusive},
		{"coverage run -m pytest", pytest, engine.Inconclusive},
		{"if true; then ( pytest ); fi", pytest, engine.Inconclusive},
		{`out=$(pytest); echo "$out"`, pytest, engine.Inconclusive},
		{"grep pytest log", pytest, engine.Pass},
		{"echo pytest", pytest, engine.Pass},
		{"make test", pytest, engine.Pass},
		{"jest", pytest, engine.Pass},
		{"yarn test", jest, engine.Inconclusive},
		{"npm --silent run test:unit -- --passWithNoTests", jest, engine.Inconclusive},
		{"npx --no-install jest", jest, engine.Inconclusive},
		{"pnpm exec jest", jest, engine.Inconclusive},
		{"npm run build", jest, engine.Pass},
		{"npm ci", jest, engine.Pass},
		{"if", pytest, engine.Pass},
		{"go build ./...", "?   \tx\t[no test files]\n", engine.Pass},
		{"go test ./...", "?   \tx\t[no test files]\nok  \ty\t(cached)\n", engine.Pass},
		{"go test -cover ./...", "ok  \ty\t0.01s\tcoverage: 50.0% of statements\n?   \tx\t[no test files]\n", engine.Pass},
		{"go test -v ./...", "ok  \ta\t0.01s\n", engine.Inconclusive},                  // as after os.Exit(0) in a function of the package
		{"go test -v ./...", "=== RUN   TestA\nok  \ta\t0.01s\n", engine.Inconclusive}, // as after syscall.Exit(0) in what the test calls
		{"go test -v ./...", "TestA\nok  \ta\t0.01s\n", engine.Inconclusive},           // as after -test.list
		{"go test -json ./...", `{"Action":"output","Package":"a","Output":"ok  \ta\t0.01s\n"}` + "\n" + `{"Action":"pass","Package":"a","Elapsed":0.01}` + "\n", engine.Inconclusive},
		{"go test -v ./...", "ok  \ta\t0.01s\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\nok  \tb\t0.01s\n", engine.Inconclusive},
		{"go test -v ./...", "?   \ta\t[no test files]\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\nok  \tb\t0.01s\ntesting: warning: no tests to run\nPASS\nok  \tc\t0.01s [no tests to run]\n", engine.Pass},
		{"go test -v ./... | tail -1", "ok  \tb\t0.01s\n", engine.Pass},
		{"go test ./... -args -v", "ok  \tb\t0.01s\n", engine.Pass},
		{"go test -v ./a", "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \ta\t(cached)\n", engine.Pass},
		{"go test -v -run '^$' -bench . ./a", "goos: linux\nBenchmarkA-2   \t 100\t 1 ns/op\nPASS\nok  \ta\t0.1s\n", engine.Pass},
		{"cargo t", "test result: ok. 0 passed; 0 failed; 0 ignored\n", engine.Inconclusive},
	}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			c := engine.Check{Name: "contract", Command: tt.command}
			if got, reason := check.Classify(c, exited(0, tt.output, "")); got != tt.want {
				t.Errorf("%s (%s), want %s", got, reason, tt.want)
			}
		})
	}
}

// Where the middle of an output was not kept, tests may have run there.
func TestClassifyLongOutput(t *testing.T) {
	c := engine.Check{Name: "contract", Command: "go test ./..."}
	r := exited(0, "?   \tx\t[no test files]\n", "")
	r.Stdout.Total = 1 << 30
	if got, _ := check.Classify(c, r); got != engine.Pass {
		t.Errorf("%s, want pass", got)
	}
}

// FuzzClassify: output never makes a pass, whatever it says.
func FuzzClassify(f *testing.F) {
	f.Add("pytest", 0, 1, "1 passed in 0.01s", "")
	f.Add("go test", 5, 0, "ok  \tx\t0.1s", "")
	f.Add("npm test", 0, 0, "# tests 0", "x: not found")
	f.Fuzz(func(t *testing.T, command string, want, status int, stdout, stderr string) {
		if len(command) > 2000 {
			return // a contract is bounded, and so is its parser's time
		}
		c := engine.Check{Name: "contract", Command: command, Exit: want & 255}
		r := exited(status&255, stdout, stderr)
		got, _ := check.Classify(c, r)
		if got == engine.Pass && status&255 != want&255 {
			t.Errorf("exit %d passed, wanted %d", status&255, want&255)
		}
		for _, end := range []func(*proc.Result){
			func(r *proc.Result) { r.TimedOut = true },
			func(r *proc.Result) { r.Cancelled = true },
			func(r *proc.Result) { r.Signal = "SIGKILL" },
			func(r *proc.Result) { r.Err = proc.ErrLost },
			func(r *proc.Result) { r.Exit = -1 },
		} {
			cut := r
			end(&cut)
			if got, _ := check.Classify(c, cut); got == engine.Pass {
				t.Errorf("%+v passed", cut)
			}
		}
	})
}
