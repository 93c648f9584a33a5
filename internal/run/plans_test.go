package run_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// A job is one task of a simulated world.
type job struct {
	stream string
	plan   engine.Definition
	policy engine.Policy
	tender map[string]int // how often a step's checks fail, in percent
}

// ids is how many names of steps there are.
const ids = 13

func randomJob(r *rand.Rand, stream string) job {
	j := job{
		stream: stream,
		plan:   engine.Definition{Plan: "plan-" + stream, Title: "Plan of " + stream, Parallel: 1 + r.IntN(4)},
		policy: engine.Policy{MaxParallel: 1 + r.IntN(4), Baseline: chance(r, 70), Ratchet: chance(r, 60)},
		tender: map[string]int{},
	}
	for i := range 1 + r.IntN(10) {
		s := randomStep(r, i)
		j.plan.Steps = append(j.plan.Steps, s)
		j.tender[s.ID] = pick(r, 0, 10, 40)
	}
	for i := len(j.plan.Steps); i < ids; i++ { // of steps that somebody may put in
		j.tender[fmt.Sprintf("s%d", i+1)] = pick(r, 0, 10, 40)
	}
	return j
}

func randomStep(r *rand.Rand, i int) engine.Step {
	s := engine.Step{
		ID: fmt.Sprintf("s%d", i+1), Number: fmt.Sprint(i + 1), Title: fmt.Sprintf("Step %d", i+1),
		Kind: pick(r, engine.Agent, engine.Script), Task: "do it",
		Needs: randomNeeds(r, i), Checks: randomChecks(r),
		Expect: pick(r, engine.ExpectAny, engine.ExpectAny, engine.ExpectRed, engine.ExpectGreen),
		OnFail: engine.OnFail{
			Retries: r.IntN(3),
			Then:    pick(r, engine.Escalate, engine.Escalate, engine.Escalate, engine.Abort, engine.Skip, engine.Replan),
		},
		Critical: chance(r, 50), Holds: chance(r, 80), Rerunnable: chance(r, 75),
		Timeout: time.Hour, CheckTimeout: 5 * time.Minute, Mode: "edit", Network: "no",
	}
	if chance(r, 60) {
		s.Writes = []string{pick(r, "a/**", "b/**", "a/deep/*.go", "c.txt")}
	}
	if chance(r, 50) {
		s.Backoff = noisy(r, time.Second, 3*time.Minute)
	}
	if chance(r, 15) {
		s.Approval = "it costs money"
	}
	if chance(r, 20) && s.Kind == engine.Script && !s.Worktree {
		s.Kind, s.Tool = engine.Tool, "write_file"
	}
	if s.Kind == engine.Agent && s.Rerunnable && chance(r, 30) {
		s.Iterations = 1 + r.IntN(3)
	}
	return s
}

func randomNeeds(r *rand.Rand, i int) (needs []int) {
	for n := range i {
		if chance(r, 25) {
			needs = append(needs, n)
		}
	}
	return needs
}

func randomChecks(r *rand.Rand) []engine.Check {
	checks := []engine.Check{{Name: engine.Contract, Command: "make test", Exit: pick(r, 0, 0, 0, 3), Required: true}}
	for i := range r.IntN(3) {
		checks = append(checks, engine.Check{Name: fmt.Sprintf("check%d", i+1), Command: "make lint", Required: chance(r, 50)})
	}
	return checks
}

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// noisy draws a duration to the nanosecond, so that no two things of a world
// fall on the same instant and its journal hangs on the seed alone.
func noisy(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}
