package tool

// Dials says whether web_fetch with these hosts may dial an address that a name led to.
func Dials(hosts []string, address string) error {
	rules, err := parseHosts(hosts)
	if err != nil {
		return err
	}
	return newFetcher(rules).reachable(address)
}
