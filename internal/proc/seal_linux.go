package proc

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A sealing is a view of the file system in the making. What is to be seen is held by
// descriptors before anything is hidden.
type sealing struct {
	temp   string
	home   string // where most layers lie
	kept   []string
	merged string // the one layer of all of it
	apart  bool   // there can be no such layer
	layers int
	fixed  []string // what can be read only, though it should take up changes
	places []place
	trees  []int // of places: a mount that is nowhere yet; -1 for none
	own    []string
	nodes  []node
}

// A node is a device that does no harm.
type node struct {
	name string
	tree int
}

var harmless = []string{"null", "zero", "full", "random", "urandom", "tty"}

// masked is what root could change the machine by, without any capability. That nested
// namespaces can then have no /proc of their own is the price, for root alone.
var masked = []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"}

// enterSeal makes the view and enters it.
func enterSeal(args []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWIPC); err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separate mounts: %w", err)
	}
	s := &sealing{}
	var links []string
	for _, arg := range args {
		if p := (place{what(arg[0]), arg[1:]}); p.what == temporary {
			s.temp = p.path
		} else if p.what == layers {
			s.home = p.path
		} else if p.what == below {
			s.kept = append(s.kept, p.path)
		} else if p.what == link {
			links = append(links, p.path)
		} else {
			s.places = append(s.places, p)
		}
	}
	unix.Umask(0)
	if err := s.hold(); err != nil {
		if s.temp != "" {
			_ = os.WriteFile(refusalOf(s.temp), []byte(err.Error()), 0o600) // it is printed too
		}
		return err
	}
	if len(s.fixed) > 0 {
		if err := os.WriteFile(fixedOf(s.temp), []byte(strings.Join(s.fixed, "\n")), 0o600); err != nil {
			return err
		}
	}
	if s.merged != "" { // what is seen of it is held
		if err := unix.Unmount(s.merged, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("%s: %w", s.merged, err)
		}
	}
	if err := readOnly("/", unix.AT_RECURSIVE); err != nil {
		return fmt.Errorf("keep the system as it is: %w", err)
	}
	for i, p := range s.places {
		if err := s.put(p, s.trees[i]); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
	}
	if os.Geteuid() == 0 {
		if err := mask(); err != nil {
			return err
		}
	}
	for _, l := range links {
		from, to, _ := strings.Cut(l, "\x01")
		if _, err := os.Stat(from); err != nil && s.owns(from) {
			_ = errors.Join(os.MkdirAll(filepath.Dir(from), 0o755), os.Symlink(to, from)) // it is missing, else
		}
	}
	for _, path := range s.own {
		if err := readOnly(path, 0); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	unix.Umask(0o022)
	return unix.Chdir(dir)
}

// hold takes hold of all that is to be seen.
func (s *sealing) hold() error {
	for i, p := range s.places {
		tree, err := -1, error(nil)
		switch p.what {
		case emptied:
			tree, err = s.empty(p.path)
		case devices:
			tree, err = s.holdDevices()
		case visible:
			if tree, err = clone(p.path); err == nil {
				err = readOnlyTree(tree)
			}
		case layered:
			if tree, err = s.layer(p.path); err != nil {
				s.fixed = append(s.fixed, p.path)
				if tree, err = clone(p.path); err == nil {
					err = readOnlyTree(tree)
				}
			}
		case made:
			path, name, _ := strings.Cut(p.path, "\x01")
			s.places[i].path = path
			tree, err = s.cache(path, name)
		case processes, writable:
			tree, err = clone(p.path)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.places[i].path, err)
		}
		s.trees = append(s.trees, tree)
	}
	return nil
}

// put shows a place where it belongs.
func (s *sealing) put(p place, tree int) error {
	if p.what != hidden {
		if err := s.stand(p.path, tree); err != nil {
			return err
		}
		if err := attach(tree, p.path); err != nil || p.what != devices {
			return err
		}
		return s.putDevices()
	}
	info, err := os.Lstat(p.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // in what is hidden itself
	}
	if err == nil && !info.IsDir() {
		return unix.Mount(os.DevNull, p.path, "", unix.MS_BIND, "")
	}
	if tree, err = memory("0755"); err == nil {
		err = attach(tree, p.path)
	}
	s.own = append(s.own, p.path)
	return err
}

// stand makes what a mount needs to be put on, where that is missing.
func (s *sealing) stand(path string, tree int) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	var info unix.Stat_t
	if err := unix.Fstat(tree, &info); err != nil {
		return err
	}
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		return os.MkdirAll(path, 0o755)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			f, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
		}
	}
	if err == nil {
		err = f.Close()
	}
	return err
}

// owns reports a path in a directory that was made for this view.
func (s *sealing) owns(path string) bool {
	for _, dir := range s.own {
		if strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	for _, p := range s.places {
		if p.what == emptied && strings.HasPrefix(path, p.path+"/") {
			return true
		}
	}
	return false
}

// empty is an empty directory for what lies at a path: in memory, or where temporary files are.
func (s *sealing) empty(path string) (int, error) {
	mode := "0700"
	if path == "/tmp" || path == "/dev/shm" {
		mode = "1777"
	}
	if s.temp == "" || path == "/dev/shm" {
		return memory(mode)
	}
	dir := ownDir(s.temp, path)
	bits, err := strconv.ParseUint(mode, 8, 32)
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, os.ErrExist) {
		err = nil
	}
	if err == nil {
		err = unix.Chmod(dir, uint32(bits))
	}
	if err != nil {
		return -1, err
	}
	if path == "/tmp" {
		if tree, err := s.unnamed(dir, uint32(bits)); err == nil {
			return tree, nil
		}
	}
	return clone(dir)
}

// unnamed is an empty directory that has no name on the disk but the one it is mounted at.
// The mount table tells the name of any other directory, and codex hides both from the
// commands it runs: it fails where it finds no way to the second.
func (s *sealing) unnamed(dir string, bits uint32) (int, error) {
	upper := filepath.Join(dir+"-layer", "up")
	if err := errors.Join(os.MkdirAll(upper, 0o700), unix.Chmod(upper, bits)); err != nil {
		return -1, err
	}
	return s.overlay(upper, dir)
}

// layer is a directory under one that takes up what is changed in it. One for the whole home
// serves for all that is in it, since each costs milliseconds.
func (s *sealing) layer(path string) (int, error) {
	if s.merged == "" && !s.apart && s.home != "" && inside(s.home, path) {
		tree, err := s.change(filepath.Join(s.temp, "layer-0", "up"), s.home)
		merged := filepath.Join(s.temp, "merged")
		if err == nil {
			err = cmp.Or(os.MkdirAll(merged, 0o700), attach(tree, merged))
		}
		if s.apart = err != nil; !s.apart { // where something is mounted in the home
			s.merged = merged
		}
	}
	if s.merged == "" || !inside(s.home, path) {
		s.layers++
		return s.change(filepath.Join(s.temp, "layer-"+strconv.Itoa(s.layers), "up"), path)
	}
	rel, err := filepath.Rel(s.home, path)
	if err != nil {
		return -1, err
	}
	return clone(filepath.Join(s.merged, rel))
}

// cache is a cache of the home with what others left of it: a layer of each. They are no
// layers of the home, since they may lie in it.
func (s *sealing) cache(path, name string) (int, error) {
	var lower []string
	for _, layer := range s.kept {
		lower = append(lower, filepath.Join(layer, name))
	}
	lower = present(append(lower, path))
	upper := cacheOf(s.temp, name)
	if len(lower) == 0 {
		if err := os.MkdirAll(upper, 0o755); err != nil {
			return -1, err
		}
		return clone(upper)
	}
	return s.change(upper, lower...)
}

// change is [sealing.overlay], with the changes in memory where the disk cannot take them up:
// one that is a layer itself, as in a container, or lies on another machine.
func (s *sealing) change(upper string, lower ...string) (int, error) {
	tree, err := s.overlay(upper, lower...)
	if err == nil {
		return tree, nil
	}
	at := filepath.Join(filepath.Dir(upper), "memory")
	if tree, err = memory("0700"); err == nil {
		err = cmp.Or(os.MkdirAll(at, 0o700), attach(tree, at))
	}
	if err == nil {
		tree, err = s.overlay(filepath.Join(at, "up"), lower...)
		err = cmp.Or(err, unix.Unmount(at, unix.MNT_DETACH))
	}
	if err != nil {
		return -1, fmt.Errorf("what is changed there cannot be kept apart: %w", err)
	}
	return tree, nil
}

// overlay lays a directory that takes up changes over others, of which the first is on top.
// No crash has to find them again: nothing waits for the disk. Paths may be longer than the
// system takes them here, so they are given by descriptors.
func (s *sealing) overlay(upper string, lower ...string) (int, error) {
	work := filepath.Join(filepath.Dir(upper), "work")
	if err := errors.Join(os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o700)); err != nil {
		return -1, err
	}
	var named []string
	for _, path := range append(lower, upper, work) {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, err
		}
		defer unix.Close(fd)
		named = append(named, "/proc/self/fd/"+strconv.Itoa(fd))
	}
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	n := len(lower)
	for _, set := range [][2]string{{"lowerdir", strings.Join(named[:n], ":")}, {"upperdir", named[n]}, {"workdir", named[n+1]}} {
		if err := unix.FsconfigSetString(fs, set[0], set[1]); err != nil {
			return -1, err
		}
	}
	if err := errors.Join(unix.FsconfigSetFlag(fs, "userxattr"), unix.FsconfigSetFlag(fs, "volatile"), unix.FsconfigCreate(fs)); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

func (s *sealing) holdDevices() (int, error) {
	for _, name := range harmless {
		tree, err := clone("/dev/" + name)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return -1, err
		}
		s.nodes = append(s.nodes, node{"/dev/" + name, tree})
	}
	return memory("0755")
}

func (s *sealing) putDevices() error {
	for _, n := range s.nodes {
		if err := errors.Join(s.stand(n.name, n.tree), attach(n.tree, n.name)); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(to, "/dev/"+name); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Mkdir("/dev/pts", 0o755), os.Mkdir("/dev/shm", 0o755)); err != nil {
		return err
	}
	s.own = append(s.own, "/dev")
	return unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
}

// mask keeps root from what changes the machine.
func mask() error {
	for _, path := range masked {
		tree, err := clone(path)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err == nil {
			err = readOnlyTree(tree)
		}
		if err == nil {
			err = attach(tree, path)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// clone is what lies at a path, with all that is mounted below, for a place elsewhere. Links
// were followed before: one that is on the way now was put there meanwhile.
func clone(path string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	return unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
}

// memory is an empty directory in memory.
func memory(mode string) (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	if err := errors.Join(unix.FsconfigSetString(fs, "mode", mode), unix.FsconfigCreate(fs)); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

func attach(tree int, path string) error {
	defer unix.Close(tree)
	return unix.MoveMount(tree, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func readOnly(path string, flags uint) error {
	return unix.MountSetattr(unix.AT_FDCWD, path, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

func readOnlyTree(tree int) error {
	return unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}
