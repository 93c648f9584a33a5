//go:build !linux && !darwin

package durable

// VolumeOf knows nothing here.
func VolumeOf(string) (Volume, bool) { return Volume{}, false }
