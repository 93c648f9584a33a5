package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
)

// elsewhere are the verbs that can ask the server of another workspace. All others are about
// this machine, and about files that a person edits here.
var elsewhere = append(strings.Fields(`answer approve archive cancel diff export force-agent gc history inbox land list log pause plan
	reject replan resume retry run show skip status verify vouch waive watch why`), "plan undo", "plan redo")

// Variables for the server to ask and the token to show it, and for the secret that a server shows its
// provider.
// A secret is never an argument: others on the machine can read those.
const (
	serverEnv    = "PITON_SERVER"
	tokenEnv     = "PITON_TOKEN"
	tokenFileEnv = "PITON_TOKEN_FILE"

	clientSecretEnv     = "PITON_OIDC_SECRET"
	clientSecretFileEnv = "PITON_OIDC_SECRET_FILE"
)

// serves finds out whether a verb asks a server.
func (a *app) serves(c *cobra.Command) error {
	_, words, _ := strings.Cut(c.CommandPath(), " ")
	can := slices.Contains(elsewhere, words)
	switch {
	case a.server != "" && !can:
		return misuse(fmt.Sprintf("%s is about this machine, so --server does not fit", c.CommandPath()), "run it on the machine of the workspace")
	case a.server == "" && can:
		a.server = a.environ()[serverEnv]
	}
	return nil
}

// reach opens the workspace of a server.
func (a *app) reach(ctx context.Context) (*session, error) {
	token, err := a.serverToken()
	if err != nil {
		return nil, err
	}
	client, here, err := api.Reach(ctx, a.server, token, Version())
	if err != nil {
		return nil, err
	}
	client.Note = func(note string) { a.notice("%s", note) }
	journal := client.Journal()
	p := &api.Product{
		// No file of this machine is one of the server's.
		Place: api.Place{Dir: here.Dir, State: filepath.Join(os.DevNull, "state"), ID: here.ID}, Here: here.Dir,
		Config: config.Default(), InForce: here.Settings, Files: client.Documents(), Store: journal, Env: a.env,
		Version: Version(), Now: a.now, By: here.User, Via: api.ForHTTP,
	}
	return &session{Product: p, app: a, store: journal, client: client}, nil
}

// serverToken is the token of the user for whom the server is asked.
func (a *app) serverToken() (string, error) {
	token, err := a.secret(tokenEnv, tokenFileEnv)
	if err == nil && token == "" {
		err = misuse("the server is asked for nobody: there is no token", "set "+tokenEnv+", or "+tokenFileEnv+" to the path of a file that has it; piton serve token NAME makes one")
	}
	return token, err
}

// secret is what a variable has, or the file that another one names; "" where neither is set. A
// file without one is a mistake.
func (a *app) secret(env, fileEnv string) (string, error) {
	set := a.environ()
	file := set[fileEnv]
	if set[env] != "" || file == "" {
		return set[env], nil
	}
	body, err := os.ReadFile(a.at(file))
	if err != nil {
		return "", misuse(fmt.Sprintf("%s cannot be read: %v", fileEnv, err), "set it to the path of a file that has what "+env+" would have")
	}
	secret := strings.TrimSpace(string(body))
	if secret == "" {
		return "", misuse(file+", which "+fileEnv+" names, is empty", "write what "+env+" would have into it")
	}
	return secret, nil
}
