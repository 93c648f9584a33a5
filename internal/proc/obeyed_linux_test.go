package proc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/proc"
)

// TestObeyed has a child change what its program obeys when a person starts it next.
func TestObeyed(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"written":         `echo evil >~/.agent/settings; echo evil >>~/.conf/settings;  echo '{"a": 1, "b": {"servers": {"x": "evil"}}}' >~/.agent.json; echo evil >~/.linked/settings`,
		"replaced":        `for f in .agent/settings .conf/settings .linked/settings; do echo evil >~/.agent/new; mv -f ~/.agent/new ~/$f; done; echo '{"servers": ["evil"]}' >~/a; mv ~/a ~/.agent.json`,
		"removed":         `rm -f ~/.agent/settings ~/.conf/settings ~/.linked/settings ~/.agent.json`,
		"taken elsewhere": `mv ~/.agent ~/.other; mv ~/.conf ~/.other; mkdir -p ~/.agent ~/.conf; echo evil >~/.agent/settings; echo evil >~/.conf/settings`,
		"of a directory":  `echo evil >~/.agent/hooks/hook; echo evil >~/.agent/hooks/other; mv ~/.agent/hooks ~/.agent/none; mkdir ~/.agent/hooks`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShed(t)
			at := func(name string) string { return filepath.Join(s.home, name) }
			mine := map[string]string{
				".agent/settings": "mine\n", ".agent/hooks/hook": "mine\n", ".conf/settings": "mine\n", ".dots/settings": "mine\n",
				".agent.json": "{\"a\": 1, \"b\": {\"servers\": {\"x\": \"mine\"}}}\n", ".other.json": "{\"servers\": {}}\n",
			}
			for name := range mine {
				if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at(name), []byte(mine[name]), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(at(".dots"), at(".linked")); err != nil {
				t.Fatal(err)
			}
			room := proc.Room{
				Login:  []string{".agent", ".agent.json", ".other.json", ".linked"},
				Obeyed: []string{".agent/settings", ".agent/hooks", ".agent.json#servers", ".other.json#servers", ".conf", ".linked/settings"},
			}
			read := "cat ~/.agent/settings ~/.agent/hooks/hook ~/.conf/settings ~/.linked/settings\n"
			if got := s.run(t, room, read+"("+script+") 2>&1 >/dev/null | cat >/dev/null; echo token >~/.agent/token; echo '{\"servers\": {}, \"new\": {\"servers\": []}, \"token\": 1}' >~/.other.json"); got != "mine\nmine\nmine\nmine" {
				t.Errorf("it reads %q", got)
			}
			mine[".other.json"] = "{\"servers\": {}, \"new\": {\"servers\": []}, \"token\": 1}\n" // which is a login
			for name, text := range mine {
				if body, err := os.ReadFile(at(name)); err != nil || string(body) != text {
					t.Errorf("%s: %q, %v", name, body, err)
				}
			}
			if _, err := os.Stat(at(".agent/hooks/other")); err == nil {
				t.Error("there is another hook")
			}
			if body, err := os.ReadFile(at(".agent/token")); err != nil || string(body) != "token\n" {
				t.Errorf("the login: %q, %v", body, err)
			}
		})
	}
}
