package probe

import (
	"context"
	"strings"

	"github.com/piton-dev/piton/internal/proc"
)

// isolation says at which level runs work here, and what the machine would allow.
func isolation(bubblewrap, namespaces, landlock Line) Line {
	const now = "agents and contracts run unsealed: an agent can forge what this version sees"
	possible := "this machine has nothing to seal them with"
	switch {
	case bubblewrap.Status == OK && namespaces.Status == OK:
		possible = "the machine would allow sealed"
	case landlock.Status == OK:
		possible = "the machine would allow fenced"
	}
	return Line{"isolation", Warning, now + "; " + possible, "run only plans and agents that you trust, or run in a container"}
}

func bubblewrap(ctx context.Context, env Env) Line {
	file := find("bwrap", proc.SearchPath(env.Environ))
	if file == "" {
		return Line{"bubblewrap", Absent, "is not on PATH", ""}
	}
	return Line{Check: "bubblewrap", Status: OK, Text: described(ctx, env, file)}
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
