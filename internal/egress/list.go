// Package egress lets a process out to listed hosts, and to no others.
//
// The one idea: a list names hosts, and what a name leads to is looked at again when it is
// known: an address that is not of the public internet is reached only if the list has the
// address itself. A [Gate] is a proxy that keeps to lists.
//
// It must never connect before a list was asked for the name and for the address, never
// read what is inside of a connection, and never keep a connection open after its process.
package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A List says which hosts may be asked. The zero value has none.
type List []host

// host is one entry of a list.
type host struct {
	name    string // lower case; "" if the entry is a range, or all
	below   bool   // and all names below it, but not itself; with no name: all hosts
	port    string // "" is the usual port of the scheme
	network netip.Prefix
}

// Parse reads entries such as example.org, *.example.org, example.org:8443,
// 127.0.0.1:8080 and 10.0.0.0/8. Private addresses can be reached only if an address, a
// range or localhost names them.
func Parse(entries []string) (List, error) {
	list := List{}
	for _, entry := range entries {
		h, err := parse(entry)
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, nil
}

func parse(entry string) (host, error) {
	if network, err := netip.ParsePrefix(entry); err == nil {
		return host{network: network.Masked()}, nil
	}
	h := host{name: strings.ToLower(entry)}
	if name, port, err := net.SplitHostPort(h.name); err == nil {
		h.name, h.port = name, port
	}
	h.name, h.below = strings.CutPrefix(h.name, "*.")
	h.name = strings.Trim(strings.TrimSuffix(h.name, "."), "[]")
	if addr, err := netip.ParseAddr(h.name); err == nil && !h.below {
		h.network = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen())
		h.name = addr.Unmap().String()
		return h, nil
	}
	if h.name == "" || strings.ContainsAny(h.name, "/*?:@# ") || strings.Trim(h.port, "0123456789") != "" {
		return h, fmt.Errorf("%q is no host; write example.org, *.example.org, example.org:8443, an address or a range", entry)
	}
	return h, nil
}

// Names reports whether the list has a host by its name or address. usual are the ports that
// an entry without a port means.
func (l List) Names(name, port string, usual ...string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	addr, err := netip.ParseAddr(name)
	isAddr := err == nil
	return slices.ContainsFunc(l, func(h host) bool {
		switch {
		case h.port != port && (h.port != "" || !slices.Contains(usual, port)):
			return false
		case h.network.IsValid():
			return isAddr && h.network.Contains(addr.Unmap())
		case h.below && h.name == "":
			return true
		case h.below:
			return !isAddr && strings.HasSuffix(name, "."+h.name)
		}
		return !isAddr && h.name == name
	})
}

// Reaches reports whether an address that a name has led to may be dialled: it is a public
// one, or the list has it.
func (l List) Reaches(at netip.AddrPort, usual ...string) bool {
	ip := at.Addr().Unmap().WithZone("")
	return !private(ip) || slices.ContainsFunc(l, func(h host) bool {
		port := strconv.Itoa(int(at.Port()))
		named := h.network.IsValid() && h.network.Contains(ip) || h.name == "localhost" && !h.below && ip.IsLoopback()
		return named && (h.port == port || h.port == "" && slices.Contains(usual, port))
	})
}

// loopback reports whether the list has this machine itself.
func (l List) loopback() bool {
	return slices.ContainsFunc(l, func(h host) bool {
		return h.name == "localhost" || h.network.IsValid() && h.network.Addr().IsLoopback()
	})
}

// special are the ranges that are not of the public internet, or carry another address inside.
var special = func() (all []netip.Prefix) {
	for p := range strings.FieldsSeq("0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 64:ff9b::/96 64:ff9b:1::/48 2001::/23 2001:db8::/32 2002::/16 100::/64 fec0::/10") {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}()

func private(ip netip.Addr) bool {
	return !ip.IsGlobalUnicast() || ip.IsPrivate() || slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(ip) })
}
