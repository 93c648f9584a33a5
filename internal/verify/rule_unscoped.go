package verify

import (
	"fmt"
	"strconv"
	"strings"
)

func ruleUnscoped() Rule {
	return Rule{
		ID: "PT033", Name: "unscoped", Severity: Warning,
		Title: "steps that may run at once have no `writes:` and will queue",
		Text: "A step of an agent without `writes:` may change the whole workspace, so it never works beside " +
			"another one, whatever `Parallel:` allows. Say what each may change, and they run at once.",
		Bad:   "# Title\n\n**Parallel:** 2\n\n## Steps\n\n### 1. Client\n\n**needs:** none\n\n### 2. Server\n\n**needs:** none",
		Good:  "# Title\n\n**Parallel:** 2\n\n## Steps\n\n### 1. Client\n\n**needs:** none\n**writes:** client/**\n\n### 2. Server\n\n**needs:** none\n**writes:** server/**",
		check: checkUnscoped,
	}
}

// maxNamed is how many steps one message names.
const maxNamed = 5

func checkUnscoped(p *pass) {
	if p.doc.plan.Parallel.Value < 2 || !p.doc.makers.anything {
		return
	}
	var ids []string
	var first *unit
	count := 0
	for _, u := range p.doc.units {
		if !u.works() || u.Writes.Set || u.apart() || u.unread("writes") || u.scripted(p.facts) {
			continue
		}
		if count++; count == 1 {
			first = u
		}
		if count <= maxNamed {
			ids = append(ids, strconv.Quote(u.ID.Value))
		}
	}
	if count == 0 || len(p.doc.units) == 1 {
		return
	}
	names := strings.Join(ids, ", ")
	if count > maxNamed {
		names += fmt.Sprintf(" and %d more", count-maxNamed)
	}
	p.report(first, p.doc.plan.Parallel.Pos, fmt.Sprintf("without `writes:` these steps never run beside another one: %s", names),
		"give them `writes:` with the paths they may change").Step = ""
}
