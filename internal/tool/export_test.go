package tool

import "github.com/piton-dev/piton/internal/egress"

// Dials says whether web_fetch with these hosts may dial an address that a name led to.
func Dials(hosts []string, address string) error {
	rules, err := egress.Parse(hosts)
	if err != nil {
		return err
	}
	return newFetcher(rules).reachable(address)
}
