package cli

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/owner"
	"github.com/piton-dev/piton/internal/view"
)

// writeSaid writes what attempts said as events without a sequence number. Who
// takes events up again after one of them gets what is under way from its first line.
func writeSaid(w io.Writer, all []effect.Heard) {
	for _, s := range all {
		view.Write(w, "event", map[string]any{
			"type": s.Type, "run": s.From.Run, "step": s.From.Step, "attempt": s.From.Attempt, "n": s.From.N,
			"line": s.Line, "at": view.Stamp(s.At), "percent": s.Percent, "text": s.Text,
		})
	}
}

// progressOf is how far the steps at work say they are, by id.
func (s *session) progressOf(head engine.HeadRow, steps []engine.StepRow) map[string]view.Said {
	all := map[string]view.Said{}
	for _, st := range steps {
		if st.Status != engine.Running || st.Phase != engine.Working {
			continue
		}
		if now, ok := effect.NewestSaid(s.Place.State, head.Run, st.ID, st.Attempts); ok {
			all[st.ID] = claimed(now)
		}
	}
	return all
}

// says is how far an attempt says it is, "" for nothing.
func (s *session) says(a attempt) string {
	now, _ := effect.LastSaid(s.Place.State, a.run, a.step, a.a, a.n)
	return claimed(now).String()
}

// claimed is what an attempt claims of its progress, as faces show it.
func claimed(s effect.Said) view.Said {
	return view.Said{Percent: s.Percent, Text: s.Text, At: view.Stamp(s.At)}
}

// outputEnd reads the end of what an attempt printed. Of an agent whose output is in
// a form for programs it is what the agent does, a line a deed.
func (s *session) outputEnd(a attempt) string {
	text, _ := s.printed(effect.LogFile(a.run, a.step, a.a, a.n), a.agent)
	return text
}

// printed is outputEnd of an output file, by its name in the state directory.
func (s *session) printed(file, by string) (string, error) {
	f, err := s.output(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	const most = 64 << 10
	cut := false
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, err = f.Seek(max(0, size-most), io.SeekStart)
		cut = err == nil && size > most
	}
	body, err := io.ReadAll(io.LimitReader(f, most))
	if cut {
		body = body[bytes.IndexByte(body, '\n')+1:] // a line that has lost its beginning has no form
	}
	form := s.form(by)
	if form == agent.NoPreset {
		return string(body), err
	}
	var lines []string
	line := func(line string) { lines = append(lines, line) }
	deeds := view.NewDeeds(form, s.inside, line, line)
	_, _ = deeds.Write(body)
	_ = deeds.Close()
	return strings.Join(lines, "\n"), err
}

// output opens what an attempt printed, by its name in the state directory. The caller
// must close it.
func (s *session) output(name string) (io.ReadSeekCloser, error) {
	if s.local == nil {
		return s.client.Printed(filepath.ToSlash(name)), nil
	}
	return os.OpenInRoot(s.Place.State, name)
}

// A deedEar follows what attempts under way print, and tells their deeds. It is not safe for
// concurrent use.
type deedEar struct {
	open   func(file string) (io.ReadSeekCloser, error)
	form   func(by string) agent.Preset
	inside func(path string) string
	tell   func(run, step, line string)
	all    map[string]*deedVoice // by the name of the output file
}

// deedVoice is the output of one attempt, as far as it was read.
type deedVoice struct {
	offset int64
	deeds  *view.Deeds
}

// maxHeard bounds one look at an output.
const maxHeard = 4 << 20

// take notes an attempt that begins, and tells what is left of one that ends.
func (l *deedEar) take(run string, event engine.Event) {
	if l == nil {
		return
	}
	switch e := event.(type) {
	case engine.WorkDispatched:
		if form := l.form(e.Role); e.Kind == engine.AgentWork && form != agent.NoPreset {
			if l.all == nil {
				l.all = map[string]*deedVoice{}
			}
			tell := func(line string) { l.tell(run, e.Step, line) }
			l.all[effect.LogFile(run, e.Step, e.Attempt, e.N)] = &deedVoice{deeds: view.NewDeeds(form, l.inside, tell, func(string) {})}
		}
	case engine.WorkEnded:
		name := effect.LogFile(run, e.Step, e.Attempt, e.N)
		if v := l.all[name]; v != nil {
			l.read(name, v)
			_ = v.deeds.Close()
			delete(l.all, name)
		}
	}
}

// look tells what was done since the last look.
func (l *deedEar) look() {
	if l == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(l.all)) {
		l.read(name, l.all[name])
	}
}

func (l *deedEar) read(name string, v *deedVoice) {
	f, err := l.open(name)
	if err != nil {
		return // it has printed nothing yet, or its log is gone
	}
	defer f.Close()
	if _, err := f.Seek(v.offset, io.SeekStart); err == nil {
		n, _ := io.Copy(v.deeds, io.LimitReader(f, maxHeard))
		v.offset += n
	}
}

// deedEar tells the deeds of this workspace's agents.
func (s *session) deedEar(tell func(run, step, line string)) *deedEar {
	open := func(file string) (io.ReadSeekCloser, error) { return s.output(file) }
	return &deedEar{open: open, form: s.form, inside: s.inside, tell: tell}
}

// deedsIn are the lines of what an agent did, by its output file; nothing where the file is
// gone or has no form.
func (s *session) deedsIn(log, by string) (lines []string) {
	form := s.form(by)
	if form == agent.NoPreset {
		return nil
	}
	f, err := s.output(log)
	if err != nil {
		return nil
	}
	defer f.Close()
	deeds := view.NewDeeds(form, s.inside, func(line string) { lines = append(lines, line) }, func(string) {})
	_, _ = io.Copy(deeds, f)
	_ = deeds.Close()
	return lines
}

// form is that of what an agent prints.
func (s *session) form(by string) agent.Preset {
	config := s.Config.Agents[by]
	return cmp.Or(agent.FormOf(agent.Kind(config.Kind), config.Parse), agent.NoPreset)
}

// inside is a path without the workspace, or the worktree, that it begins with.
func (s *session) inside(path string) string {
	path = strings.TrimPrefix(path, s.Place.Dir+"/")
	rest, ok := strings.CutPrefix(path, owner.Worktrees(s.Place)+"/")
	if !ok {
		return path
	}
	if parts := strings.SplitN(rest, "/", 4); len(parts) == 4 { // of a run, of a step, its files
		return parts[3]
	}
	return path
}
