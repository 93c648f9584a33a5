package agent

import "path/filepath"

// openFlags is nothing here: there are no pipes among the files, and making a
// link takes a right that agents seldom have.
const openFlags = 0

// homeVariables say where an isolated home is.
func homeVariables(dir string) map[string]string {
	return map[string]string{
		"HOME":         dir,
		"USERPROFILE":  dir,
		"APPDATA":      filepath.Join(dir, "AppData", "Roaming"),
		"LOCALAPPDATA": filepath.Join(dir, "AppData", "Local"),
	}
}
