//go:build !linux

package effect

import (
	"os"
	"time"
)

func stampClock() time.Time { return time.Now() }

func changedAt(info os.FileInfo) time.Time { return info.ModTime() }
