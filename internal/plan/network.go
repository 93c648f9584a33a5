package plan

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const hostPattern = `\*|(\*\.)?[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?(:[0-9]{1,5}|/[0-9]{1,3})?|\[[0-9A-Fa-f:.]+\]:[0-9]{1,5}|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*(/[0-9]{1,3})?`

var oneHost = regexp.MustCompile(`^(` + hostPattern + `)$`)

// ParseHost refuses what is no host.
func ParseHost(s string) error {
	if len(s) > 255 || !oneHost.MatchString(s) || s != "*" && s != "localhost" && !strings.ContainsAny(s, ".:") {
		return fmt.Errorf("%q is no host; write example.org, *.example.org, example.org:8443, an address or a range", s)
	}
	return nil
}

// ParseNetwork reads what a step may reach: yes, no, or hosts; the word contract says that
// its contract may do so too. The answer has one form for what means the same.
func ParseNetwork(s string) (string, error) {
	var words, hosts []string
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		switch w = strings.Trim(w, "`\"'"); {
		case slices.Contains([]string{"yes", "no", "contract"}, strings.ToLower(w)):
			words = append(words, strings.ToLower(w))
		default:
			if err := ParseHost(w); err != nil {
				return "", err
			}
			hosts = append(hosts, w)
		}
	}
	if len(words) > 1 || len(words) == 1 && len(hosts) > 0 && words[0] != "contract" || len(words)+len(hosts) == 0 {
		return "", errors.New("it is yes, no, or hosts; contract may stand beside hosts, or alone")
	}
	return strings.Join(append(words, hosts...), ", "), nil
}

// Hosts are the hosts of what [ParseNetwork] has read, and whether the contract reaches them.
func Hosts(network string) (hosts []string, contract bool) {
	for w := range strings.SplitSeq(network, ", ") {
		switch w {
		case "yes", "no", "":
		case "contract":
			contract = true
		default:
			hosts = append(hosts, w)
		}
	}
	return hosts, contract
}
