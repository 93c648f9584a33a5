package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

// Bounds of a conversation with an agent.
const (
	maxMessage  = 8 << 20         // bytes of one line of it
	maxOpen     = 64              // requests of it that are not answered yet
	farewell    = 2 * time.Second // in which it may end by itself once the turn is over
	acpTime     = 30 * time.Minute
	acpIdle     = 10 * time.Minute
	needsLogin  = -32000 // the code of «Authentication required»
	maxAskNamed = 20     // modes or models that an error names
)

// handshake is how long an agent may take until its session is there.
var handshake = 2 * time.Minute

// A talk is the conversation with an agent that speaks the Agent Client Protocol: one
// session, one turn. What the agent prints is kept as it comes, and read from there; the
// connection gets answers and requests alone.
type talk struct {
	*attempt
	child  *proc.Child
	conn   *rpc
	client *acpClient
	open   atomic.Int64 // requests that the agent has made and that are not answered
	size   atomic.Int64 // bytes that it printed on standard output
	flood  context.CancelCauseFunc
	heard  chan struct{} // closed when the agent prints no more
}

var errFlood = errors.New("flood")

// turn is how the conversation ended.
type turn struct {
	stop  string // "" if the turn did not end
	stage string // what was asked last
	err   error  // why it did not end
	last  bool   // trying again changes nothing
	gone  bool   // its process is
}

func (a *attempt) converse(ctx context.Context, pool *proc.Pool) Result {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := newPulse(a.cfg.Idle, func() { cancel(errIdle) })
	whole := newLimit(a.limit(), func() { cancel(errLate) })
	defer idle.stop()
	defer whole.stop()
	a.hear(cancel)
	// What the child is killed by is apart from what ends the turn: it is told first.
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	a.spec.Timeout, a.spec.Stdin, a.spec.Tee = 0, nil, teeTo{a.log, idle, nil}
	a.spec.Grace = a.cfg.Term
	reach := a.bind(pool)
	child, err := pool.Start(life, a.spec)
	if err != nil {
		p := proc.Result{Exit: -1, Err: err, Cancelled: ctx.Err() != nil, Level: pool.Level()}
		return a.result(p, context.Cause(ctx))
	}
	t := &talk{attempt: a, child: child, flood: cancel, heard: make(chan struct{})}
	t.client = &acpClient{talk: t, idle: idle, whole: whole, life: ctx}
	watch := startWatch(&watch{path: a.desk.report, tell: a.task.OnReport, claim: a.task.OnClaims, text: a.text, pulse: idle})
	t.connect(idle)
	end := t.hold(ctx)
	p := t.part(ctx, kill, end)
	claims, notes := watch.finish()
	p.Cancelled = end.stop == "" && ctx.Err() != nil
	r := a.result(p, context.Cause(ctx))
	t.judge(&r, p, end, context.Cause(ctx))
	if r.Network = reach; a.gate != nil {
		r.Network = proc.Asked(reach, a.gate)
	}
	r.Claims, r.Notes = claims, notes
	r.Duration = max(0, r.Duration-whole.away())
	r.Size += t.size.Load()
	a.words(&r, p)
	if no := t.client.denied(); no.Type != "" {
		r.No, r.Forbidden = no, true
	}
	return r
}

// connect reads what the agent prints: all of it into the log and the transcript, answers
// and requests to the connection besides.
func (t *talk) connect(idle *pulse) {
	t.conn = newRPC(t.child.Stdin, t.client.serve, func() { t.open.Add(-1) })
	go func() {
		defer close(t.heard)
		defer t.conn.end()
		l := longLines{raw: t.log.write, take: func(line []byte) {
			t.text.line(line)
			t.message(line)
		}}
		buf := make([]byte, 64<<10)
		for {
			n, err := t.child.Stdout.Read(buf)
			if n > 0 {
				idle.touch()
				t.size.Add(int64(n))
				l.feed(buf[:n])
			}
			if err != nil {
				l.end()
				return
			}
		}
	}()
}

// message hands a line on, if somebody waits for it.
func (t *talk) message(line []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	asks := len(m.ID) > 0 && string(m.ID) != "null"
	if !asks && m.Method != cancelRequest {
		return
	}
	if m.Method != "" && asks && t.open.Add(1) > maxOpen {
		t.flood(errFlood)
		return
	}
	t.conn.take(line)
}

// hold holds the conversation until the turn is over, or ctx ends and the agent did not
// stop when it was asked to.
func (t *talk) hold(ctx context.Context) turn {
	talking, hush := context.WithCancel(context.WithoutCancel(ctx))
	defer hush()
	said := make(chan turn, 1)
	session := make(chan string, 1)
	go func() { said <- t.speak(talking, session) }()
	select {
	case end := <-said:
		return end
	case <-ctx.Done():
	}
	select {
	case end := <-said: // it was there already
		return end
	default:
	}
	select {
	case id := <-session:
		if !errors.Is(context.Cause(ctx), errFlood) {
			go t.conn.notify(acpCancel, acpCancelOf{id}) //nolint:errcheck // it may read nothing any more
			after := time.NewTimer(t.cfg.Grace - t.cfg.Term)
			defer after.Stop()
			select {
			case <-said: // whatever it answers, it was stopped
			case <-after.C:
			}
		}
	default:
	}
	return turn{err: context.Cause(ctx)}
}

// speak goes through the conversation.
func (t *talk) speak(ctx context.Context, session chan<- string) turn {
	opening, done := context.WithTimeout(ctx, handshake)
	defer done()
	var hello acpWelcome
	err := t.conn.call(opening, acpInitialize, acpHello{Version: acpVersion, Client: acpClientInfo{Name: "piton", Version: "1"}}, &hello)
	if err != nil {
		return turn{stage: acpInitialize, err: t.late(opening, err), gone: errors.Is(err, errGone)}
	}
	if hello.Version != acpVersion {
		return turn{stage: acpInitialize, last: true, err: fmt.Errorf("it speaks version %d of the Agent Client Protocol, and Piton version %d", hello.Version, acpVersion)}
	}
	var s acpSession
	if err := t.conn.call(opening, acpNew, acpNewSession{t.task.Dir, t.servers()}, &s); err != nil {
		return turn{stage: acpNew, last: isLogin(err), err: t.refused(opening, err, hello), gone: errors.Is(err, errGone)}
	}
	if err := t.settle(opening, s); err != nil {
		return turn{stage: "its settings", last: true, err: err}
	}
	session <- s.ID
	var r acpTurn
	if err := t.conn.call(ctx, acpPrompt, acpPromptOf{s.ID, []acpText{{"text", t.task.Text}}}, &r); err != nil {
		return turn{stage: acpPrompt, last: isLogin(err), err: t.refused(ctx, err, hello), gone: errors.Is(err, errGone)}
	}
	return turn{stage: acpPrompt, stop: cmp.Or(r.Stop, stopEnd)}
}

// servers are those that the session begins with. Agents give servers little of their own
// environment, so what this one needs is said.
func (t *talk) servers() []acpServer {
	if len(t.cfg.Server) == 0 {
		return []acpServer{}
	}
	return []acpServer{{
		Name: "piton", Command: t.cfg.Server[0], Args: slices.Clip(t.cfg.Server[1:]), Env: []acpVariable{{"PITON_REPORT", t.desk.report}},
	}}
}

func isLogin(err error) bool {
	e, ok := errors.AsType[*rpcError](err)
	return ok && e.Code == needsLogin
}

// late says what an error means that came of time.
func (t *talk) late(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it did not answer within %s", handshake)
	}
	return errors.New(plainText(saidBy(err)))
}

// saidBy is what the agent itself says of an error.
func saidBy(err error) string {
	e, ok := errors.AsType[*rpcError](err)
	if !ok {
		return err.Error()
	}
	said := e.Message
	if data, err := json.Marshal(e.Data); err == nil && e.Data != nil {
		var fields struct {
			Details string `json:"details"`
			Message string `json:"message"`
			Error   string `json:"error"`
		}
		_ = json.Unmarshal(data, &fields)
		if text, is := e.Data.(string); is {
			fields.Details = text
		}
		if more := cmp.Or(fields.Details, fields.Message, fields.Error); more != "" && more != said {
			said += ": " + more
		}
	}
	return said
}

// refused is the error with the ways to log in that the agent offers, where it wants that.
func (t *talk) refused(ctx context.Context, err error, hello acpWelcome) error {
	if !isLogin(err) {
		return t.late(ctx, err)
	}
	var names []string
	for _, w := range hello.Logins[:min(len(hello.Logins), maxAskNamed)] {
		names = append(names, w.Name)
	}
	hint := ""
	if len(names) > 0 {
		hint = "; it offers: " + strings.Join(names, ", ")
	}
	return errors.New("not logged in: " + plainText(saidBy(err)+hint))
}

// settle gives the session its mode and its model, where the configuration names them.
func (t *talk) settle(ctx context.Context, s acpSession) error {
	if mode := t.sessionMode(); mode != "" {
		if err := t.setMode(ctx, s, mode); err != nil {
			return err
		}
	}
	inCommand := slices.ContainsFunc(t.cfg.Command, func(arg string) bool { return strings.Contains(arg, "{model}") })
	if t.cfg.Model == "" || inCommand {
		return nil
	}
	o := option(s, "model")
	if o == nil {
		return errors.New("its model cannot be set in a session; put {model} into its `command:`, or remove `model:` from its entry")
	}
	return t.setOption(ctx, s.ID, o, t.cfg.Model)
}

// sessionMode is the agent's own word for the step's mode; "" leaves it as it is.
func (t *talk) sessionMode() string {
	return cmp.Or(t.cfg.Modes[cmp.Or(t.task.Mode, "edit")], t.cfg.Mode)
}

func (t *talk) setMode(ctx context.Context, s acpSession, mode string) error {
	var known []string
	if s.Modes != nil {
		for _, m := range s.Modes.Available {
			known = append(known, m.ID)
		}
		if id, ok := named(known, mode); ok {
			if err := t.conn.call(ctx, acpSetMode, acpSetModeOf{s.ID, id}, &struct{}{}); err != nil {
				return fmt.Errorf("its mode %q was refused: %s", mode, plainText(saidBy(err)))
			}
			return nil
		}
	}
	if o := option(s, "mode"); o != nil {
		return t.setOption(ctx, s.ID, o, mode)
	}
	if known == nil {
		return fmt.Errorf("it has no modes, so it has none called %q", mode)
	}
	return unknown("mode", mode, known)
}

func unknown(what, word string, known []string) error {
	return fmt.Errorf("it has no %s %q; it has %s", what, word, plainText(strings.Join(known[:min(len(known), maxAskNamed)], ", ")))
}

// named finds a word among what the agent knows: itself, or the end of an address behind #.
func named(known []string, word string) (string, bool) {
	for _, k := range known {
		if k == word || strings.HasSuffix(k, "#"+word) {
			return k, true
		}
	}
	return "", false
}

// option is the choice of a category that the session has.
func option(s acpSession, category string) *acpOption {
	for i, o := range s.Options {
		if o.Type != "boolean" && o.Category == category {
			return &s.Options[i]
		}
	}
	return nil
}

func (t *talk) setOption(ctx context.Context, session string, o *acpOption, word string) error {
	var known []string
	for _, v := range o.Values {
		if v.Group == nil {
			known = append(known, v.Value)
		}
		for _, w := range v.Group {
			known = append(known, w.Value)
		}
	}
	value, ok := named(known, word)
	if !ok {
		return unknown(o.ID, word, known)
	}
	if err := t.conn.call(ctx, acpSetOption, acpSetOptionOf{session, o.ID, value}, &struct{}{}); err != nil {
		return fmt.Errorf("its %s %q was refused: %s", o.ID, word, plainText(saidBy(err)))
	}
	return nil
}

// part ends the agent: it is told that nothing more comes, then asked by signal, then
// killed with all it started.
func (t *talk) part(ctx context.Context, kill func(), end turn) proc.Result {
	t.child.Stdin.Close()
	wait := farewell
	if ctx.Err() != nil && end.stop == "" {
		wait = min(wait, t.cfg.Term)
	}
	late := time.AfterFunc(wait, kill)
	p := t.child.Wait()
	late.Stop()
	select {
	case <-t.heard:
	case <-time.After(farewell): // what is behind the log is slow
	}
	t.child.Stdout.Close()
	return p
}

// judge says how the attempt ended: by how the conversation did, and only where that was
// cut short by how the process did.
func (t *talk) judge(r *Result, p proc.Result, end turn, cause error) {
	switch {
	case end.stop == stopCancelled:
		r.How, r.Exit, r.Signal, r.Reason = engine.Exited, 1, "", "it says that its turn was cancelled, but nobody cancelled it"
	case end.stop != "":
		r.How, r.Exit, r.Signal, r.Reason = engine.Exited, 0, "", ""
		if end.stop != stopEnd {
			r.Reason = "its turn ended with " + plainText(end.stop)
		}
	case errors.Is(cause, errFlood):
		r.How, r.Exit, r.Signal, r.Reason = engine.Exited, 1, "", fmt.Sprintf("it sent more than %d requests at once", maxOpen)
	case errors.Is(cause, errLate):
		r.How, r.Reason = engine.TimedOut, fmt.Sprintf("it did not end within %s", t.limit())
	case p.Cancelled || errors.Is(p.Err, proc.ErrClosed):
	case end.stage == acpPrompt && !end.last:
		t.broken(r, p, end)
	default:
		r.How, r.Absent = engine.NoStart, end.last
		r.Reason = fmt.Sprintf("agent %q: %v", t.task.Role, end.err)
		if exit, exited := p.Exited(); end.gone && exited {
			r.Reason = fmt.Sprintf("agent %q ended with exit code %d before it answered %s: it may not speak the Agent Client Protocol", t.task.Role, exit, end.stage)
		} else if end.gone {
			r.Reason = fmt.Sprintf("agent %q ended before it answered %s", t.task.Role, end.stage)
		}
		if said := complaint(proc.Plain(p.Stderr.Tail)); said != "" && !end.last {
			r.Reason += "; it said: " + short(said, maxWhy)
		}
	}
}

// broken is the end of a turn that did not come to its end: by an error that the agent
// tells, or since its process is gone.
func (t *talk) broken(r *Result, p proc.Result, end turn) {
	exit, exited := p.Exited()
	switch {
	case !end.gone:
		r.How, r.Exit, r.Signal, r.Reason = engine.Exited, 1, "", "it says: "+end.err.Error()
	case exited:
		r.How, r.Exit, r.Reason = engine.Exited, max(exit, 1), fmt.Sprintf("it ended in the middle of its turn, with exit code %d", exit)
	}
}

// longLines cuts what an agent prints into lines. Of one that is too long only the raw
// bytes are handed on.
type longLines struct {
	raw  func([]byte) // gets all of it, a line at a time where that is not too long
	take func([]byte) // gets what stands in a line
	line []byte
	long bool
}

func (l *longLines) feed(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n') + 1
		part := p[:cmp.Or(end, len(p))]
		l.line = append(l.line, part...)
		if p = p[len(part):]; end > 0 {
			l.end()
		} else if len(l.line) > maxMessage {
			l.raw(l.line)
			l.line, l.long = l.line[:0], true
		}
	}
}

func (l *longLines) end() {
	if len(l.line) > 0 {
		l.raw(l.line)
	}
	if line := bytes.TrimSpace(l.line); len(line) > 0 && !l.long {
		l.take(line)
	}
	l.line, l.long = l.line[:0], false
}
