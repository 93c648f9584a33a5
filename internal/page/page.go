// Package page is Piton for a person at a browser of the same machine: what waits for them, how
// runs stand, what a plan would do, and the answers that they give.
//
// It is one more client of the owner. What it shows it reads through package view, as the
// terminal does; what a person says it sends with [api.Client], and the owner decides what that
// means. Pages are made here and work without scripts; a script only brings them up to date.
//
// It must never change anything because of a GET, answer a request that did not prove where it
// comes from, show text of others as markup, or know something of a run that view does not say.
package page

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"path/filepath"
	"reflect"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/users"
	"github.com/piton-dev/piton/internal/view"
)

// Workspace is the workspace as one request finds it.
type Workspace struct {
	view.Reader
	Client *api.Client // asks the owner
	// Words tell of a happening: a line, and lines below it.
	Words func(view.Happening) []string
	// Deeds are what an agent did, by the file with what it printed and its role: a line each.
	Deeds func(log, role string) []string
	// Listen tells what agents at work do, once its Ear has taken that they began.
	Listen func(tell func(run, step, line string)) Ear

	hand *hand
}

// Config is what the page needs of its face.
type Config struct {
	// Open opens the workspace for one request, so that each finds the configuration and the
	// journal as they are then. It is closed after the request.
	Open func(context.Context) (w *Workspace, closed func() error, err error)
	// API answers what programs ask, below [httpapi.Base].
	API http.Handler
	// Users are let in from elsewhere, with their rights.
	Users users.Dir
	// TLS is how others reach the page; nil where only this machine does.
	TLS *TLS
}

//go:embed views/*.html
var views embed.FS

//go:embed static
var static embed.FS

// route is a way in. There is no other than those of the table.
type route struct {
	method, path string // below the base
	http.Handler
}

func (s *server) routes() []route {
	in := []route{{"GET", enterPath + "{token}", http.HandlerFunc(s.enter)}}
	if s.base == "" {
		in = []route{{"GET", signInPath, http.HandlerFunc(s.signIn)}, {"POST", signInPath, http.HandlerFunc(s.signIn)}, {"POST", "/sign-out", http.HandlerFunc(s.signOut)}}
	}
	if s.TLS != nil && s.TLS.Provider != nil {
		in = append(in, route{"GET", providerPath, http.HandlerFunc(s.toProvider)}, route{"GET", ReturnPath, http.HandlerFunc(s.fromProvider)})
	}
	return append(in, []route{
		{"GET", staticPath + "{file}", s.static()},
		{"GET", "/{$}", s.looks(home)},
		{"GET", "/inbox", s.looks(inbox)},
		{"POST", "/inbox", s.acts(answer)},
		{"GET", "/runs/{run}", s.looks(run)},
		{"POST", "/runs/{run}", s.acts(order)},
		{"GET", "/runs/{run}/events", http.HandlerFunc(s.events)},
		{"GET", "/runs/{run}/log", s.with(s.lines)},
		{"GET", "/runs/{run}/files", s.looks(files)},
		{"GET", "/runs/{run}/retro", s.looks(retro)},
		{"GET", "/revisions/{path...}", s.looks(revisions)},
		{"GET", "/runs/{run}/steps/{step}", s.looks(step)},
		{"GET", "/plans/{path...}", s.looks(review)},
		{"POST", "/plans/{path...}", s.acts(decide)},
		{"GET", "/find", s.looks(find)},
		{"GET", "/words", s.looks(glossary)},
		{"GET", "/new", s.looks(fresh)},
		{"POST", "/new", s.acts(plans)},
		{"GET", "/metrics", s.with(s.metrics)},
		{"GET", "/errands/{errand}", s.looks(errand)},
		{"POST", "/errands/{errand}", s.acts(take)},
	}...)
}

// Words says what the pages call things.
type Words struct{}

func glossary(context.Context, *Workspace, *http.Request) (sheet, error) {
	return sheet{Title: "Words", Body: Words{}}, nil
}

// sheet is a page with what is around it.
type sheet struct {
	Title   string
	Nav     string // the entry of the menu that it belongs to
	Body    any    // shown by the template with the name of its type
	Place   string // of the workspace
	User    string // who has signed in; "" for the person whose machine it is
	Waiting Waiting
	Refresh int // seconds after which the browser asks again; 0 for never
}

// Waiting is how much waits for the person.
type Waiting struct{ Count int }

// looks serves a page that only shows something.
//
//go:noinline // else each route has a copy of what is in it
func (s *server) looks(do func(context.Context, *Workspace, *http.Request) (sheet, error)) http.Handler {
	return s.with(func(w http.ResponseWriter, r *http.Request, ws *Workspace) error {
		p, err := do(r.Context(), ws, r)
		if err == nil {
			err = s.send(w, r, http.StatusOK, ws, p)
		}
		return err
	})
}

// acts serves what changes something: a form. It leads on to another page, or shows what the
// person has to confirm first.
//
//go:noinline // else each route has a copy of what is in it
func (s *server) acts(do func(context.Context, *Workspace, *http.Request) (to string, ask *Confirm, err error)) http.Handler {
	return s.with(func(w http.ResponseWriter, r *http.Request, ws *Workspace) error {
		if err := form(w, r); err != nil {
			return err
		}
		to, ask, err := do(r.Context(), ws, r)
		switch {
		case err != nil:
			return err
		case ask != nil:
			ask.again(r)
			return s.send(w, r, http.StatusConflict, ws, sheet{Title: "Confirm", Body: *ask})
		}
		http.Redirect(w, r, s.base+to, http.StatusSeeOther)
		return nil
	})
}

// with opens the workspace for a request, and shows what went wrong.
//
//go:noinline // else each route has a copy of what is in it
func (s *server) with(do func(http.ResponseWriter, *http.Request, *Workspace) error) http.Handler {
	return zips(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, closed, err := s.Open(r.Context())
		if err == nil {
			defer closed() //nolint:errcheck // it was only read
			ws.Here, ws.hand = ws.Product.Place.Dir, s.handOf(users.Of(r.Context()))
			err = do(w, r, ws)
		}
		if err != nil && r.Context().Err() == nil {
			s.fail(w, r, ws, err)
		}
	}))
}

// statuses of problems; any other is that of a request that cannot be carried out.
var statuses = map[api.Code]int{
	api.NotFound: http.StatusNotFound, api.Denied: http.StatusForbidden, api.Conflict: http.StatusConflict,
	api.Unavailable: http.StatusServiceUnavailable, api.Internal: http.StatusInternalServerError,
}

// Problem is what went wrong, and what to do.
type Problem struct{ Message, Hint string }

func (s *server) fail(w http.ResponseWriter, r *http.Request, ws *Workspace, err error) {
	if a, ok := errors.AsType[*again](err); ok && s.send(w, r, a.status, ws, a.sheet) == nil {
		return
	}
	p := api.Explain(err)
	status := cmp.Or(statuses[p.Code], http.StatusUnprocessableEntity)
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		status, p = http.StatusRequestEntityTooLarge, &api.Problem{Message: fmt.Sprintf("the form is larger than %d bytes", large.Limit), Hint: "send less"}
	}
	if errors.Is(err, errForm) {
		status = http.StatusUnsupportedMediaType
	}
	if err := s.send(w, r, status, ws, sheet{Title: "Problem", Body: Problem{p.Message, p.Hint}}); err != nil {
		http.Error(w, p.Message, status)
	}
}

// send shows a page. ws is nil where the workspace could not be opened.
func (s *server) send(w http.ResponseWriter, r *http.Request, status int, ws *Workspace, p sheet) error {
	if ws != nil {
		n, err := ws.waiting(r.Context())
		if err != nil && status == http.StatusOK {
			return err
		}
		p.Waiting, p.Place, p.User = n, filepath.Base(ws.Product.Place.Dir), users.Of(r.Context())
	}
	html, err := s.show(p)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprint(w, html) //nolint:errcheck // the browser is gone then
	return nil
}

// waiting counts what waits for the person.
func (w *Workspace) waiting(ctx context.Context) (Waiting, error) {
	items, err := w.Store.Items(ctx, store.ItemFilter{Open: true})
	if err != nil {
		return Waiting{}, err
	}
	plans, err := w.Proposals(ctx)
	return Waiting{len(items) + len(plans)}, err
}

// parse reads the templates. base begins every path.
func (s *server) parse() error {
	var err error
	s.views, err = template.New("").Funcs(template.FuncMap{
		"base": func() string { return s.base },
		"show": s.show,
	}).ParseFS(views, "views/*.html")
	return err
}

// show renders a value with the template that has the name of its type.
func (s *server) show(v any) (template.HTML, error) {
	var b bytes.Buffer
	c := reflect.New(reflect.TypeOf(v)).Elem()
	c.Set(reflect.ValueOf(v))
	proc.PlainIn(c.Addr().Interface())
	err := s.views.ExecuteTemplate(&b, c.Type().Name(), c.Interface())
	return template.HTML(b.String()), err //nolint:gosec // the template has escaped it
}
