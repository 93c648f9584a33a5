package users_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/users"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// A token lets in its user until they get another one, or are removed.
func TestTokens(t *testing.T) {
	state := t.TempDir()
	d := users.In(state)
	if all, err := d.All(); err != nil || len(all) != 0 {
		t.Fatal(all, err)
	}
	if _, err := d.WithToken(""); !errors.Is(err, users.ErrUnknown) {
		t.Errorf("no token: %v", err)
	}
	first, err := d.Add("anna", []users.Right{users.See, users.Approve}, "", noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Add("ben", nil, "", noon); err != nil {
		t.Fatal(err)
	}
	u, err := d.WithToken(first)
	if err != nil || u.Name != "anna" || !u.May(users.Approve) || u.May(users.Run) || !u.May(users.See) {
		t.Errorf("%+v, %v", u, err)
	}
	if u, err := d.Named("ben"); err != nil || !u.May(users.See) || u.May(users.Answer) {
		t.Errorf("%+v, %v", u, err)
	}
	for _, wrong := range []string{"", "x", first[:len(first)-1], first + "A", u.Token, strings.TrimPrefix(first, "piton_")} {
		if u, err := d.WithToken(wrong); !errors.Is(err, users.ErrUnknown) {
			t.Errorf("%q lets in %v, %v", wrong, u, err)
		}
	}
	second, err := d.Add("anna", []users.Right{users.See}, "", noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.WithToken(first); !errors.Is(err, users.ErrUnknown) {
		t.Errorf("the old token: %v", err)
	}
	if u, err := d.WithToken(second); err != nil || u.May(users.Approve) {
		t.Errorf("the new token: %v, %v", u, err)
	}
	all, err := d.All()
	if names := []string{all[0].Name, all[1].Name}; err != nil || !slices.Equal(names, []string{"anna", "ben"}) {
		t.Errorf("%v, %v", names, err)
	}
	if err := d.Remove("anna"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.WithToken(second); !errors.Is(err, users.ErrUnknown) {
		t.Errorf("the token of nobody: %v", err)
	}
	if err := d.Remove("anna"); !errors.Is(err, users.ErrUnknown) {
		t.Errorf("removed twice: %v", err)
	}
}

// Nobody but this person reads the files, no token is in them, and a broken one lets nobody in.
func TestFiles(t *testing.T) {
	state := t.TempDir()
	d := users.In(state)
	token, err := d.Add("anna", nil, "", noon)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(state, "users", "anna.json")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	body, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(body), token) {
		t.Errorf("%s, %v", body, err)
	}
	for _, broken := range []string{"", "{}", `{"name":"ben"}`, strings.Replace(string(body), `"rights": null`, `"rights": ["all"]`, 1), strings.Replace(string(body), "anna", "ben", 1), strings.Replace(string(body), "{", `{"email": "anna",`, 1)} {
		if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if u, err := d.WithToken(token); err == nil {
			t.Errorf("%q lets in %v", broken, u)
		}
	}
}

func TestNames(t *testing.T) {
	d := users.In(t.TempDir())
	for _, name := range []string{"", "Anna", "../anna", "a/b", "policy", "harness", "1a", "a b", strings.Repeat("a", 33), "a\n"} {
		if _, err := d.Add(name, nil, "", noon); !errors.Is(err, users.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := d.Named(name); !errors.Is(err, users.ErrUnknown) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// An address is that of one user, however it is written, and none is taken for another.
func TestEmails(t *testing.T) {
	state := t.TempDir()
	d := users.In(state)
	add := func(name, email string) error { _, err := d.Add(name, nil, email, noon); return err }
	for name, email := range map[string]string{"anna": "Anna@Example.org", "ben": "ben@kite.example", "cara": ""} {
		if err := add(name, email); err != nil {
			t.Fatal(err)
		}
	}
	for _, email := range []string{"anna@example.org", "ANNA@EXAMPLE.ORG", "Anna@Example.org"} {
		if u, err := d.WithEmail(email); err != nil || u.Name != "anna" {
			t.Errorf("%q: %v, %v", email, u, err)
		}
	}
	for _, email := range []string{"ann@example.org", "anna@example.org.evil", "x.anna@example.org"} {
		if u, err := d.WithEmail(email); !errors.Is(err, users.ErrUnknown) {
			t.Errorf("%q: %v, %v", email, u, err)
		}
	}
	for _, email := range []string{"", "@", "anna", "anna@", "@example.org", "x@anna@example.org", " anna@example.org", "anna@example.org\n", "b n@x", "änna@example.org", "ben@\u212aite.example", strings.Repeat("a", 251) + "@x.y"} {
		if u, err := d.WithEmail(email); !errors.Is(err, users.ErrEmail) {
			t.Errorf("%q: %v, %v", email, u, err)
		}
		if err := add("dora", email); email != "" && !errors.Is(err, users.ErrEmail) {
			t.Errorf("%q is added: %v", email, err)
		}
	}
	if err := add("ben", "aNNa@example.org"); !errors.Is(err, users.ErrTaken) || !strings.Contains(err.Error(), "anna has aNNa@example.org already") {
		t.Errorf("the address of another one: %v", err)
	}
	if u, err := d.WithEmail("ben@kite.example"); err != nil || u.Name != "ben" {
		t.Errorf("after that: %v, %v", u, err)
	}
	if err := add("anna", "anna@example.org"); err != nil {
		t.Errorf("the same address again: %v", err)
	}
	body, err := os.ReadFile(filepath.Join(state, "users", "anna.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(state, "users", "cara.json"), []byte(strings.ReplaceAll(string(body), `"anna"`, `"cara"`)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if u, err := d.WithEmail("anna@example.org"); !errors.Is(err, users.ErrTaken) {
		t.Errorf("an address of two: %v, %v", u, err)
	}
	if err := add("cara", ""); err != nil {
		t.Fatal(err)
	}
	if err := add("anna", ""); err != nil {
		t.Fatal(err)
	}
	if u, err := d.WithEmail("anna@example.org"); !errors.Is(err, users.ErrUnknown) {
		t.Errorf("an address that is taken away: %v, %v", u, err)
	}
}
