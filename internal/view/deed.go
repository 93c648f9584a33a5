package view

import (
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/agent"
)

// ErrorWord begins the line of an error that an agent tells.
const ErrorWord = "error: "

// DeedLine is a deed as people see it, in a line; "" for one that is nothing to look at.
// What an agent says and what it calls are words from outside: who shows the line makes it
// safe. Strip leaves out of a path what all paths begin with; nil leaves it as it is.
func DeedLine(d agent.Deed, strip func(path string) string) string {
	switch d.Type {
	case agent.Called:
		return call(d, strip) + result(d)
	case agent.Refused:
		return "denied: " + strings.TrimSuffix(call(d, strip)+": "+oneLine(d.Text), ": ")
	case agent.SaidIt:
		return "says: " + oneLine(d.Text)
	case agent.Erred:
		return ErrorWord + oneLine(d.Text)
	}
	return ""
}

// call says what is called, and with what.
func call(d agent.Deed, strip func(string) string) string {
	target := oneLine(d.Target)
	if strip != nil && d.Tool != agent.RunIt {
		target = strip(target)
	}
	switch d.Tool {
	case agent.RunIt:
		return "$ " + target
	case agent.Other, "":
		return strings.TrimSpace(d.Name + " " + target)
	}
	return strings.TrimSpace(string(d.Tool) + " " + target)
}

// result says how a call ended, as far as that is told.
func result(d agent.Deed) string {
	switch {
	case d.Done && d.Failed && d.Exit == nil && d.Text != "":
		return " (failed: " + oneLine(d.Text) + ")"
	case d.Done && d.Failed && d.Exit == nil:
		return " (failed)"
	}
	said := ""
	if d.Plus != nil {
		said += fmt.Sprintf(" +%d", *d.Plus)
	}
	if d.Minus != nil {
		said += fmt.Sprintf(" −%d", *d.Minus)
	}
	if d.Done && d.Exit != nil {
		said += fmt.Sprintf(" → %d", *d.Exit)
	}
	return said
}

// Deeds makes lines of what an agent prints in a form: one for each deed, a call when it has
// ended, the same error again and again once. Lines without the form stay. It is an [io.WriteCloser]; the calls that have no end
// are told by Close.
type Deeds struct {
	*agent.Recount
	strip func(path string) string
	line  func(string) // of a deed
	last  string
}

// NewDeeds hands the lines of deeds to line, and those without the form to plain.
func NewDeeds(p agent.Preset, strip func(path string) string, line, plain func(string)) *Deeds {
	d := &Deeds{strip: strip, line: line}
	d.Recount = agent.NewRecount(p, d.tell, plain)
	return d
}

func (d *Deeds) tell(deed agent.Deed) {
	if deed.Type == agent.Called && !deed.Done {
		return
	}
	line := DeedLine(deed, d.strip)
	if again := deed.Type == agent.Erred && line == d.last; line != "" && !again {
		d.line(line)
		d.last = line
	}
}

func (d *Deeds) Close() error {
	for _, deed := range d.Recount.Close() {
		d.line(DeedLine(deed, d.strip) + " …")
	}
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
