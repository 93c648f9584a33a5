package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/owner"
)

// ownerCmd is the process that owns a workspace. Who needs one starts it.
func (a *app) ownerCmd() *cobra.Command {
	return &cobra.Command{
		Use: owner.Verb + " WORKSPACE STATE", Hidden: true, Args: exactly("a workspace and its state directory", 2),
		RunE: func(c *cobra.Command, args []string) error { return a.own(c.Context(), args[0], args[1]) },
	}
}

func (a *app) own(ctx context.Context, dir, state string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	collect(owning)
	place, err := api.At(dir, state)
	if err != nil {
		return err
	}
	return owner.Main(ctx, owner.Config{Place: place, Env: a.env, Version: Version(), Program: a.program, Now: a.now, Log: a.err}, os.Stdout)
}
