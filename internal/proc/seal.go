package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// An Isolation says what keeps a child from the rest of the machine.
type Isolation string

const (
	// LevelSealed: a child sees what its [Seal] shows, and nothing else of people and of
	// other processes.
	LevelSealed Isolation = "sealed"
	// LevelFenced: a child sees all and changes what is [Spec.Writable].
	LevelFenced Isolation = "fenced"
	// LevelNone: a child sees and changes what the harness can.
	LevelNone Isolation = "none"
)

// Below reports whether a level is weaker than another. A word that is no level is the weakest.
func (i Isolation) Below(other Isolation) bool { return i.rank() < other.rank() }

func (i Isolation) rank() int {
	switch i {
	case LevelSealed:
		return 2
	case LevelFenced:
		return 1
	}
	return 0
}

// A Seal says what a child sees of the machine: the system, which it cannot change, and
// what is named here. Of two places the inner one counts, of the same one what stands
// last in this list. What does not exist is left out, but for what is Writable. Always
// hidden are the directories for temporary files and shared memory, which the child gets
// empty and of its own, those of run-time sockets and of people, and the devices, but for
// those that do no harm.
//
// The child has no capabilities and gains none, as root too. It is the only one in its pid
// namespace and has an ipc namespace of its own. Namespaces that it makes inside are as
// closed.
type Seal struct {
	Hidden   []string // an empty directory, or file, that cannot be changed stands there
	Home     string   // an empty directory, that can be changed, stands there; "" is none
	Visible  []string // can be read, in what is hidden too
	Copied   []string // can be read and, where Temp is set, changed: what was changed is gone with Temp
	Made     []string // as Copied, in the home, and made for the child alone where it does not exist
	Kept     []string // what other children left of what is Made, the newest first
	Writable []string // can be changed; must exist
	// Exact can be changed too, and no link may lie on the way there.
	Exact []string
	// Temp is a directory of which nobody else makes use: the child has its temporary
	// files in it. "" is in memory.
	Temp string
}

// unable is the exit status of a child that could not be held as it should.
const unable = 126

// refused is why what the seal shows could not be had, nil if it could. The child cannot reach
// the place where that is written.
func (s *Seal) refused() error {
	if s.Temp == "" {
		return nil
	}
	why, err := os.ReadFile(refusalOf(s.Temp))
	if err != nil {
		return nil
	}
	return fmt.Errorf("%w: it cannot be kept apart: %s", ErrNotStarted, why)
}

// fixed is what the child could read only, though it should take up changes.
func (s *Seal) fixed() []string {
	if s.Temp == "" {
		return nil
	}
	list, err := os.ReadFile(fixedOf(s.Temp))
	if err != nil {
		return nil
	}
	return strings.Split(string(list), "\n")
}

func fixedOf(temp string) string { return filepath.Join(temp, "fixed") }

func refusalOf(temp string) string { return filepath.Join(temp, "refused") }

// A trial keeps what came of trying to seal a child.
type trial struct {
	mu   sync.Mutex
	done bool
	err  error
}

// Sealed says why children cannot be sealed, see [Spec.Seal]; nil if they can. The first
// call finds out, by starting one that looks whether its seal holds. The answer holds for
// the life of the pool, but for a refusal that may pass.
func (p *Pool) Sealed() error {
	p.trial.mu.Lock()
	defer p.trial.mu.Unlock()
	if p.trial.done {
		return p.trial.err
	}
	err := p.trySeal()
	p.trial.done, p.trial.err = err == nil || !errors.Is(err, ErrNotStarted) || refusedForGood(err), err
	return err
}

func (p *Pool) trySeal() error {
	dir, err := os.MkdirTemp("", "piton-seal-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	secret := filepath.Join(dir, "secret")
	if err := cmp.Or(os.Mkdir(secret, 0o700), os.WriteFile(filepath.Join(secret, "file"), nil, 0o600)); err != nil {
		return err
	}
	r := p.Run(context.Background(), Spec{
		Argv: []string{trialProgram, secret}, Dir: "/",
		Seal: &Seal{Hidden: []string{secret}, Visible: []string{dir}},
	})
	if status, ok := r.Exited(); !ok || status != 0 {
		return cmp.Or(r.Err, fmt.Errorf("children cannot be sealed here: %s", strings.TrimSpace(r.Stderr.LastLines(3, 512))))
	}
	return nil
}

// Best is the best level that children can have, and why it is no better one.
func (p *Pool) Best() (level Isolation, why error) {
	why = p.Sealed()
	if why == nil {
		return LevelSealed, nil
	}
	if err := Fenced(); err != nil {
		return LevelNone, errors.Join(why, err)
	}
	return LevelFenced, why
}
