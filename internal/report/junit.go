package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// xmlText writes a text as XML can hold it: what no version 1.0 document may have becomes U+FFFD.
func xmlText(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '&':
			b.WriteString("&amp;")
		case c == '<':
			b.WriteString("&lt;")
		case c == '>':
			b.WriteString("&gt;")
		case c == '"':
			b.WriteString("&quot;")
		case c == '\n' || c == '\t':
			fmt.Fprintf(&b, "&#%d;", c) // as it is in an attribute too
		case c < 0x20 || c == 0xfffe || c == 0xffff:
			b.WriteRune(0xfffd)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// xmlBody is xmlText where lines may stay lines.
func xmlBody(s string) string {
	return strings.NewReplacer("&#10;", "\n", "&#9;", "\t").Replace(xmlText(s))
}

// outcome is what a step is to programs that count tests.
type outcome string

const (
	passed  outcome = ""
	failure outcome = "failure" // its proof says that it is not done
	broken  outcome = "error"   // nobody could say
	left    outcome = "skipped"
)

func (s *Step) outcome() outcome {
	switch {
	case s.Status == engine.Done:
		return passed
	case s.Status != engine.Failed && s.Status != engine.Regressed && (s.Status != engine.Waiting || s.Verdict == engine.NoVerdict || s.Verdict == engine.Pass):
		return left
	case s.Verdict == engine.Infra || s.Verdict == engine.Inconclusive || s.Verdict == engine.OverBudget:
		return broken
	}
	return failure
}

// cases are the steps of a run, each followed by those of the run that carries it out, whose
// numbers begin with its own.
func cases(steps []Step) (all []Step) {
	for _, s := range steps {
		all = append(all, s)
		for _, under := range cases(s.Under) {
			under.Number = s.Number + "." + under.Number
			all = append(all, under)
		}
	}
	return all
}

// junit writes the XML that JUnit's own runner for Ant and the readers of Jenkins, GitLab and
// GitHub accept: a suite of the run, and a case of each step. A retry is told in the suite's
// output, since most readers refuse elements of their own for it.
func (r *Report) junit() []byte {
	all, count := cases(r.Steps), map[outcome]int{}
	var cs, retries strings.Builder
	for _, s := range all {
		o := s.outcome()
		count[o]++
		fmt.Fprintf(&cs, "    <testcase classname=\"%s\" name=\"%s\" time=\"%s\"", xmlText(r.Title), xmlText(s.Number+" "+s.Title), seconds(s.Took))
		if o == passed {
			cs.WriteString("/>\n")
		} else {
			fmt.Fprintf(&cs, ">\n%s    </testcase>\n", s.fault(o))
		}
		for n, a := range s.Attempts {
			if n+1 < len(s.Attempts) && !a.Passed {
				fmt.Fprintf(&retries, "%s %s, attempt %d, %s: %s\n%s", s.Number, s.ID, a.N, a.Became, a.Reason, a.output())
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite id=\"0\" package=\"piton\" name=\"%s\" timestamp=\"%s\" hostname=\"localhost\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%s\">\n    <properties>\n",
		xmlText(r.Title), xmlText(r.Exact), len(all), count[failure], count[broken], count[left], seconds(r.Took))
	property := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "      <property name=\"%s\" value=\"%s\"/>\n", xmlText(name), xmlText(value))
		}
	}
	property("run", r.ID)
	property("status", string(r.Status))
	property("plan", r.Path)
	property("revision", fmt.Sprint(r.Version))
	property("approved by", r.By)
	property("proof", view.Join(r.Sums))
	for _, s := range all {
		if n := len(s.Attempts); n > 1 {
			property("attempts of "+s.ID, fmt.Sprint(n))
		}
		if s.Unproven {
			property("unproven: "+s.ID, cmp.Or(s.Reason, "done"))
		}
	}
	fmt.Fprintf(&b, "    </properties>\n%s    <system-out>%s</system-out>\n    <system-err></system-err>\n  </testsuite>\n</testsuites>\n", cs.String(), xmlBody(retries.String()))
	return []byte(b.String())
}

func seconds(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }

// fault is why a case did not pass.
func (s *Step) fault(o outcome) string {
	said := cmp.Or(s.Reason, s.State.Word)
	if o == left {
		return fmt.Sprintf("      <skipped message=\"%s\"/>\n", xmlText(s.State.Word+reasoned(s.Reason)))
	}
	var text string
	if n := len(s.Attempts); n > 0 {
		text = s.Attempts[n-1].output()
	}
	return fmt.Sprintf("      <%s message=\"%s\" type=\"%s\">%s</%s>\n", o, xmlText(said), xmlText(cmp.Or(string(s.Verdict), string(s.Status))), xmlBody(text), o)
}

func reasoned(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// output is what checks that did not pass, and else the work, printed.
func (a *Attempt) output() string {
	var b strings.Builder
	for _, x := range a.Answers {
		if !x.Passed {
			fmt.Fprintf(&b, "%s %s\n%s%s", x.Check, x.Text, ended(x.Stdout), ended(x.Stderr))
		}
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "%s\n%s%s", cmp.Or(a.How, "not begun"), ended(a.Stdout), ended(a.Stderr))
	}
	return b.String()
}

// ended is a text whose last line ends.
func ended(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
