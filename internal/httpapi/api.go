// Package httpapi is Piton for programs elsewhere: every use case and every look at a
// workspace as JSON over HTTP, below /api/v1/, and one stream of events of each run.
//
// Its routes are one table. The use cases in it are those of the owner: a request goes on to
// them as it came, with the name of who sent it. The OpenAPI document is made from the table and
// the Go types.
//
// It must never answer who was not let in (the server in front of it knows), decide what a
// user may do (the owner does), or read a file that is no part of the workspace.
package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/view"
)

// Base begins the path of every route.
const Base = "/api/v1"

// maxBody bounds a request: the largest plan as base64, and what is said about it.
const maxBody = 16 << 20

// Workspace is the workspace as one request finds it.
type Workspace struct {
	view.Reader
	Client *api.Client // asks the owner, for the user who sent the request
}

// Open opens the workspace for one request, so that each finds the configuration and the
// journal as they are then. It is closed after the request.
type Open func(context.Context) (w *Workspace, closed func() error, err error)

// API answers requests below [Base]. It is safe for concurrent use.
type API struct {
	open    Open
	version string
	mux     *http.ServeMux
}

// New is the API of a workspace, for a version of the program.
func New(open Open, version string) *API {
	a := &API{open: open, version: version, mux: http.NewServeMux()}
	for _, r := range table() {
		a.mux.Handle(r.Method+" "+Base+r.Path, a.serve(r))
	}
	a.mux.Handle(Base+"/", http.HandlerFunc(a.nothing))
	return a
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// Route is a way in.
type Route struct {
	Method, Path string // below [Base], as [http.ServeMux] writes it
	about        string
	query        []query
	request      reflect.Type // nil for none
	answer       reflect.Type
	kind         string // of the answer's content, where it is not JSON
	do           func(*call) (any, error)
}

// query is a parameter behind the question mark.
type query struct{ name, about string }

// Routes are all there are.
func Routes() []Route { return table() }

// call is a request on its way. One that streams its answer writes it itself, and returns
// [errStreamed] once it has begun.
type call struct {
	*Workspace
	api *API
	ctx context.Context
	w   http.ResponseWriter
	r   *http.Request
}

var errStreamed = errors.New("the answer is written")

// versionHeader of an answer has the version of the server.
const versionHeader = "Piton-Version"

func (a *API) serve(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(versionHeader, a.version)
		c := &call{api: a, ctx: r.Context(), w: w, r: r}
		var answer any
		err := c.checked(route)
		if err == nil {
			var closed func() error
			if c.Workspace, closed, err = a.open(c.ctx); err == nil {
				defer closed() //nolint:errcheck // it was only read
				var notes []string
				c.Client.Note = func(note string) {
					notes = append(notes, note)
					text, _ := json.Marshal(notes) // texts always can
					w.Header().Set(api.NotesHeader, string(text))
				}
				answer, err = route.do(c)
			}
		}
		switch {
		case errors.Is(err, errStreamed):
		case err != nil:
			fail(w, err)
		default:
			send(w, http.StatusOK, "application/json", answer)
		}
	})
}

// checked refuses a body that is not what the route takes.
func (c *call) checked(route Route) error {
	if route.request == nil {
		return nil
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, maxBody)
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return errKind
	}
	return nil
}

// errKind refuses a body that is no JSON: no form of another page can send one.
var errKind = &api.Problem{Code: api.Invalid, Message: "the request is not JSON", Hint: "send it with Content-Type: application/json"}

// body is the whole request.
func (c *call) body() (json.RawMessage, error) {
	body, err := io.ReadAll(c.r.Body)
	if err != nil {
		return nil, err
	}
	if !json.Valid(body) {
		return nil, &api.Problem{Code: api.Invalid, Message: "the request is not JSON", Hint: "the description of the API has the form of each request: GET " + Base + "/openapi.json"}
	}
	return body, nil
}

func (a *API) nothing(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(versionHeader, a.version)
	fail(w, &api.Problem{Code: api.NotFound, Message: r.Method + " " + r.URL.Path + " is no part of the API", Hint: "GET " + Base + "/openapi.json describes it"})
}

func send(w http.ResponseWriter, status int, kind string, answer any) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.Encode(answer) //nolint:errcheck // the client is gone then
}

// Problem is an error as RFC 9457 writes it, with the code of the command line.
type Problem struct {
	Type   string   `json:"type"` // about:blank: the status says what kind of problem it is
	Title  string   `json:"title"`
	Status int      `json:"status"`
	Detail string   `json:"detail"`
	Code   api.Code `json:"code"`
	Hint   string   `json:"hint,omitzero"`  // what to do
	Words  string   `json:"words,omitzero"` // of a model that led to it
	Cause  string   `json:"cause,omitzero"` // what programs tell apart
}

// statuses of problems.
var statuses = map[api.Code]int{
	api.Invalid: http.StatusUnprocessableEntity, api.NotFound: http.StatusNotFound, api.Denied: http.StatusForbidden, api.Conflict: http.StatusConflict,
	api.Unavailable: http.StatusServiceUnavailable, api.Internal: http.StatusInternalServerError,
}

// Fail answers with a problem that has the status of its code, or another one.
func Fail(w http.ResponseWriter, status int, p *api.Problem, cause string) {
	send(w, status, "application/problem+json", Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: p.Message, Code: p.Code, Hint: p.Hint, Words: p.Words, Cause: cause,
	})
}

func fail(w http.ResponseWriter, err error) {
	p := api.Explain(err)
	status := cmp.Or(statuses[p.Code], http.StatusUnprocessableEntity)
	large, is := errors.AsType[*http.MaxBytesError](err)
	switch {
	case is:
		status, p = http.StatusRequestEntityTooLarge, &api.Problem{Code: api.Invalid, Message: fmt.Sprintf("the request is larger than %d bytes", large.Limit), Hint: "send less"}
	case errors.Is(err, errKind):
		status = http.StatusUnsupportedMediaType
	}
	Fail(w, status, p, api.CauseOf(err))
}
