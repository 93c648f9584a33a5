// Command piton runs reviewable plans with coding agents and counts no step as
// done until it has seen the proof itself.
package main

import (
	"os"

	"github.com/piton-dev/piton/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
