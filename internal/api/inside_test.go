package api_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/api"
)

// guestWorkspace is a workspace with a plan that the journal knows, one that it does not, and
// files that are no plans; its guest.
func guestWorkspace(t *testing.T) *api.Product {
	t.Helper()
	p, host := productWithOwner(t)
	p.Place.Dir = filepath.Join(p.Place.Dir, "ws")
	text := planOf(1, "draft\nowner: me", "")
	for name, text := range map[string]string{
		"../out/secret.md": text, "../out/plans/fix.md": text,
		"plans/fix.md": text, "plans/deep/fix.md": text, "known.md": text, "other.md": text, "deploy/plan.md": text,
		"plans/notes.md": "# Notes\n\n## Steps\n\n### 1. Hush\n\nhush\n", "plans/empty.md": "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# T\n", "plans/data.json": `{"password":"hush"}`, "plans/data.yaml": "password: hush\n", "plans/.hidden.md": text,
		"CLAUDE.md": "# Rules\n", "package.json": `{"name":"x"}`, "credentials.json": `{"password":"hush"}`, "deploy/secret.yaml": "password: hush\n",
		".piton/config.yaml": "planner: {api: x}\n", ".github/plan.md": text, "sub/.piton/config.yaml": "a: b\n", "sub/plans/in.md": text, "plans/sub/.piton/config.yaml": "a: b\n", "plans/sub/in.md": text,
	} {
		file := filepath.Join(p.Place.Dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"plans/cfg.md": "../.piton/config.yaml", "plans/link.md": "fix.md", "plans/out.md": "../../out/secret.md", "plans/dir": "deep", "away": "../out", "plans/nothing.md": "none.md",
	} {
		if err := os.Symlink(to, filepath.Join(p.Place.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.Here = p.Place.Dir
	doc, err := p.Read(t.Context(), "known.md")
	if err != nil || !doc.OK() {
		t.Fatalf("%v, %v", err, doc.Findings)
	}
	if _, err := p.Draft(t.Context(), host, doc); err != nil {
		t.Fatal(err)
	}
	p.Guest = true
	return p
}

// A guest reads and edits plans, and no other file of the workspace.
func TestGuestsReachPlansOnly(t *testing.T) {
	p := guestWorkspace(t)
	ctx, text := t.Context(), []byte(planOf(2, "draft\nowner: me", ""))
	ways := map[string]func(path string) error{
		"text":    func(path string) error { _, err := p.Text(ctx, api.NamedText{Path: path}); return err },
		"read":    func(path string) error { _, err := p.Named(ctx, path); return err },
		"compare": func(path string) error { _, err := p.TextOf(ctx, path); return err },
		"edit": func(path string) error {
			source, err := os.ReadFile(filepath.Join(p.Place.Dir, path))
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = p.Editing(ctx, api.Edit{Path: path, Seen: api.Digest(source), Text: text})
			return err
		},
	}
	for way, reach := range ways {
		for _, path := range []string{"plans/fix.md", "plans/deep/fix.md", "known.md", "plans/../known.md"} {
			if err := reach(path); err != nil {
				t.Errorf("%s %s: %v", way, path, err)
			}
		}
		for _, path := range []string{
			"other.md", "deploy/plan.md", "plans/notes.md", "plans/empty.md", "plans/data.json", "plans/data.yaml", "plans/.hidden.md", "CLAUDE.md", "package.json", "credentials.json", "deploy/secret.yaml", ".piton/config.yaml", ".github/plan.md",
			"sub/.piton/config.yaml", "sub/plans/in.md", "plans/sub/in.md", "plans/cfg.md", "plans/link.md", "plans/out.md", "plans/dir/fix.md", "away/secret.md", "away/plans/fix.md", "../out/secret.md",
		} {
			if err := reach(path); err == nil || api.Explain(err).Code != api.Denied {
				t.Errorf("%s %s: %v", way, path, err)
			}
		}
	}
	source, err := os.ReadFile(filepath.Join(p.Place.Dir, "plans/fix.md"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Editing(ctx, api.Edit{Path: "plans/fix.md", Seen: api.Digest(source), Text: []byte("# Rules\n")}); err == nil || api.Explain(err).Code != api.Denied {
		t.Errorf("a text that is no plan: %v", err)
	}
	all, err := p.History(ctx, "known.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"plans/nothing.md", "away/new.md", "new.md", ".piton/new.md", all[0].Drafted.Plan} {
		if _, err := p.Restoring(ctx, api.Restore{Path: path, Plan: all[0].Drafted.Plan}); err == nil || api.Explain(err).Code != api.Denied {
			t.Errorf("restore %s: %v", path, err)
		}
	}
	if err := os.Remove(filepath.Join(p.Place.Dir, "known.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Restoring(ctx, api.Restore{Path: "known.md", Plan: all[0].Drafted.Plan}); err != nil {
		t.Errorf("restore the plan that is gone: %v", err)
	}
	for path, may := range map[string]bool{"plans/": true, "plans/new.md": true, "": true, "CLAUDE.md": false, "away/new.md": false, "plans/../.piton/x.md": false} {
		if _, err := p.Asking(api.Planning{Path: path, Request: "x"}, "x"); (err == nil) != may {
			t.Errorf("a plan for %s: %v", path, err)
		}
	}
	p.Guest = false
	for _, path := range []string{"other.md", "CLAUDE.md", "plans/link.md", "sub/plans/in.md"} {
		if err := ways["text"](path); err != nil {
			t.Errorf("the person themselves, %s: %v", path, err)
		}
	}
}

// What a plan delegates to is shown to a guest only where it is a plan too.
func TestGuestsSeeSubPlansOnly(t *testing.T) {
	p := guestWorkspace(t)
	for path, may := range map[string]bool{"deploy/plan.md": true, "deploy/secret.yaml": false, "plans/cfg.md": false, ".github/plan.md": false} {
		text := "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# T\n\n## Steps\n\n### 1. A\n\n**plan:** " + path + "\n**contract:** `test -s a`\n"
		if err := os.WriteFile(filepath.Join(p.Place.Dir, "plans/fix.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		doc, err := p.Read(t.Context(), "plans/fix.md")
		if err != nil {
			t.Fatal(err)
		}
		if sub := doc.Facts.Plans[path]; len(doc.Facts.Plans) != 1 || (sub.Unread == "") != may {
			t.Errorf("%s: %+v", path, doc.Facts.Plans)
		}
	}
}

// A link that is put into the place of a plan while a guest reads it is never followed.
func TestGuestsReadNoLinkThatComesBetween(t *testing.T) {
	p := guestWorkspace(t)
	if err := os.WriteFile(filepath.Join(p.Place.Dir, "../out/secret.md"), []byte(planOf(3, "draft\nowner: me", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	file, swapped := filepath.Join(p.Place.Dir, "plans/fix.md"), filepath.Join(p.Place.Dir, "plans/.swap")
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, ended, reads := t.Context(), make(chan error, 1), make(chan struct{})
	go func() {
		for {
			select {
			case <-reads:
				ended <- nil
				return
			default:
			}
			err := os.WriteFile(swapped, good, 0o600)
			for _, next := range []func() error{
				func() error { return os.Rename(swapped, file) },
				func() error { return os.Symlink("../../out/secret.md", swapped) },
				func() error { return os.Rename(swapped, file) },
			} {
				if err == nil {
					err = next()
				}
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	read := 0
	for range 3000 {
		text, err := p.Text(ctx, api.NamedText{Path: "plans/fix.md"})
		if err == nil && api.Digest(text) != api.Digest(good) {
			t.Errorf("a guest read %q", text)
			break
		}
		if err == nil {
			read++
		}
	}
	close(reads)
	if err := <-ended; err != nil || read == 0 {
		t.Fatalf("the plan was read %d times, %v", read, err)
	}
}
