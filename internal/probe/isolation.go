package probe

import (
	"cmp"
	"strings"

	"github.com/piton-dev/piton/internal/proc"
)

// isolation says at which level steps run here. It starts what is sealed, which is the only
// way to know.
func isolation(wanted string) Line {
	if wanted == string(proc.LevelNone) {
		return Line{"isolation", Warning, "none, by policy.isolation: agents, scripts and contracts see and change what you can", "remove policy.isolation: none from the configuration"}
	}
	pool, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		return Line{"isolation", Failure, err.Error(), ""}
	}
	defer pool.Close()
	level, why := pool.Best()
	reason := ""
	if why != nil {
		reason = ": " + strings.ReplaceAll(why.Error(), "\n", "; ")
	}
	switch level {
	case proc.LevelSealed:
		return Line{Check: "isolation", Status: OK, Text: "sealed: agents, scripts and contracts see the system, which they cannot change, the workspace, and what tools need of your home"}
	case proc.LevelFenced:
		return Line{"isolation", Warning, "fenced: agents, scripts and contracts change the workspace and what programs keep in your home, and see what you see" + reason, unsealable}
	}
	return Line{"isolation", Warning, "none: agents, scripts and contracts see and change what you can" + reason, unsealable}
}

const unsealable = "see user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns, and what a container allows; or run only plans and agents that you trust"

// network says whether commands can be kept from the network.
func network() Line {
	if exposed, _ := held(""); *exposed != "" {
		return Line{
			"network", Warning, "cannot be kept from commands: " + *exposed + "; run_command reaches what this machine does",
			"see user.max_user_namespaces, user.max_net_namespaces, kernel.apparmor_restrict_unprivileged_userns, and what a container allows",
		}
	}
	return Line{Check: "network", Status: OK, Text: "run_command, and scripts and checks with `network: no`, reach a loopback of their own, and nothing else"}
}

// held is why commands cannot be kept from the network, and why they cannot be held inside
// their scope; "" where they can. It starts what keeps them, which is the only way to know.
func held(isolation string) (exposed, loose *string) {
	pool, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		return new(err.Error()), new(err.Error())
	}
	defer pool.Close()
	offline := pool.Offline()
	if isolation == string(proc.LevelNone) {
		return said(offline), new("policy.isolation is none")
	}
	return said(offline), said(cmp.Or(offline, pool.Sealed()))
}

func said(err error) *string {
	if err == nil {
		return new("")
	}
	return new(strings.ReplaceAll(err.Error(), "\n", "; "))
}
