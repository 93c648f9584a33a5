package sqlite

import (
	"strconv"

	"golang.org/x/sys/windows"
)

const stillActive = 259 // STILL_ACTIVE of GetExitCodeProcess

// startOf returns the process's creation time, and whether it runs.
func startOf(pid int) (string, bool) {
	handle, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return "", false
	}
	defer windows.CloseHandle(handle)
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(handle, &created, &exited, &kernel, &user); err != nil {
		return "", false
	}
	var code uint32
	if err := windows.GetExitCodeProcess(handle, &code); err != nil {
		return "", false
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), code == stillActive
}
