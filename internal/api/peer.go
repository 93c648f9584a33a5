package api

import (
	"os"
	"os/user"
	"strconv"
)

// peer is the process at the other end of a connection.
type peer struct {
	known    bool // the system says which it is
	pid, uid int
}

type peerKey struct{}

// user is whose process it is: this user's, where the system does not say.
func (p peer) user() string {
	if p.known && p.uid != os.Getuid() {
		if u, err := user.LookupId(strconv.Itoa(p.uid)); err == nil && u.Username != "" {
			return u.Username
		}
		return "uid " + strconv.Itoa(p.uid)
	}
	return Person()
}

// Person is who this process belongs to, as the system knows them.
func Person() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "somebody"
}
