package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// awaitLeave does not return: here only the next write shows that a reader left.
func awaitLeave(*os.File) { select {} }

// escapes lets a terminal heed escape sequences, and returns what ends that.
func escapes(f *os.File) (back func()) {
	h, mode := windows.Handle(f.Fd()), uint32(0)
	if err := windows.GetConsoleMode(h, &mode); err != nil {
		return func() {}
	}
	windows.SetConsoleMode(h, mode|windows.ENABLE_PROCESSED_OUTPUT|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) //nolint:errcheck // an old console shows them as they are
	return func() { windows.SetConsoleMode(h, mode) }                                                          //nolint:errcheck // the same
}
