package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) manCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages into a directory",
		Long: `Writes one page for each verb, with the texts of --help. Existing pages are replaced. The date in
them is $SOURCE_DATE_EPOCH, or today.`,
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
		return api.CannotWrite(dir, err)
	}
	header := &doc.GenManHeader{Title: "PITON", Section: "1", Source: "piton " + Version(), Manual: "Piton"}
	root.DisableAutoGenTag = true // it would tell of the library
	if err := doc.GenManTree(root, header, dir); err != nil {
		return api.CannotWrite(dir, err)
	}
	pages, err := fs.Glob(os.DirFS(dir), "piton*.1")
	if err != nil {
		return fmt.Errorf("count the pages: %w", err)
	}
	a.did("man", dir, fmt.Sprintf("wrote %s to %s", view.Plural(len(pages), "page", "pages"), filepath.Clean(dir)))
	return nil
}
