package durable

import "golang.org/x/sys/unix"

// VolumeOf looks at the file system of a directory.
func VolumeOf(dir string) (Volume, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return Volume{}, false
	}
	kind := unix.ByteSliceToString(s.Fstypename[:])
	network := s.Flags&unix.MNT_LOCAL == 0
	return Volume{Kind: kind, Network: network, Free: s.Bavail * uint64(s.Bsize)}, true
}
