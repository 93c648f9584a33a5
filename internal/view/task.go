package view

import (
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Task is an intent with its plan and its runs, for programs.
type Task struct {
	Intent   string         `json:"intent"`
	Task     string         `json:"task"`
	Prompt   string         `json:"prompt"`
	Link     *string        `json:"link"`    // address of what asked for it, such as an issue; null where none is known
	Refines  *string        `json:"refines"` // intent; null where it refines none
	Refined  []string       `json:"refined"` // intents that refine it
	Status   string         `json:"status"`
	Path     string         `json:"path"`
	Head     *string        `json:"head"` // id of the newest revision; null where there is no plan yet
	Version  int            `json:"version"`
	Runs     []TaskRun      `json:"runs"`
	Statuses []StatusChange `json:"statuses"`

	Errands []Errand `json:"errands"` // what models were asked beside the runs

	Revisions []Revision `json:"revisions,omitempty"`
}

// Errand is a question to a model that belongs to no step, for programs.
type Errand struct {
	ID    string          `json:"id"`
	Kind  engine.WorkKind `json:"kind"`
	Run   *string         `json:"run"`  // that it looks back at; null for none
	By    string          `json:"by"`   // who asked
	Path  *string         `json:"path"` // of the plan that it is about, or makes; null for none
	Over  bool            `json:"over"`
	How   string          `json:"how,omitempty"` // it ended; "withdrawn" where somebody took it back
	Why   string          `json:"reason,omitempty"`
	Usage usageDoc        `json:"usage"`
}

// ErrandOf is an errand for programs.
func ErrandOf(r engine.ErrandRow) Errand {
	d := Errand{
		ID: r.Asked.Errand, Kind: r.Asked.Kind, Run: OrNull(r.Asked.Run), By: r.Asked.By, Path: OrNull(r.Asked.Path), Over: r.Over(), Usage: usageDocument(r.Usage()),
	}
	switch {
	case r.Withdrawn != "":
		d.How = "withdrawn"
	case r.Ended != nil:
		d.How, d.Why = string(r.Ended.How), r.Ended.Reason
	}
	return d
}

// ErrandsOf are errands for programs.
func ErrandsOf(rows []engine.ErrandRow) []Errand {
	docs := []Errand{}
	for _, r := range rows {
		docs = append(docs, ErrandOf(r))
	}
	return docs
}

// TaskRun is a run of a task, for programs.
type TaskRun struct {
	ID         string                    `json:"id"`
	Plan       string                    `json:"plan"`
	Version    int                       `json:"version"`
	Status     string                    `json:"status"`
	Reason     string                    `json:"reason"`
	StartedAt  Stamp                     `json:"started_at"`
	FinishedAt Stamp                     `json:"finished_at"`
	Steps      map[string][]StatusChange `json:"steps,omitempty"` // how each came to stand as it does
}

// StatusChange is an entry of a history, which only grows.
type StatusChange struct {
	Status   string `json:"status"`
	At       Stamp  `json:"at"`
	By       string `json:"by"`
	Reason   string `json:"reason"`
	Run      string `json:"run,omitempty"`
	Revision int    `json:"revision,omitempty"`
}

// TaskList is which tasks are there, and how people see each.
type TaskList struct {
	Tasks []api.Task
	More  bool
	by    Stands
}

// TaskList reads the tasks that fit a listing, the newest first.
func (r Reader) TaskList(ctx context.Context, l Listing) (found TaskList, err error) {
	if found.by, err = r.Stands(ctx); err != nil {
		return found, err
	}
	if found.Tasks, err = r.Tasks(ctx); err != nil {
		return found, err
	}
	found.Tasks = slices.DeleteFunc(found.Tasks, func(t api.Task) bool {
		return len(l.Status) > 0 && !slices.Contains(l.Status, found.Of(t)) || !strings.Contains(store.Fold(t.Prompt), store.Fold(l.Title))
	})
	if l.Recent > 0 && len(found.Tasks) > l.Recent {
		found.Tasks, found.More = found.Tasks[:l.Recent], true
	}
	return found, nil
}

// Of is how people see a task: as its newest run, or else as its plan.
func (l TaskList) Of(t api.Task) engine.Status {
	switch n := len(t.Runs); {
	case n > 0:
		return l.by.Of(t.Runs[n-1])
	case t.Head() != nil:
		return PlanStatus(t.Head())
	}
	return "draft"
}

// TaskDocs is a list of tasks for programs.
type TaskDocs struct {
	More  bool   `json:"more"`
	Tasks []Task `json:"tasks"`
}

// Document is the list for programs.
func (l TaskList) Document() TaskDocs {
	docs := []Task{}
	for _, t := range l.Tasks {
		docs = append(docs, l.TaskOf(t))
	}
	return TaskDocs{More: l.More, Tasks: docs}
}

// TaskOf is one task for programs.
func (l TaskList) TaskOf(t api.Task) Task {
	d := Task{
		Intent: t.ID, Task: t.Task, Prompt: t.Prompt, Link: OrNull(t.Link), Refines: OrNull(t.Parent), Refined: List(t.Refined),
		Status: string(l.Of(t)), Path: t.Path, Runs: []TaskRun{}, Statuses: changes(t.Changes),
	}
	if r := t.Head(); r != nil {
		d.Head, d.Version, d.Path = &r.Drafted.Plan, r.Drafted.Version, r.Drafted.Path
	}
	d.Errands = ErrandsOf(t.Errands)
	for _, h := range t.Runs {
		d.Runs = append(d.Runs, TaskRun{
			ID: h.Run, Plan: h.Plan, Version: h.Version, Status: string(l.by.Of(h)), Reason: h.Reason,
			StartedAt: Stamp(h.Started), FinishedAt: Stamp(h.Finished),
		})
	}
	return d
}

// ShownTask is one task with all that the records tell.
type ShownTask struct {
	TaskList
	api.Histories
}

// ShownTask reads the task that word names.
func (r Reader) ShownTask(ctx context.Context, word string) (found ShownTask, err error) {
	t, err := r.TaskOf(ctx, word)
	if err != nil {
		return found, err
	}
	if found.by, err = r.Stands(ctx); err != nil {
		return found, err
	}
	if found.Histories, err = r.HistoriesOf(ctx, t); err != nil {
		return found, err
	}
	t.Changes = slices.DeleteFunc(t.Changes, func(c api.Change) bool { return c.Run != "" })
	t.Changes = append(t.Changes, found.Histories.Runs...)
	sort.SliceStable(t.Changes, func(i, j int) bool { return t.Changes[i].At.Before(t.Changes[j].At) })
	found.Tasks = []api.Task{t}
	return found, nil
}

// Document is the task for programs.
func (s ShownTask) Document() Task {
	t := s.Tasks[0]
	d := s.TaskOf(t)
	for _, r := range t.Revisions {
		d.Revisions = append(d.Revisions, revisionOf(api.Entry{Revision: r}))
	}
	for n := range d.Runs {
		run := &d.Runs[n]
		run.Steps = map[string][]StatusChange{}
		for step, all := range s.Steps[run.ID] {
			run.Steps[step] = changes(all)
		}
	}
	return d
}

func changes(all []api.Change) []StatusChange {
	docs := []StatusChange{}
	for _, c := range all {
		docs = append(docs, StatusChange{Status: string(c.Status), At: Stamp(c.At), By: c.By, Reason: c.Reason, Run: c.Run, Revision: c.Revision})
	}
	return docs
}
