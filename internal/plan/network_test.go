package plan_test

import (
	"testing"

	"github.com/piton-dev/piton/internal/plan"
)

func TestHosts(t *testing.T) {
	for _, s := range []string{
		"*", "localhost", "example.org", "EXAMPLE.org", "example.org.", "*.example.org", "*.example.org:8443", "db:5432", "a_b.example.org",
		"127.0.0.1", "127.0.0.1:8080", "10.0.0.0/8", "::1", "[::1]", "[::1]:443", "2001:db8::/32",
	} {
		if _, err := plan.ParseListed(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{
		"", ".", "a b", "ye", "**", "*.", "*.*.org", "*:443", "example.org/24", "::::", "10.0.0.0/99", "10.0.0/8", "256.1.1.1", "2130706433:80",
		"a..org", "-a.org", "a.org:0", "a.org:65536", "a.org:", "a.org:x", "a@b.org", "http://a.org", "[a.org]:80", "[127.0.0.1]:80", "[::1", "::1]:80",
		"[:::1]:80", "fe80::1%eth0", "*.10.0.0.1",
	} {
		if h, err := plan.ParseListed(s); err == nil {
			t.Errorf("%q is read as %+v", s, h)
		}
	}
	for _, s := range []string{"example.org/24", "::::", "10.0.0.0/99", "contract, 10.0.0.0/99"} {
		if as, err := plan.ParseNetwork(s); err == nil {
			t.Errorf("%q is read as %s", s, as)
		}
	}
}
