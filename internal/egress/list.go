// Package egress lets a process out to listed hosts, and to no others.
//
// The one idea: a list names hosts. What a name leads to is looked at again once it is known:
// a private address is reached only if the list has that address. A [Gate] is a proxy that
// keeps to lists.
//
// It must never connect before a list was asked for the name and for the address, never
// read what is inside of a connection, and never keep a connection open after its process.
package egress

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// A List says which hosts may be asked. The zero value has none.
type List []plan.Host

// Parse reads entries as a plan writes them, see [plan.ParseHost]. Private addresses can be reached only if an address, a range or
// localhost names them.
func Parse(entries []string) (List, error) {
	list := List{}
	for _, entry := range entries {
		h, err := plan.ParseHost(entry)
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, nil
}

// Names reports whether the list has a host by its name or address. usual are the ports that
// an entry without a port means.
func (l List) Names(name, port string, usual ...string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	addr, err := netip.ParseAddr(name)
	isAddr := err == nil
	return slices.ContainsFunc(l, func(h plan.Host) bool {
		switch {
		case h.Port != port && (h.Port != "" || !slices.Contains(usual, port)):
			return false
		case h.Network.IsValid():
			return isAddr && h.Network.Contains(addr.Unmap())
		case h.Below && h.Name == "":
			return true
		case h.Below:
			return !isAddr && strings.HasSuffix(name, "."+h.Name)
		}
		return !isAddr && h.Name == name
	})
}

// Reaches reports whether an address that a name has led to may be dialled: it is a public
// one, or the list has it.
func (l List) Reaches(at netip.AddrPort, usual ...string) bool {
	ip := at.Addr().Unmap().WithZone("")
	return !private(ip) || slices.ContainsFunc(l, func(h plan.Host) bool {
		port := strconv.Itoa(int(at.Port()))
		named := h.Network.IsValid() && h.Network.Contains(ip) || h.Name == "localhost" && !h.Below && ip.IsLoopback()
		return named && (h.Port == port || h.Port == "" && slices.Contains(usual, port))
	})
}

// loopback reports whether the list has this machine itself.
func (l List) loopback() bool {
	return slices.ContainsFunc(l, func(h plan.Host) bool {
		return h.Name == "localhost" || h.Network.IsValid() && h.Network.Addr().IsLoopback()
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
