//go:build !gate

package tier

// Gate reports whether this is the gate.
const Gate = false
