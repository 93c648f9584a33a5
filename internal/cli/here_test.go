//go:build unix

package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/cli"
	"github.com/piton-dev/piton/internal/owner"
	"github.com/piton-dev/piton/internal/store"
)

// here carries calls of piton out in the test process, and is the owner of their
// workspaces. The scripts of testdata/script find a program of that name which hands its
// arguments, directory, environment and files over. It costs a tenth of a process of its
// own, and of an owner that is one. Scripts about processes are in testdata/process.
type here struct {
	piton string // the real program
	bin   string // has the one that hands over

	mu     sync.Mutex
	owners map[*owning]bool
}

// owning is one owner in this process.
type owning struct {
	dir  string // the workspace
	stop func()
	done chan struct{}
}

// listens makes a here with a directory for its program.
func listens(dir, piton string) (*here, error) {
	h := &here{piton: piton, bin: filepath.Join(dir, "here"), owners: map[*owning]bool{}}
	if err := os.Mkdir(h.bin, 0o755); err != nil {
		return nil, err
	}
	c := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(h.bin, "piton"), "./testdata/forward")
	c.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false") // it counts nothing
	if out, err := c.CombinedOutput(); err != nil {
		return nil, errors.New(string(out))
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(h.bin, "sock"), Net: "unix"})
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return // it was closed with the process
			}
			go h.answer(c)
		}
	}()
	return h, nil
}

// answer carries one call out.
func (h *here) answer(c *net.UnixConn) {
	defer c.Close()
	oob := make([]byte, syscall.CmsgSpace(3*4))
	_, n, _, _, err := c.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return
	}
	files, err := received(oob[:n])
	if err != nil {
		return
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	var q struct {
		Args []string
		Dir  string
		Env  []string
	}
	if json.NewDecoder(c).Decode(&q) != nil {
		return
	}
	code := cli.Call{
		Program: h.piton, Args: q.Args, Dir: q.Dir, Env: q.Env, In: files[0], Out: written{files[1]}, Err: written{files[2]}, Owner: h.starter,
	}.Run()
	json.NewEncoder(c).Encode(code) //nolint:errcheck // it was killed
}

// written hides that it is a file: who waits for the reader of a pipe to leave would keep it
// from its end.
type written struct{ io.Writer }

// received are the three files of a process.
func received(oob []byte) (files []*os.File, err error) {
	all, err := syscall.ParseSocketControlMessage(oob)
	if err != nil || len(all) != 1 {
		return nil, errors.Join(err, errors.New("no files"))
	}
	fds, err := syscall.ParseUnixRights(&all[0])
	if err != nil || len(fds) != 3 {
		return nil, errors.Join(err, errors.New("not three files"))
	}
	for i, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), []string{"stdin", "stdout", "stderr"}[i]))
	}
	return files, nil
}

// starter is [owner.Starter] for owners in this process.
func (h *here) starter(p api.Place, env []string) func(context.Context) error {
	return func(context.Context) error {
		log, err := os.OpenFile(owner.LogFile(p), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(context.Background())
		o := &owning{p.Dir, stop, make(chan struct{})}
		listening, failed := make(chan struct{}), make(chan error, 1)
		h.mu.Lock()
		h.owners[o] = true
		h.mu.Unlock()
		go func() {
			err := owner.Serve(ctx, owner.Config{Place: p, Env: env, Version: cli.Version(), Program: h.piton, Now: time.Now, Log: log}, func() { close(listening) })
			log.Close()
			h.mu.Lock()
			delete(h.owners, o)
			h.mu.Unlock()
			close(o.done)
			failed <- err
		}()
		select {
		case <-listening:
			return nil
		case err := <-failed:
			if err != nil && !errors.Is(err, store.ErrOwned) {
				err = api.DecodeProblem(api.EncodeProblem(err)) // as from another process
			}
			return err
		}
	}
}

// of is an owner in this process of a workspace at or below dir; nil for none.
func (h *here) of(dir string) *owning {
	h.mu.Lock()
	defer h.mu.Unlock()
	for o := range h.owners {
		if o.dir == dir || strings.HasPrefix(o.dir, strings.TrimSuffix(dir, "/")+"/") {
			return o
		}
	}
	return nil
}

// none waits until no workspace at or below dir has an owner in this process.
func (h *here) none(t testing.TB, dir string) {
	for o := h.of(dir); o != nil; o = h.of(dir) {
		select {
		case <-o.done:
		case <-time.After(patience):
			t.Errorf("the workspace %s still has an owner", o.dir)
			o.stop()
			<-o.done
		}
	}
}
