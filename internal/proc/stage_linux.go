package proc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageName is the name of a process that gives up rights before it becomes the program
// of a child.
const stageName = "piton-stage"

// stage puts such a process before the program.
func stage(o order, s Spec) (order, error) {
	argv := []string{stageName}
	var places []string
	if s.Seal != nil {
		for _, p := range s.Seal.places(o.path) {
			places = append(places, string(p.what)+p.path)
		}
	}
	argv = append(append(argv, strconv.Itoa(len(places))), places...)
	if s.Writable == nil {
		argv = append(argv, "-1")
	} else {
		if err := Fenced(); err != nil {
			return order{}, err
		}
		argv = append(append(argv, strconv.Itoa(len(s.Writable))), s.Writable...)
	}
	argv = append(append(argv, o.path), o.argv...)
	return order{path: "/proc/self/exe", argv: argv, dir: o.dir, env: o.env}, nil
}

// init turns this process into such a one. Whoever starts it by that name himself can
// do nothing by it but lose rights.
func init() {
	if len(os.Args) < 5 || os.Args[0] != stageName {
		return
	}
	runtime.LockOSThread()
	fmt.Fprintln(os.Stderr, "piton:", perform(os.Args[1:]))
	os.Exit(unable)
}

// perform returns only if it fails.
func perform(args []string) error {
	sealed, args, err := counted(args)
	if err != nil {
		return err
	}
	if len(sealed) > 0 {
		if err := enterSeal(sealed); err != nil {
			return fmt.Errorf("seal: %w", err)
		}
	}
	fenced := args[0] != "-1"
	var writable []string
	if writable, args, err = counted(args); err != nil {
		return err
	}
	if len(args) < 2 {
		return errNonsense
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if fenced {
		err = enclose(writable)
	} else {
		err = closeScope()
	}
	if err == nil && len(sealed) > 0 {
		err = cmp.Or(dropAll(), filter())
	}
	if err != nil {
		return err
	}
	if args[0] == trialProgram {
		return tried(args[2])
	}
	return fmt.Errorf("run %s: %w", args[0], syscall.Exec(args[0], args[1:], os.Environ()))
}

// counted takes a list off the arguments. A list of -1 is empty.
func counted(args []string) (list, rest []string, err error) {
	n, err := strconv.Atoi(args[0])
	if err != nil || n < -1 || len(args) < n+2 {
		return nil, nil, errNonsense
	}
	n = max(n, 0)
	return args[1 : n+1], args[n+1:], nil
}

// dropAll gives up every capability, for good. Root keeps the one without which it could
// make no user namespace, as the sandboxes of agents do: it is one of the user namespace
// that it is in.
func dropAll() error {
	root := os.Geteuid() == 0
	for c := range uintptr(64) {
		if root && c == unix.CAP_SETFCAP {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, unix.EINVAL) {
			break // there are no more
		} else if err != nil {
			return fmt.Errorf("drop a capability: %w", err)
		}
	}
	if root {
		return holdOnly(1 << unix.CAP_SETFCAP)
	}
	return holdOnly(0)
}

// places lists what a child sees where, from the outside inwards. program is the one that
// is run: it is seen in any case.
func (s *Seal) places(program string) []place {
	at := view{}
	at.add(hidden, "/run", "/var/run", "/home", "/root", "/media")
	at.add(hidden, s.Hidden...)
	at.add(emptied, "/tmp", "/var/tmp", "/dev/shm", s.Home)
	at.add(devices, "/dev")
	at.add(processes, "/proc")
	at.add(visible, s.Visible...)
	copied := visible
	if s.Temp != "" {
		copied = layered
	}
	at.add(copied, s.Copied...)
	var names map[string]string
	if s.Temp != "" {
		names = at.make(s.Home, s.Made...)
	}
	at.add(writable, s.Writable...)
	maps.DeleteFunc(at, func(path string, w what) bool { return w == made && at.around(path) == writable })
	for _, path := range s.Exact {
		at[filepath.Clean(path)] = writable
	}
	for _, path := range []string{program, "/etc/resolv.conf"} {
		if slices.ContainsFunc(s.Writable, func(dir string) bool { return inside(dir, path) }) {
			continue // it may be a link that a child has made
		}
		if w := at.around(resolved(path)); w == hidden || w == emptied {
			at.add(visible, path)
		}
	}
	list := at.list()
	for i, p := range list {
		if p.what == made {
			list[i].path += "\x01" + names[p.path]
		}
	}
	if s.Temp != "" {
		list = append(list, place{temporary, s.Temp})
	}
	if home := resolved(s.Home); s.Home != "" {
		list = append(list, place{layers, home})
	}
	for _, layer := range s.Kept {
		list = append(list, place{below, layer})
	}
	return list
}

// A view is what stands where. Links are followed, and kept as what they are.
type view map[string]what

func (v view) add(w what, paths ...string) {
	for _, path := range paths {
		if path == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil && w == writable {
			real = filepath.Clean(path) // the stage says what is wrong with it
		} else if err != nil {
			continue
		}
		if clean := filepath.Clean(path); real != clean && w != hidden {
			v[clean+"\x01"+real] = link
		}
		v[real] = w
	}
}

// make has directories of a home for the child alone, over those that are there. It answers
// their names in the home, by where they are.
func (v view) make(home string, paths ...string) map[string]string {
	names := map[string]string{}
	real, err := filepath.EvalSymlinks(home)
	for _, path := range paths {
		name, outside := filepath.Rel(home, path)
		if err != nil || outside != nil {
			continue
		}
		if _, missing := os.Lstat(path); missing == nil {
			v.add(made, path)
			names[resolved(path)] = name
			continue
		}
		above, rest := filepath.Dir(path), filepath.Base(path)
		for ; above != filepath.Dir(above); above = filepath.Dir(above) {
			if _, err := os.Lstat(above); err == nil {
				break
			}
			rest = filepath.Join(filepath.Base(above), rest)
		}
		if above, err := filepath.EvalSymlinks(above); err == nil && Within(real, above) {
			at := filepath.Join(above, rest)
			v[at], names[at] = made, name
		}
	}
	return names
}

// around is what the nearest place is that a path lies in; 0 is the system.
func (v view) around(path string) what {
	for path != "/" && path != "." {
		path = filepath.Dir(path)
		if w, ok := v[path]; ok {
			return w
		}
	}
	return 0
}

func (v view) list() (list []place) {
	for _, path := range slices.Sorted(maps.Keys(v)) {
		w := v[path]
		if outer := v.around(path); w == visible && (outer == visible || outer == 0) {
			continue // it can be read as it is
		}
		list = append(list, place{w, path})
	}
	return list
}

// A place is a path and what a sealed child finds there.
type place struct {
	what what
	path string
}

type what byte

const (
	temporary what = 't' // where temporary files are, and layers
	hidden    what = 'h'
	emptied   what = 'e'
	devices   what = 'd'
	processes what = 'p'
	visible   what = 'v'
	layered   what = 'l'
	made      what = 'm' // as that, also where nothing is; with its name in the home
	layers    what = 'o' // a directory that most of what is layered lies in
	below     what = 'k' // a layer over what is made, by its name in that, from the top down
	writable  what = 'w'
	link      what = 's' // a path that leads to another one
)
