package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/owner"
	"github.com/piton-dev/piton/internal/probe"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/view"
)

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func exactly(what string, n int) cobra.PositionalArgs {
	return cobra.MatchAll(atLeast(what, n), atMost(what, n))
}

//go:noinline // else each verb has a copy of what is in it
func atLeast(what string, n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return usage(c, fmt.Errorf("%s needs %s", c.CommandPath(), what))
		}
		return noneEmpty(c, args)
	}
}

//go:noinline // else each verb has a copy of what is in it
func atMost(what string, n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return usage(c, fmt.Errorf("%s takes %s; %q is too much", c.CommandPath(), what, args[n]))
		}
		return noneEmpty(c, args)
	}
}

// noneEmpty refuses an empty argument: most often it is a variable of a script
// that was not set, and never means the newest run.
func noneEmpty(c *cobra.Command, args []string) error {
	if i := slices.Index(args, ""); i >= 0 {
		return usage(c, fmt.Errorf("argument %d of %s is empty", i+1, c.CommandPath()))
	}
	if f := c.Flags().Lookup("run"); f != nil && f.Changed && f.Value.String() == "" {
		return usage(c, errors.New("--run is empty"))
	}
	return nil
}

func (a *app) statusCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "status [RUN]",
		Example: "  piton status\n  piton status 7f3a21 --json",
		Short:   "Show a run, its steps, and what waits for you",
		Args:    atMost("a run", 1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.looking(c.Context(), func(s *session) error {
				head, err := s.Find(c.Context(), first(args))
				if isNotFound(err) && len(args) == 0 {
					return s.errands(c.Context(), err)
				}
				if err != nil {
					return err
				}
				if err := a.showStatus(c.Context(), s, head); err != nil || a.json || len(args) > 0 {
					return err
				}
				return s.others(c.Context(), head)
			})
		},
	}
}

// others names the runs that have not ended beside the one that is shown.
func (s *session) others(ctx context.Context, shown engine.HeadRow) error {
	open, err := s.Unended(ctx)
	if err != nil {
		return err
	}
	by, err := s.stands(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, h := range open {
		if h.Run != shown.Run {
			names = append(names, fmt.Sprintf("%s %s", h.Run, by.Of(h)))
		}
	}
	if len(names) > 0 {
		s.app.notice("other unfinished runs: %s; piton list shows all", view.Join(names))
	}
	return nil
}

func (a *app) inboxCmd() *cobra.Command {
	limit := 0
	c := &cobra.Command{
		Use:     "inbox [ITEM]",
		Example: "  piton inbox\n  piton inbox 7f3a21/1\n  piton inbox --limit 5",
		Short:   "List what waits for you, the oldest first",
		Long:    "Lists what waits for you, the oldest first, with up to 40 lines of each item. piton inbox ITEM shows\none item in full.",
		Args:    atMost("an item", 1),
		RunE: func(c *cobra.Command, words []string) error {
			if len(words) > 0 {
				return a.inboxItem(c.Context(), words[0], c.Flags().Changed("limit"))
			}
			if limit < 0 {
				return misuse(fmt.Sprintf("--limit %d is not a number of items", limit), "0 shows all")
			}
			if !a.json && !c.Flags().Changed("limit") {
				limit = manyItems
			}
			return a.looking(c.Context(), func(s *session) error {
				items, err := s.waiting(c.Context(), limit)
				if err != nil {
					return err
				}
				plans, err := s.Proposals(c.Context())
				if err != nil {
					return err
				}
				args, err := s.reader().Args(c.Context(), items)
				if err == nil {
					a.showInbox(items, plans, args)
				}
				return err
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", 0, "show at most this many items; 0 for all (default 50, with --json all)")
	return c
}

// inboxItem shows one item whole.
func (a *app) inboxItem(ctx context.Context, word string, limited bool) error {
	if limited {
		return misuse("--limit is for the list; a single item is shown in full", "piton inbox "+word)
	}
	return a.looking(ctx, func(s *session) error {
		it, err := s.Item(ctx, word)
		if isNotFound(err) {
			if r, other := s.Proposed(ctx, word); other != nil {
				return other
			} else if r != nil {
				a.showInbox(nil, []*engine.Revision{r}, nil)
				return nil
			}
		}
		if err != nil {
			return err
		}
		items := []engine.ItemRow{it}
		args, err := s.reader().Args(ctx, items)
		if err == nil {
			a.prints("inbox", view.InboxOf(items, nil, args), func(t theme) []string { return t.asks(items, a.now(), t.question, t.matter) })
		}
		return err
	})
}

// manyItems is more than a person reads at once.
const manyItems = 50

// waiting returns the oldest open items, and says so if there are more.
func (s *session) waiting(ctx context.Context, limit int) ([]engine.ItemRow, error) {
	filter := store.ItemFilter{Open: true}
	if limit > 0 {
		filter.Limit = limit + 1
	}
	items, err := s.store.Items(ctx, filter)
	if limit > 0 && len(items) > limit {
		items = items[:limit]
		s.app.notice("more than these %d wait; piton inbox --limit 0 shows all", limit)
	}
	return items, err
}

// fill reads the arguments of one item that a view shows.
func (s *session) fill(it *engine.ItemRow) error {
	items := []engine.ItemRow{*it}
	_, err := s.reader().Args(context.Background(), items)
	*it = items[0]
	return err
}

func (a *app) watchCmd() *cobra.Command {
	var after uint64
	c := &cobra.Command{
		Use:     "watch [RUN]",
		Example: "  piton watch\n  piton watch 7f3a21 --json --after 40",
		Short:   "Follow a run until it ends or waits for you",
		Args:    atMost("a run", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.watch(c.Context(), first(args), after) },
	}
	c.Flags().Uint64Var(&after, "after", 0, "only events after this sequence number")
	return c
}

func (a *app) watch(ctx context.Context, prefix string, after uint64) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	a.outlive(leave)
	err := a.follow(ctx, prefix, after)
	if ctx.Err() != nil {
		return nil // the reader has seen enough
	}
	return err
}

func (a *app) follow(ctx context.Context, prefix string, after uint64) error {
	return a.looking(ctx, func(s *session) error {
		head, err := s.Find(ctx, prefix)
		if err != nil {
			return err
		}
		if newest, err := s.reader().Newest(ctx, head); err != nil || !newest {
			return cmp.Or(err, s.past(ctx, head, after))
		}
		opened := api.Opened{Stream: head.Stream, Run: head.Run}
		if !a.json {
			if head.Ended {
				return a.showStatus(ctx, s, head)
			}
			s.noticeChange(head)
		}
		d := &follower{session: s, stay: true, opened: opened, after: after}
		ctx, d.leave = context.WithCancel(ctx)
		defer d.leave()
		err = s.changes(ctx, head.Stream, func() error { return d.step(ctx) })
		d.endView()
		gone := errors.Is(err, errNobody)
		if gone || errors.Is(err, errOver) || d.detached.Load() {
			err = nil
		}
		if err != nil || a.json || d.detached.Load() || !gone && !a.live() {
			return err
		}
		if head, err = s.Find(ctx, head.Run); err != nil {
			return err
		}
		if gone {
			a.notice("run %s is not active", head.Run)
			return a.showStatus(ctx, s, head)
		}
		return a.showEnd(ctx, s, head)
	})
}

// past shows a run whose place a later one took: nothing more happens in it.
func (s *session) past(ctx context.Context, head engine.HeadRow, after uint64) error {
	if !s.app.json {
		return s.app.showStatus(ctx, s, head)
	}
	for r, err := range run.ReadRun(ctx, s.store, head) {
		if err != nil {
			return err
		}
		if r.Seq > after {
			writeEvent(s.app.out, head.Run, r, nil)
		}
	}
	return nil
}

func (a *app) logCmd() *cobra.Command {
	var transcript, raw bool
	c := &cobra.Command{
		Use:     "log [RUN|ERRAND] [STEP]",
		Example: "  piton log\n  piton log 7f3a21 write-tests --transcript\n  piton log e-41c0de",
		Short:   "Show the history of a run, with the evidence",
		Long: `Shows what happened in a run. With a STEP it shows the results of its checks too, and the beginning of
its output; --json has all of it. --transcript shows what the agent did, a line for each thing, or
what the script printed. --raw, and --json, show the output as it is.

An ERRAND is a question to a model that belongs to no step: for example, to make a plan. Its log has
the question and the answers. piton status names the errands that are under way, piton show INTENT
those of a task.`,
		Args: atMost("a run and a step", 2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.log(c.Context(), args, transcript || raw, raw)
		},
	}
	c.Flags().BoolVar(&transcript, "transcript", false, "print what the step's attempts printed")
	c.Flags().BoolVar(&raw, "raw", false, "print it as it is")
	return c
}

func (a *app) log(ctx context.Context, args []string, transcript, raw bool) error {
	return a.looking(ctx, func(s *session) error {
		head, step, err := s.RunAndStep(ctx, args)
		if isNotFound(err) && len(args) > 0 {
			return s.errandLog(ctx, args, err)
		}
		if err != nil {
			return err
		}
		if transcript {
			return s.transcript(ctx, head, step, raw)
		}
		var records []engine.Record
		for r, err := range run.ReadRun(ctx, s.store, head) {
			if err != nil {
				return err
			}
			records = append(records, r)
		}
		values, err := s.reader().Outputs(ctx, step, records)
		if err != nil {
			return err
		}
		return a.showLog(head, step, records, values, s.deedsIn)
	})
}

// attemptDoc says which attempt printed what follows.
type attemptDoc struct {
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	N       int    `json:"n"`
	Kind    string `json:"kind"`
}

// transcript prints the output files of the attempts, the oldest first. However long they
// are, no more than a piece of one is held at a time.
func (s *session) transcript(ctx context.Context, head engine.HeadRow, step string, raw bool) error {
	by := map[string]string{} // who did the newest attempt of a step
	doc := view.Long{W: s.app.out}
	if s.app.json {
		doc.Begin("log", "attempts")
		defer doc.End(map[string]any{"run": head.Run, "step": step})
	}
	found := false
	for r, err := range run.ReadRun(ctx, s.store, head) {
		if err != nil {
			return err
		}
		if d, ok := r.Event.(engine.WorkDispatched); ok {
			by[d.Step] = d.Role
		}
		e, ok := r.Event.(engine.WorkEnded)
		if !ok || e.Log == "" || step != "" && e.Step != step {
			continue
		}
		found = true
		if !s.app.json {
			fmt.Fprintf(s.app.out, "== %s, attempt %d.%d\n", e.Step, e.Attempt, e.N)
			to, end := io.Writer(plainWriter{s.app.out}), func() error { return nil }
			if form := s.form(by[e.Step]); e.Kind == engine.AgentWork && form != agent.NoPreset && !raw {
				t := s.app.theme(s.app.out)
				line := func(line string) { fmt.Fprintln(s.app.out, t.one(line)) }
				deeds := view.NewDeeds(form, s.inside, line, line)
				to, end = deeds, deeds.Close
			}
			if err = s.copyLog(to, e.Log); err == nil {
				err = end()
			}
		} else {
			err = doc.Add(attemptDoc{e.Step, e.Attempt, e.N, string(e.Kind)}, "text", func(to io.Writer) error { return s.copyLog(to, e.Log) })
		}
		if err != nil {
			return err
		}
	}
	if !found && !s.app.json {
		s.app.notice("nothing was printed: tool calls and answers print nothing; their values: piton log %s STEP", head.Run)
	}
	return nil
}

func (s *session) copyLog(to io.Writer, name string) error {
	f, err := s.output(name)
	if errors.Is(err, fs.ErrNotExist) {
		s.app.notice(goneLog)
		return nil
	}
	if err != nil {
		s.app.notice("%v", err)
		return nil
	}
	defer f.Close()
	err = copyLines(to, f)
	if errors.Is(err, fs.ErrNotExist) {
		s.app.notice(goneLog)
		return nil
	}
	return err
}

const goneLog = "this log is gone: piton gc removes the logs of finished runs"

// copyLines copies text in pieces that end where a line ends, so that no letter and no
// escape sequence comes in two; of a line that is longer than a piece no such thing is promised.
func copyLines(to io.Writer, from io.Reader) error {
	piece := make([]byte, 0, 1<<20)
	for {
		n, err := io.ReadFull(from, piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
		end := bytes.LastIndexByte(piece, '\n') + 1
		if end == 0 || err != nil {
			end = len(piece)
		}
		if _, failed := to.Write(piece[:end]); failed != nil {
			return failed
		}
		piece = append(piece[:0], piece[end:]...)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (a *app) backupCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "backup DIR",
		Example: "  piton backup /backups/piton-2026-11-22",
		Short:   "Copy the journal, also while it is in use",
		Long:    "Copies the journal and its objects into a new directory. To restore a lost journal, put these\nfiles in its place.",
		Args:    exactly("a new directory", 1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.looking(c.Context(), func(s *session) error {
				if err := s.Place.BackupTarget(a.at(args[0])); err != nil {
					return err
				}
				if err := s.local.Backup(c.Context(), a.at(args[0])); err != nil {
					return err
				}
				a.did("backup", args[0], "the journal is copied to "+args[0])
				return nil
			})
		},
	}
}

func (a *app) doctorCmd() *cobra.Command {
	try := false
	c := &cobra.Command{
		Use:     "doctor",
		Example: "  piton doctor\n  piton doctor --agents",
		Short:   "Check this machine and the configuration",
		Long: "Checks the configuration, the machine and the configured agents. Exit code 9 if no run could\nwork. With --agents it tries the agents too, as piton agents test does. Their models are asked,\n" +
			"which may cost a little.",
		Args: atMost("nothing", 0),
		RunE: func(c *cobra.Command, _ []string) error {
			place, err := a.place()
			if err != nil {
				return err
			}
			conf, lines := a.checkConfiguration(place)
			env := probe.Env{Workspace: place.Dir, State: place.State, Environ: a.env, Config: conf}
			lines = append(lines, probe.Doctor(c.Context(), env)...)
			if err := a.unseen(c.Context(), place, conf, lines); err != nil {
				return err
			}
			if try {
				if err := a.tryToo(c.Context(), place, conf, lines); err != nil {
					return err
				}
			}
			return a.showDoctor(lines)
		},
	}
	c.Flags().BoolVar(&try, "agents", false, "try the agents, which asks their models")
	return c
}

// unseen adds to the lines of the agents whether their programs start inside of the seal.
func (a *app) unseen(ctx context.Context, place api.Place, conf config.Config, lines []probe.Line) error {
	names, err := agentNames(conf, nil)
	if err != nil {
		return nil // then a line says so
	}
	return owner.Unseen(ctx, place, conf, a.env, names, func(name string, why engine.Cause) {
		if l := lineOf(lines, name); l != nil {
			l.Text, l.Hint, l.Status = l.Text+"; "+why.Text, why.Next, probe.Warning
		}
	})
}

// lineOf is the line of an agent, nil where there is none.
func lineOf(lines []probe.Line, name string) *probe.Line {
	at := slices.IndexFunc(lines, func(l probe.Line) bool { return l.Check == "agent "+name })
	if at < 0 {
		return nil
	}
	return &lines[at]
}

// tryToo adds to the lines of the agents whether they work.
func (a *app) tryToo(ctx context.Context, place api.Place, conf config.Config, lines []probe.Line) error {
	if err := a.byPerson(); err != nil {
		return err
	}
	names, err := agentNames(conf, nil)
	if err != nil {
		return nil // then a line says so
	}
	_, err = a.try(ctx, place, conf, names, func(string, engine.Cause) {}, func(d triedAgent) {
		l := lineOf(lines, d.Name)
		if l == nil || d.Status == "not-installed" {
			return
		}
		l.Text, l.Hint, l.Status = l.Text+"; "+d.sentence(), d.Hint, probe.Warning
		if d.Status == "works" {
			l.Status = probe.OK
		}
	})
	return err
}

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Example: "  piton version --json", Short: "Print the version", Args: atMost("nothing", 0),
		RunE: func(*cobra.Command, []string) error { return a.showVersion() },
	}
}

func (a *app) showVersion() error {
	a.report("version", map[string]any{"version": Version(), "schema": view.Schema}, "piton "+Version())
	return nil
}

// document prints one JSON object for a verb that ends.
func (a *app) document(kind string, data any) { view.Write(a.out, kind, data) }

// prints tells programs what a verb found by a document, and people by lines.
func (a *app) prints(kind string, data any, lines func(theme) []string) {
	if a.json {
		a.document(kind, data)
		return
	}
	printLines(a.out, lines(a.theme(a.out)))
}

// did reports a small act: its id for programs, a sentence for people.
func (a *app) did(verb, id, sentence string) {
	a.report(verb, map[string]string{"id": id}, sentence)
}

// report tells programs what a verb did by a document, and people by a sentence.
func (a *app) report(verb string, data any, sentence string) {
	if a.json {
		a.document(verb, data)
		return
	}
	fmt.Fprintln(a.out, sentence)
}
