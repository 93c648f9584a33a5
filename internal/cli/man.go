package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/piton-dev/piton/internal/api"
)

func (a *app) manCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all verbs into a directory",
		Long: `Writes one page for each verb, made from the same texts as --help. The directory is made
if it is missing; pages that are there are written anew. The date in them is that of
$SOURCE_DATE_EPOCH, else today.`,
		Example: "  piton man ~/.local/share/man/man1 && man piton-run",
		Args:    exactly("a directory", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.man(c.Root(), args[0]) },
	}
}

func (a *app) man(root *cobra.Command, dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return &api.Problem{Code: api.Invalid, Message: dir + " is not a directory", Hint: "give a directory for the pages"}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cannotWrite(dir, err)
	}
	header := &doc.GenManHeader{Title: "PITON", Section: "1", Source: "piton " + Version, Manual: "Piton"}
	root.DisableAutoGenTag = true // it would tell of the library
	if err := doc.GenManTree(root, header, dir); err != nil {
		return cannotWrite(dir, err)
	}
	pages, err := fs.Glob(os.DirFS(dir), "piton*.1")
	if err != nil {
		return fmt.Errorf("count the pages: %w", err)
	}
	a.did("man", dir, fmt.Sprintf("wrote %s to %s", plural(len(pages), "page", "pages"), filepath.Clean(dir)))
	return nil
}
