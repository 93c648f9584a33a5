package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/config"
)

// Place is a workspace and where its state lives.
type Place struct {
	Dir   string // the workspace: absolute, symbolic links resolved
	State string // the state directory, outside the workspace, mode 0700
	ID    string // of the workspace: its device, inode and path
}

// Locate finds the workspace that holds dir: the nearest directory upwards
// with a .piton directory or a .git, else dir itself. The environment's
// PITON_STATE, or XDG_STATE_HOME, says below which directory states live.
func Locate(dir string, env map[string]string) (Place, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return Place{}, fmt.Errorf("find workspace: %w", err)
	}
	p := Place{Dir: root(real)}
	if p.ID, err = identity(p.Dir); err != nil {
		return Place{}, err
	}
	base, err := stateBase(env)
	if err != nil {
		return Place{}, err
	}
	p.State = filepath.Join(base, p.ID)
	if rel, err := filepath.Rel(p.Dir, p.State); err == nil && filepath.IsLocal(rel) {
		return Place{}, &Problem{
			Code: Invalid, Message: fmt.Sprintf("the state directory %s lies inside the workspace %s, where agents can reach it", base, p.Dir),
			Hint: "set PITON_STATE to a directory outside",
		}
	}
	return p, nil
}

// At is the workspace at dir whose state is in the directory state, as [Locate]
// found both.
func At(dir, state string) (Place, error) {
	id, err := identity(dir)
	return Place{Dir: dir, State: state, ID: id}, err
}

// root goes up to the nearest directory that marks a workspace.
func root(dir string) string { return cmp.Or(upward(dir, ".piton", ".git"), dir) }

// Above is the nearest directory above dir that has a configuration directory; ""
// where dir has one itself, or none has.
func Above(dir string) string {
	if at := upward(dir, filepath.Dir(config.File)); at != dir {
		return at
	}
	return ""
}

// upward is the nearest directory, from dir on, that has one of these in it; "" for
// none.
func upward(dir string, names ...string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if slices.ContainsFunc(names, func(name string) bool { return exists(filepath.Join(at, name)) }) {
			return at
		}
		if filepath.Dir(at) == at {
			return ""
		}
	}
}

func identity(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("find workspace: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("find workspace: %s is not a directory", dir)
	}
	sum := sha256.Sum256([]byte(inode(info) + "\x00" + dir))
	name := strings.Map(plain, filepath.Base(dir))
	return strings.Trim(name, "-") + "-" + hex.EncodeToString(sum[:6]), nil
}

func plain(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
		return r
	}
	return '-'
}

func stateBase(env map[string]string) (string, error) {
	if dir := env["PITON_STATE"]; dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("PITON_STATE: %w", err)
		}
		return resolved(abs), nil
	}
	if dir := env["XDG_STATE_HOME"]; filepath.IsAbs(dir) {
		return filepath.Join(resolved(dir), "piton"), nil
	}
	home := env["HOME"]
	if runtime.GOOS == "windows" {
		home = env["LOCALAPPDATA"]
	}
	if home == "" {
		return "", &Problem{Code: Invalid, Message: "there is no home directory for the state", Hint: "set PITON_STATE to a directory"}
	}
	if runtime.GOOS == "windows" {
		return filepath.Join(home, "piton"), nil
	}
	return filepath.Join(resolved(home), ".local", "state", "piton"), nil
}

// resolved follows symbolic links in the part of the path that exists.
func resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		return filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))
	}
	if err != nil {
		return path
	}
	return real
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Inner is the workspace of its own below this one that a path lies in.
func (p Place) Inner(path string) (inner Place, ok bool) {
	dir := filepath.Dir(filepath.Join(p.Dir, filepath.FromSlash(path)))
	for dir != p.Dir && !exists(dir) {
		dir = filepath.Dir(dir)
	}
	inner, err := Locate(dir, map[string]string{"PITON_STATE": filepath.Dir(p.State)})
	if err != nil || inner.Dir == p.Dir {
		return Place{}, false
	}
	in, err := filepath.Rel(p.Dir, inner.Dir)
	return inner, err == nil && filepath.IsLocal(in)
}

// Owned reports whether an owner is at work in the workspace now.
func (p Place) Owned(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := dialSocket(ctx, p)
	return err == nil && conn.Close() == nil
}

// Private refuses a state directory that is there and that others can enter: its
// journal, and its socket, would be theirs too.
func (p Place) Private() error {
	info, err := os.Lstat(p.State)
	var why, do string
	switch {
	case err != nil:
		return nil //nolint:nilerr // it will be made, or the journal says what is wrong
	case !info.IsDir():
		why, do = "is no directory", "move it away"
	case !ours(info):
		why, do = "belongs to another user", "move it away, or chown it"
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		why, do = fmt.Sprintf("is open to others (mode %04o)", info.Mode().Perm()), "if nobody else wrote there, chmod 700 "+p.State
	default:
		return nil
	}
	return &Problem{Code: Internal, Message: fmt.Sprintf("the state directory %s %s", p.State, why), Hint: do}
}

// BackupTarget refuses what cannot become the directory of a copy of the journal.
func (p Place) BackupTarget(path string) error {
	refused := func(message, hint string) error { return &Problem{Code: Invalid, Message: message, Hint: hint} }
	up := filepath.Dir(path)
	info, err := os.Stat(up)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refused(fmt.Sprintf("there is no directory %s for the backup", up), "make it first")
	case err == nil && !info.IsDir():
		return refused(up+" is not a directory", "give the path of a new directory")
	}
	if _, err := os.Lstat(path); err == nil {
		return refused(path+" exists already", "a backup makes a new directory: give another name")
	}
	real, err := filepath.EvalSymlinks(up)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err == nil {
		real, err = filepath.Rel(p.State, real)
	}
	if err == nil && filepath.IsLocal(real) {
		return refused(path+" is inside the state directory and would be lost with it", "give the path of a new directory elsewhere")
	}
	return nil
}

// Socket is the path of the owner's socket.
func (p Place) Socket() string { return filepath.Join(p.State, "sock") }
