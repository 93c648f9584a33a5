package cli

import (
	"bytes"
	"cmp"
	"io"
	"os"
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
	root, err := os.OpenRoot(s.Place.State)
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := root.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	const most = 64 << 10
	cut := false
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, err = f.Seek(-most, io.SeekEnd)
		cut = err == nil // else the beginning is read
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
	deeds := view.NewDeeds(form, s.inside, func(line string) { lines = append(lines, line) })
	_, _ = deeds.Write(body)
	_ = deeds.Close()
	return strings.Join(lines, "\n"), err
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
