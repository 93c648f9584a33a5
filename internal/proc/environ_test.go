package proc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestEnviron(t *testing.T) {
	hostile := []string{
		"BASH_ENV=/evil", "ENV=/evil", "LD_PRELOAD=/evil.so", "LD_LIBRARY_PATH=/evil", "GIT_DIR=/evil", "GIT_CONFIG_COUNT=1",
		"PYTHONPATH=/evil", "PYTHONSTARTUP=/evil", "NODE_OPTIONS=-r/evil", "GOFLAGS=-toolexec=/evil", "MAKEFLAGS=-n", "PERL5OPT=-M",
		"API_KEY=s", "GITHUB_TOKEN=s", "SSH_AUTH_SOCK=/s", "LANGX=1", "XPATH=1", "path=lower", "=C:=x", "noequals", "BASH_FUNC_ls%%=() { :; }",
	}
	usual := []string{"PATH=/usr/bin:.:/bin::rel/x:", "HOME=/home/u", "LANG=C", "LC_ALL=C", "LC_X=1", "TZ=UTC", "TMPDIR=/t", "USER=u", "LOGNAME=u", "SHELL=/bin/sh", "TERM=xterm-256color"}
	always := []string{"HOME=/home/u", "LANG=C", "LC_ALL=C", "LC_X=1", "LOGNAME=u", "PATH=/usr/bin:/bin", "SHELL=/bin/sh", "TERM=dumb", "TMPDIR=/t", "TZ=UTC", "USER=u"}
	tests := []struct {
		name   string
		parent []string
		pass   []string
		set    map[string]string
		want   []string
	}{
		{"nothing", nil, nil, nil, []string{"TERM=dumb"}},
		{"the usual", append(usual, hostile...), nil, nil, always},
		{"passed by name", []string{"API_KEY=a=b", "LD_PRELOAD=/x", "OTHER=1"}, []string{"API_KEY", "LD_PRELOAD", "ABSENT"}, nil, []string{"API_KEY=a=b", "LD_PRELOAD=/x", "TERM=dumb"}},
		{"set wins", []string{"HOME=/home/u", "X=1"}, []string{"X"}, map[string]string{"X": "2", "HOME": "/h", "TERM": "vt100", "NEW": ""}, []string{"HOME=/h", "NEW=", "TERM=vt100", "X=2"}},
		{"the last one counts", []string{"HOME=/a", "HOME=/b"}, nil, nil, []string{"HOME=/b", "TERM=dumb"}},
		{"set PATH is cleaned too", nil, nil, map[string]string{"PATH": "bin:/x"}, []string{"PATH=/x", "TERM=dumb"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, environ(tt.parent, tt.pass, tt.set, false)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEnvironOfWindows(t *testing.T) {
	parent := []string{`systemroot=C:\Windows`, `PATHEXT=.EXE`, `ComSpec=cmd.exe`, `API_KEY=s`, `home=x`}
	want := []string{`ComSpec=cmd.exe`, `Home=y`, `PATHEXT=.EXE`, `TERM=dumb`, `systemroot=C:\Windows`}
	if diff := cmp.Diff(want, environ(parent, nil, map[string]string{"Home": "y"}, true)); diff != "" {
		t.Error(diff)
	}
}

// Nothing comes through that is not named.
func TestEnvironPassesOnlyNames(t *testing.T) {
	name := rapid.StringMatching(`[A-Z_]{1,6}`)
	rapid.Check(t, func(t *rapid.T) {
		pass := rapid.SliceOf(name).Draw(t, "pass")
		known := map[string]bool{"TERM": true}
		for _, n := range append(alwaysPassed(false), pass...) {
			known[n] = true
		}
		var parent []string
		for _, n := range rapid.SliceOf(name).Draw(t, "parent") {
			parent = append(parent, n+"=v")
		}
		for _, v := range environ(parent, pass, nil, false) {
			if n, _, _ := strings.Cut(v, "="); !known[n] && n[:min(3, len(n))] != "LC_" {
				t.Fatalf("%q came through", v)
			}
		}
	})
}
