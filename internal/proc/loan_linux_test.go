package proc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/proc"
)

// TestLogin has children put files in the place of logins, as programs do, and worse.
func TestLogin(t *testing.T) {
	t.Parallel()
	const replace = `echo '"new"' >~/.a.json.tmp && mv ~/.a.json.tmp ~/.a.json`
	for _, step := range []struct {
		name, script, want string
	}{
		{"it is read", `cat ~/.a.json; ls -A ~`, `"old"`},
		{"replaced", replace, `"new"`},
		{"replaced by a child of other mode", `umask 0; ` + replace, `"new"`},
		{"changed in place", `echo '"new"' >~/.a.json`, `"new"`},
		{"removed", `rm ~/.a.json`, `"old"`},
		{"a link to what is hidden", `rm ~/.a.json; ln -s ` + `$SECRET ~/.a.json`, `"old"`},
		{"a pipe", `rm ~/.a.json; mkfifo ~/.a.json`, `"old"`},
		{"emptied, and then killed", `: >~/.a.json; kill -9 $$`, `"old"`},
		{"a part of it", `printf '{"token": "n' >~/.a.json`, `"old"`},
		{"a directory", `rm ~/.a.json; mkdir ~/.a.json`, `"old"`},
		{"changed outside meanwhile", replace + `; touch go; while test -e go; do sleep 0.01; done`, `"person"`},
		{"a new one", `echo '"new"' >~/.b.json`, `"old"`},
		{"what is no login", `echo '"new"' >~/.c.json`, `"old"`},
	} {
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			s := newShed(t)
			at := func(name string) string { return filepath.Join(s.home, name) }
			for name, text := range map[string]string{".a.json": "\"old\"\n", "secret": "secret\n"} {
				if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if step.want == `"person"` {
				go func() { // the child waits for it
					for _, err := os.Stat(filepath.Join(s.ws, "go")); err != nil; _, err = os.Stat(filepath.Join(s.ws, "go")) {
						if t.Context().Err() != nil {
							return
						}
					}
					_ = os.WriteFile(at(".a.json"), []byte("\"person\"\n"), 0o600)
					_ = os.Remove(filepath.Join(s.ws, "go"))
				}()
			}
			s.env = append(s.env, "SECRET="+at("secret"))
			got := s.run(t, proc.Room{Login: []string{".a.json", ".b.json", ".agent"}}, step.script)
			if step.name == "it is read" && got != "\"old\"\n.a.json" {
				t.Errorf("it sees %q", got)
			}
			body, err := os.ReadFile(at(".a.json"))
			if info, statErr := os.Stat(at(".a.json")); err != nil || statErr != nil || string(body) != step.want+"\n" || info.Mode() != 0o600 {
				t.Errorf("%q, %v, %v", body, err, info)
			}
			if _, err := os.Stat(at(".b.json")); (err == nil) != (step.name == "a new one") {
				t.Error("a new one:", err)
			}
			if entries, err := os.ReadDir(s.home); err != nil || len(entries) > 4 {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
}
