package probe

import (
	"strings"

	"github.com/piton-dev/piton/internal/proc"
)

// isolation says at which level runs work here.
func isolation() Line {
	return Line{
		"isolation", Warning, "agents and contracts run unsealed: an agent can forge what this version sees",
		"run only plans and agents that you trust, or run in a container",
	}
}

// network says whether commands can be kept from the network.
func network() Line {
	if why := *exposed(); why != "" {
		return Line{
			"network", Warning, "cannot be kept from commands: " + why + "; run_command reaches what this machine does",
			"see user.max_user_namespaces, user.max_net_namespaces, kernel.apparmor_restrict_unprivileged_userns, and what a container allows",
		}
	}
	return Line{Check: "network", Status: OK, Text: "run_command, and scripts and checks with `network: no`, reach a loopback of their own, and nothing else"}
}

// exposed is why commands cannot be kept from the network, "" where they can. It
// starts what keeps them, which is the only way to know.
func exposed() *string {
	pool, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		return new(err.Error())
	}
	defer pool.Close()
	if err := pool.Offline(); err != nil {
		return new(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return new("")
}
