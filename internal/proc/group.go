package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
)

// groupHost starts children directly. It is what there is where holders are not.
type groupHost struct{ reason string }

func (h groupHost) level() Level { return Group }
func (h groupHost) close()       {}
func (h groupHost) warm(int)     {}

func (h groupHost) guarding(ward) (host, error) {
	return nil, fmt.Errorf("there are no namespaces at level %s: %s", Group, h.reason)
}

// A group is a tree whose members stayed together.
type group struct {
	reins reins
	mu    sync.Mutex
	gone  bool
	up    chan struct{}
	end   chan ending
}

func (h groupHost) begin(o order, in, out, errs *os.File) (tree, error) {
	cmd := &exec.Cmd{Path: o.path, Args: o.argv, Dir: o.dir, Env: o.env, Stdout: out, Stderr: errs}
	if in != nil {
		cmd.Stdin = in
	}
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	r, err := newReins(cmd)
	if err != nil {
		return nil, startError(o, err)
	}
	if err := r.start(cmd); err != nil {
		return nil, startError(o, err)
	}
	g := &group{reins: r, up: make(chan struct{}), end: make(chan ending, 1)}
	close(g.up)
	go g.wait(cmd)
	return g, nil
}

func (g *group) wait(cmd *exec.Cmd) {
	err := cmd.Wait()
	g.kill()
	g.mu.Lock()
	g.gone = true
	g.reins.release()
	g.mu.Unlock()
	state := cmd.ProcessState
	if state == nil {
		g.end <- ending{exit: -1, err: errors.Join(ErrLost, err)}
		return
	}
	g.end <- ending{exit: state.ExitCode(), signal: deathOf(state)}
}

func (g *group) started() chan struct{} { return g.up }
func (g *group) done() chan ending      { return g.end }
func (g *group) terminate()             { g.pull(g.reins.terminate) }
func (g *group) kill()                  { g.pull(g.reins.kill) }

// pull does something to the group while it surely is still ours.
func (g *group) pull(act func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.gone {
		act()
	}
}
