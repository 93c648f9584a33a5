package page

import (
	"context"
	"net/http"

	"github.com/piton-dev/piton/internal/view"
)

// Files are what a run changed.
type Files struct {
	Run, Title string
	Rows       []FileRow
	Counts     string
	Unknown    string // how much of it nobody knows
}

// FileRow is a file that a run changed.
type FileRow struct {
	FileChanged
	By []FileStep
}

// FileStep is a step that changed a file, and where the difference is.
type FileStep struct{ Step, To string }

// files lists what a run changed, file by file.
func files(ctx context.Context, w *Workspace, r *http.Request) (sheet, error) {
	head, err := w.run(ctx, r.PathValue("run"))
	if err != nil {
		return sheet{}, err
	}
	all, unknown, err := w.RunChanges(ctx, head)
	if err != nil {
		return sheet{}, err
	}
	x := Files{Run: head.Run, Title: head.Title, Counts: view.Plural(len(all), "file", "files")}
	if unknown > 0 {
		x.Unknown = "What " + view.Plural(unknown, "step", "steps") + " changed is not recorded: what a script changed is recorded only if its step has writes."
	}
	for _, f := range all {
		row := FileRow{FileChanged: FileChanged(f.FileChanged)}
		for _, by := range f.By {
			row.By = append(row.By, FileStep{by.Step, stepPath(by.Run, by.Step) + "#" + anchor(f.Path)})
		}
		x.Rows = append(x.Rows, row)
	}
	return sheet{Title: "Changed files", Nav: "plans", Body: x}, nil
}
