package proc

import (
	"errors"
	"io"
	"os"
	"time"
)

// A Level says how surely a child's tree dies.
type Level string

const (
	// Namespace: the tree lives in a pid namespace of its own and dies as one,
	// whatever it does, also when the harness is killed. Linux, as root or
	// where ordinary users may make user namespaces. An ordinary user's child
	// then sees files of other users as owned by nobody and gains nothing from
	// set-uid programs.
	Namespace Level = "namespace"
	// Subreaper: orphans fall to the holder, which hunts them until none is
	// left, also when the harness is killed. A tree that kills both processes
	// of its holder in one go gets away. Linux.
	Subreaper Level = "subreaper"
	// Group: the child's process group (on Windows its job object) is killed.
	// On systems other than Windows a process that moved to another session
	// survives, and everything survives when the harness is killed.
	Group Level = "group"
)

// A Spec says what to run. Only Argv is required.
type Spec struct {
	// Argv is the program and its arguments. A program without a slash is
	// looked up in the PATH of Env, never in that of the harness and never in a
	// relative entry; one with a slash is relative to Dir.
	Argv []string
	// Dir is the working directory; "" is that of the harness.
	Dir string
	// Env is the whole environment; nil is an empty one. See [Environ].
	Env []string
	// Stdin is given to the child, which may leave it unread. Nil is the null
	// device.
	Stdin []byte
	// Timeout bounds the child's life from its start, by the monotonic clock;
	// 0 is no bound.
	Timeout time.Duration
	// Grace is the time between asking the child's process group to end
	// (SIGTERM) and killing all, at a timeout or a cancelled context. 0 kills
	// at once.
	Grace time.Duration
	// Output bounds what is kept of each stream.
	Output Output
	// Tee, if set, gets the bytes of both streams as they come, one write at a
	// time. The child waits for it. What it answers is not looked at. One that hangs
	// is left behind soon after the tree's end: its last write may still be under way
	// when the child's result is there.
	Tee io.Writer
	// Offline keeps the tree from every network but a loopback of its own, on
	// which only the tree itself can be reached; where that is not to be had,
	// the child is not started, see [Pool.Offline]. It needs a user namespace,
	// for root too, who keeps all users and groups in it and loses what the
	// machine's own root alone may do, such as mounting. What listens on a
	// socket file can be reached all the same, and may have the network.
	Offline bool
	// Gate, if not nil, is the only way out of a tree that is Offline: a proxy, whose
	// address the child finds in HTTP_PROXY and the like.
	Gate Gate
	// Writable, if not nil, are the directories below which the tree may change files,
	// and nowhere else, [os.DevNull] aside. All must exist. Where that is not to be had,
	// the child is not started, see [Fenced]. Reading is not bounded by it, nor are the
	// modes, owners and times of files, nor what is done through a socket.
	Writable []string
	// Seal, if not nil, is all that the tree sees of the machine; where that is not to be
	// had, the child is not started, see [Pool.Sealed].
	Seal *Seal
	// Room, if not nil, is what the child works in, at the level that the pool has for it:
	// the pool makes Seal or Writable of it, unless one of them is given.
	Room *Room

	loans []loan
}

// A Gate is a proxy for one child.
type Gate interface {
	// Answer answers on a listening socket, which it closes, until stop is closed, and
	// leaves nothing open.
	Answer(socket *os.File, stop <-chan struct{})
	// Environ is what the child's environment gets besides.
	Environ() []string
	// Closed reports that it lets nothing through.
	Closed() bool
	// Refused are the hosts that were asked for in vain.
	Refused() []string
}

// Output bounds the bytes kept of one stream; the rest is counted and hashed.
type Output struct {
	Head int // first bytes kept; 0 is 4 KiB, negative none
	Tail int // last bytes kept; 0 is 64 KiB, negative none
}

// A Result says how a child ended. Use [Result.Exited] to judge it.
type Result struct {
	// Exit is the exit status, or -1 if the child did not exit by itself.
	Exit int
	// Signal names the signal that ended the child, such as "SIGKILL"; else "".
	Signal string
	// TimedOut and Cancelled say that the child was made to end, whatever Exit
	// and Signal say: by Timeout, or by the context or the pool's Close.
	TimedOut  bool
	Cancelled bool
	// Err is set if there is no answer of the child: it matches
	// [ErrNotStarted] if the child never ran, and [ErrLost] if its holder
	// failed. Neither says anything about the child's work.
	Err error
	// Duration is the wall time from start until nothing of the tree lived.
	Duration time.Duration
	// Stdout and Stderr hold what was written.
	Stdout, Stderr Capture
	// Level is what was in force.
	Level Level
	// Isolation is what kept the child from the rest of the machine.
	Isolation Isolation
	// Fixed is what programs need of the home and could read only: no layer for changes can be
	// laid over it, since something is mounted in it.
	Fixed []string
	// Cold lists the caches that were empty when a child began that ran out of time, and that
	// it filled: "~/.cache/go-build".
	Cold []string
	// Leftover counts the processes that were still there when the child ended,
	// or was killed, and had to be killed too. Always 0 at level Group.
	Leftover int
}

// Exited returns the child's own exit status. ok is false if the child did not
// start, was lost, timed out, was cancelled or died of a signal: then there is
// no status that could count as a pass.
func (r Result) Exited() (status int, ok bool) {
	ok = r.Err == nil && !r.TimedOut && !r.Cancelled && r.Signal == "" && r.Exit >= 0
	return r.Exit, ok
}

var (
	// ErrNotStarted is matched by [Result.Err] if the child never ran. The
	// cause is wrapped: fs.ErrNotExist, fs.ErrPermission, a context's error.
	ErrNotStarted = errors.New("not started")
	// ErrNoProgram is matched by [Result.Err], beside ErrNotStarted, if the
	// program is nowhere to be found: trying again finds it no sooner.
	ErrNoProgram = errors.New("no such program")
	// ErrLost is matched by [Result.Err] if the holder died or answered
	// nonsense. The child may have run; nothing of it lives, unless the error
	// says so. The same Spec may be run again.
	ErrLost = errors.New("holder lost")
	// ErrClosed is matched by [Result.Err] after the pool's Close.
	ErrClosed = errors.New("pool is closed")
)

// A Config says how a pool works. The zero value is good.
type Config struct {
	// Level forces a level: NewPool fails if it cannot be had. "" takes the
	// best one this machine has.
	Level Level
	// Idle is the number of holders kept waiting for work; 0 is eight for each
	// processor.
	Idle int
	// Patience is how long a holder may take to start, or to end a tree that it
	// was told to kill, before it is killed itself; 0 is 10 s.
	Patience time.Duration
}
