package effect

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stampClock is the clock that file systems stamp files with, which ticks every few
// milliseconds.
func stampClock() time.Time {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil {
		return time.Now()
	}
	return time.Unix(now.Unix())
}

// changedAt is when anything of a file was changed last, which no program can set.
func changedAt(info os.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
