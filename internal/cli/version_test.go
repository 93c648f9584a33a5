package cli

import (
	"runtime/debug"
	"testing"
)

// What go install and a release of a tag record is what piton --version says.
func TestVersionOf(t *testing.T) {
	for recorded, want := range map[string]string{
		"v0.3.0": "0.3.0", "v1.0.0-rc.1": "1.0.0-rc.1", "v0.0.0-20261123201112-0123456789ab+dirty": "0.0.0-20261123201112-0123456789ab+dirty",
		"(devel)": "devel", "": "devel",
	} {
		if is := versionOf(&debug.BuildInfo{Main: debug.Module{Version: recorded}}); is != want {
			t.Errorf("%q is shown as %q, want %q", recorded, is, want)
		}
	}
}
