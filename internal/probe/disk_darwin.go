package probe

import "golang.org/x/sys/unix"

func filesystem(dir string) (volume, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return volume{}, false
	}
	kind := unix.ByteSliceToString(s.Fstypename[:])
	network := s.Flags&unix.MNT_LOCAL == 0
	return volume{kind: kind, network: network, free: s.Bavail * uint64(s.Bsize)}, true
}
