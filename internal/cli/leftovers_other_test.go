//go:build unix && !linux

package cli_test

import (
	"testing"
	"time"
)

// leftovers is for systems that show what other processes were started with.
func leftovers(string, time.Duration) []string { return nil }

// ownerOf is for systems that show what other processes are.
func ownerOf(string) int { return 0 }

// unowned is for systems that show what other processes are.
func unowned(testing.TB, string, int) {}
