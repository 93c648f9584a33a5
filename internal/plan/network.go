package plan

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
)

// A Host is one entry of a list of hosts.
type Host struct {
	Name    string // lower case; "" if the entry is a range, or all
	Below   bool   // and all names below it, but not itself; with no name: all hosts
	Port    string // "" is the usual port of the scheme
	Network netip.Prefix
}

var hostName = lazy.Regexp(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*$`)

// ParseHost reads entries such as example.org, *.example.org, example.org:8443,
// 127.0.0.1:8080, 10.0.0.0/8, and * for all of the public internet.
func ParseHost(s string) (Host, error) {
	bad := fmt.Errorf("%q is no host; write example.org, *.example.org, example.org:8443, an address or a range", s)
	if len(s) > 255 || strings.Contains(s, "%") {
		return Host{}, bad
	}
	if s == "*" {
		return Host{Below: true}, nil
	}
	if network, err := netip.ParsePrefix(s); err == nil {
		return Host{Network: network.Masked()}, nil
	}
	h := Host{Name: strings.ToLower(s)}
	if i := strings.LastIndexByte(h.Name, ':'); i > 0 && (h.Name[i-1] == ']' || strings.Count(h.Name, ":") == 1) {
		h.Name, h.Port = h.Name[:i], h.Name[i+1:]
		if n, err := strconv.ParseUint(h.Port, 10, 16); err != nil || n == 0 || h.Port != strconv.FormatUint(n, 10) {
			return Host{}, bad
		}
	}
	literal := h.Name
	if in, ok := strings.CutPrefix(literal, "["); ok {
		if literal, ok = strings.CutSuffix(in, "]"); !ok || !strings.Contains(literal, ":") {
			return Host{}, bad
		}
	}
	if addr, err := netip.ParseAddr(literal); err == nil {
		addr = addr.Unmap()
		h.Name, h.Network = addr.String(), netip.PrefixFrom(addr, addr.BitLen())
		return h, nil
	}
	h.Name, h.Below = strings.CutPrefix(h.Name, "*.")
	h.Name = strings.TrimSuffix(h.Name, ".")
	last := h.Name[strings.LastIndexByte(h.Name, '.')+1:]
	if !hostName().MatchString(h.Name) || strings.Trim(last, "0123456789") == "" {
		return Host{}, bad // a last part of digits is an address that is wrong
	}
	return h, nil
}

// ParseListed reads an entry of a `network:`, where a name alone may be a slip for one of its
// words: a name without a dot needs its port there.
func ParseListed(s string) (Host, error) {
	h, err := ParseHost(s)
	if err == nil && h.Name != "localhost" && h.Port == "" && !h.Below && !h.Network.IsValid() && !strings.Contains(h.Name, ".") {
		err = fmt.Errorf("%q is no host; write a name without a dot with its port, as %s:80", s, s)
	}
	return h, err
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
			if _, err := ParseListed(w); err != nil {
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
