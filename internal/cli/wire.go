package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/term"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/owner"
	"github.com/piton-dev/piton/internal/probe"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// lookGC is the garbage that a verb may gather by which people look, in percent of what it
// uses: it ends soon, and most of it need never be collected.
const lookGC = 400

// session is one workspace opened for one verb.
type session struct {
	*api.Product
	app    *app
	store  store.Store
	local  *sqlite.Store // the journal of a workspace of this machine; nil for another's
	client *api.Client
}

// configuration reads all sources, or fails with everything there is to mend.
func (a *app) configuration(place api.Place, flags map[string]string) (config.Config, error) {
	return api.Configuration(config.Sources{WorkspaceDir: place.Dir, UserDir: config.UserDir(a.env), Env: a.env, Flags: flags})
}

// checkConfiguration reads all sources for the doctor: as much of them as can be
// read, and what is wrong with them.
func (a *app) checkConfiguration(place api.Place) (config.Config, []probe.Line) {
	conf, err := a.configuration(place, nil)
	broken, ok := errors.AsType[api.Misconfigured](err)
	if err != nil && !ok {
		return conf, []probe.Line{{Check: "config", Status: probe.Failure, Text: err.Error(), Hint: "make it a readable file"}}
	}
	var lines []probe.Line
	for i, p := range broken {
		if i == len(broken)-1 {
			p.Hint = strings.TrimPrefix(p.Hint+"; fix it: until then no verb starts work", "; ")
		}
		lines = append(lines, probe.Line{Check: "config", Status: probe.Failure, Text: p.Origin.String() + ": " + p.Message, Hint: p.Hint})
	}
	if len(lines) == 0 {
		lines = []probe.Line{{Check: "config", Status: probe.OK, Text: "no problems"}}
	}
	return conf, lines
}

// readable is as much of the configuration as can be read, and a note on what
// cannot: for those who look, or stop something. Who starts work needs all of it.
func (a *app) readable(place api.Place) config.Config {
	conf, err := a.configuration(place, nil)
	if err == nil {
		return conf
	}
	text := err.Error()
	if broken, ok := errors.AsType[api.Misconfigured](err); ok {
		text = broken[0].String()
		if more := len(broken) - 1; more > 0 {
			text += fmt.Sprintf(", and %d more", more)
		}
	}
	a.notice("note: %s; this verb uses the rest, but no work starts until it is fixed (see piton doctor)", text)
	return conf
}

func (a *app) place() (api.Place, error) {
	return api.Locate(a.dir, a.environ())
}

func (a *app) environ() map[string]string {
	env := map[string]string{}
	for _, kv := range a.env {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	return env
}

// here is the workspace, with the configuration in force.
func (a *app) here(flags map[string]string) (place api.Place, conf config.Config, err error) {
	if place, err = a.place(); err == nil {
		conf, err = a.configuration(place, flags)
	}
	return place, conf, err
}

// open opens the workspace's journal for reading; the owner makes every change.
func (a *app) open(ctx context.Context, flags map[string]string) (*session, error) {
	if a.server != "" {
		return a.reach(ctx)
	}
	place, conf, err := a.here(flags)
	if err != nil {
		return nil, err
	}
	return a.journal(ctx, place, conf, false)
}

// openToLook is open also where the configuration has mistakes; with inspect the
// journal is opened as it is, sound or not.
func (a *app) openToLook(ctx context.Context, inspect bool) (*session, error) {
	if a.server != "" {
		return a.reach(ctx)
	}
	place, err := a.place()
	if err != nil {
		return nil, err
	}
	return a.journal(ctx, place, a.readable(place), inspect)
}

// journal opens the journal; with inspect as it is, sound or not.
func (a *app) journal(ctx context.Context, place api.Place, conf config.Config, inspect bool) (*session, error) {
	if err := place.Private(); err != nil {
		return nil, err
	}
	st, warning, err := sqlite.Open(ctx, sqlite.Config{Dir: place.State, Workspace: place.ID, Guard: place.Dir, Point: owner.Point, Inspect: inspect})
	switch {
	case inspect && errors.Is(err, fs.ErrNotExist):
		return nil, api.NoRuns()
	case err != nil:
		return nil, noState(place, err)
	}
	if warning != "" {
		a.notice("%s", warning)
	}
	p := &api.Product{Place: place, Config: conf, Store: st, Here: a.dir, Env: a.env, Version: Version(), Now: a.now, By: api.Person(), Via: "cli"}
	client := api.Dial(place, Version(), a.env, a.owner(place, a.env))
	client.Dir = a.dir
	client.Note = func(note string) { a.notice("%s", note) }
	return &session{Product: p, app: a, store: st, local: st, client: client}, nil
}

// with opens the workspace, calls do and closes it again.
func (a *app) with(ctx context.Context, do func(*session) error) error {
	s, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	return s.use(do)
}

// acting is with for the verbs that only people may give.
func (a *app) acting(ctx context.Context, do func(*session) error) error {
	if err := a.byPerson(); err != nil {
		return err
	}
	return a.with(ctx, do)
}

// looking is with for the verbs by which people look and stop: mistakes in the
// configuration do not keep them from it.
func (a *app) looking(ctx context.Context, do func(*session) error) error {
	if a.environ()["GOGC"] == "" {
		debug.SetGCPercent(lookGC)
	}
	s, err := a.openToLook(ctx, false)
	if err != nil {
		return err
	}
	return s.use(do)
}

func (s *session) use(do func(*session) error) error {
	defer s.store.Close()
	return do(s)
}

// byPerson refuses to act for an agent or a contract: only people command runs.
func (a *app) byPerson() error {
	if id := a.environ()["PITON_RUN"]; id != "" {
		return &api.Problem{
			Code: api.Denied, Message: "this process belongs to run " + id + ", and a run may not control itself",
			Hint: "only a person can; run piton in your own shell",
		}
	}
	return nil
}

// byNoRun is byPerson for what reaches further than a run, such as who has which rights: it also
// refuses a process that hides from whom it comes. The owner that started it knows it by its
// ancestors; where there is no owner, nothing runs.
func (a *app) byNoRun(ctx context.Context, place api.Place) error {
	if err := a.byPerson(); err != nil {
		return err
	}
	_, err := api.Dial(place, Version(), a.env, nil).Carried(ctx)
	if api.ErrGone(err) {
		return nil
	}
	return err
}

// notice tells the person at the terminal something: above the lines that are
// drawn anew there.
func (a *app) notice(format string, args ...any) {
	text := proc.Plain(fmt.Appendf(nil, "piton: "+format, args...)) // others may have worded a part of it
	if v := a.above.Load(); v == nil || !isTerminal(a.err) || !v.note(text) {
		printLines(a.err, a.theme(a.err).fold(0, 2, text))
	}
}

func isTerminal(x any) bool {
	f, ok := x.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// asks reports whether a person can be asked here and now.
func (a *app) asks() bool { return isTerminal(a.in) && isTerminal(a.err) }

func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 {
			return cols
		}
	}
	return 80
}
