package plan

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/shell"
)

// Say is what follows a question of an agent whether it may do something.
type Say string

const (
	SayAllow Say = "allow"
	SayAsk   Say = "ask" // a person
	SayDeny  Say = "deny"
)

// stricter orders what may follow.
var stricter = map[Say]int{SayAllow: 1, SayAsk: 2, SayDeny: 3}

// Stricter is the stricter one of two; "" says nothing.
func Stricter(a, b Say) Say {
	if stricter[b] > stricter[a] {
		return b
	}
	return a
}

// MayKinds are the kinds of what an agent may ask for.
var MayKinds = []string{"read", "edit", "delete", "move", "search", "run", "fetch", "other"}

// May is what an agent asks for: a claim of its own.
type May struct {
	Kind    string   // one of [MayKinds]
	Command string   // of run, for a shell; "" if it is not told
	Paths   []string // relative to the workspace where they lie in it, else absolute
	Veiled  bool     // people are not shown all of it as it is
}

// Permission is one rule of `permissions:`.
type Permission struct {
	Say   Say
	Kind  string   // "" is any
	Words []string // with which the command begins
	Path  string   // where it happens: dir/** for all below
}

// maxPermissions bounds the rules of one text.
const maxPermissions = 100

// ParsePermissions reads rules with commas between: allow, ask or deny, for all or for one
// kind, and of that for the commands that begin with some words, or for a path.
func ParsePermissions(s string) ([]Permission, error) {
	var rules []Permission
	for rule := range strings.SplitSeq(strings.Trim(s, "`\"'"), ",") {
		words := strings.Fields(rule)
		if len(words) == 0 {
			return nil, errors.New("a rule is empty; write allow, ask or deny, as in `allow run go test, ask`")
		}
		p, err := parsePermission(words)
		if err != nil {
			return nil, err
		}
		if rules = append(rules, p); len(rules) > maxPermissions {
			return nil, fmt.Errorf("there are more than %d rules", maxPermissions)
		}
	}
	for i, p := range rules {
		if p.Kind == "" && i < len(rules)-1 {
			return nil, fmt.Errorf("%q covers everything, so no rule after it applies; write it last", p.Say)
		}
	}
	return rules, nil
}

// String is the rule as [ParsePermissions] reads it.
func (p Permission) String() string {
	words := []string{string(p.Say)}
	for _, w := range append([]string{p.Kind, p.Path}, p.Words...) {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// NormalPermissions gives rules the one form of what means the same.
func NormalPermissions(s string) (string, error) {
	rules, err := ParsePermissions(s)
	var all []string
	for _, r := range rules {
		all = append(all, r.String())
	}
	return strings.Join(all, ", "), err
}

// Laxer reports whether a person may be asked less under other rules: unless they only add
// something that is asked or denied.
func Laxer(was, now string) bool {
	rules, err := ParsePermissions(now)
	allows := slices.ContainsFunc(rules, func(p Permission) bool { return p.Say == SayAllow })
	return was != now && (was != "" || err != nil || allows)
}

func parsePermission(words []string) (Permission, error) {
	p := Permission{Say: Say(strings.ToLower(words[0]))}
	if stricter[p.Say] == 0 {
		return p, fmt.Errorf("a rule begins with allow, ask or deny, not with %q", words[0])
	}
	if len(words) == 1 {
		return p, nil
	}
	if p.Kind = strings.ToLower(words[1]); !slices.Contains(MayKinds, p.Kind) {
		return p, fmt.Errorf("%q is nothing that an agent asks for; write one of %s", words[1], strings.Join(MayKinds, ", "))
	}
	rest := words[2:]
	switch p.Kind {
	case "run":
		p.Words = rest
		if _, simple := commandWords(strings.Join(rest, " ")); len(rest) > 0 && !simple {
			return p, fmt.Errorf("%q is not the beginning of one command; write its first words, without quotes, pipes and the like", strings.Join(words, " "))
		}
	case "read", "edit", "delete", "move":
		if len(rest) > 1 {
			return p, fmt.Errorf("%q names more than one path; write a rule for each", strings.Join(words, " "))
		}
		if len(rest) == 1 {
			p.Path = path.Clean(rest[0])
			if _, err := path.Match(strings.TrimSuffix(p.Path, "/**"), ""); err != nil {
				return p, fmt.Errorf("%q is no path or pattern", rest[0])
			}
		}
	default:
		if len(rest) > 0 {
			return p, fmt.Errorf("%q takes nothing after it", strings.Join(words[:2], " "))
		}
	}
	return p, nil
}

// Permit is what the first rule that fits says; "" if none does. An allow of a command or a
// path fits only where people can see all that is asked for, and it covers that. An ask or a
// deny fits where it is about any of it, or where that cannot be told.
func Permit(rules []Permission, m May) Say {
	var runs func(p Permission) bool
	for _, p := range rules {
		switch {
		case p.Kind != "" && p.Kind != m.Kind:
		case len(p.Words) == 0 && p.Path == "":
			return p.Say
		case p.Say == SayAllow:
			if !m.Veiled && p.allows(m) {
				return p.Say
			}
		case p.Path != "":
			if slices.ContainsFunc(m.Paths, p.covers) {
				return p.Say
			}
		default:
			if runs == nil {
				runs = reads(m.Command)
			}
			if runs(p) {
				return p.Say
			}
		}
	}
	return ""
}

// allows reports whether a rule with words or a path covers all that is asked for.
func (p Permission) allows(m May) bool {
	if p.Path != "" {
		return len(m.Paths) > 0 && !slices.ContainsFunc(m.Paths, func(at string) bool { return !p.covers(at) })
	}
	words, simple := commandWords(m.Command)
	return simple && begins(words, p.Words)
}

// maxScript bounds the commands that are read, in bytes: they may nest.
const maxScript = 64 << 10

// reads reads a command, and returns whether it may run what a rule names.
func reads(command string) func(Permission) bool {
	if command == "" || len(command) > maxScript {
		return func(Permission) bool { return true }
	}
	said, all := shell.Said(command)
	if !all {
		return func(Permission) bool { return true }
	}
	return func(p Permission) bool {
		return slices.ContainsFunc(said, func(c shell.Call) bool { return mayBegin(c.Words, p.Words) }) ||
			slices.ContainsFunc(strings.FieldsFunc(command, separates), func(part string) bool { return begins(strings.Fields(part), p.Words) })
	}
}

// mayBegin reports whether a command may begin with words. Its name is known. What is not may be
// any words, or none.
func mayBegin(words []shell.Word, with []string) bool {
	for i, want := range with {
		switch {
		case i == len(words):
			return false
		case !words[i].Known:
			return true
		case words[i].Text != want && (i > 0 || path.Base(words[i].Text) != want):
			return false
		}
	}
	return true
}

func begins(words, with []string) bool {
	return len(words) >= len(with) && slices.Equal(words[:len(with)], with)
}

// covers reports whether a path is the rule's, or below it.
func (p Permission) covers(at string) bool {
	if dir, below := strings.CutSuffix(p.Path, "/**"); below {
		return at == dir || strings.HasPrefix(at, dir+"/")
	}
	if p.Path == "**" {
		return at != "" && !path.IsAbs(at) && at != ".." && !strings.HasPrefix(at, "../")
	}
	ok, err := path.Match(p.Path, at)
	return ok && err == nil
}

// separates reports a character between two commands of a script, or of one for another program
// in quotes.
func separates(r rune) bool { return strings.ContainsRune(";&|\n(){}`$\"'", r) }

// commandWords are the words of a command; false if a shell may make more of it than one
// command with these words.
func commandWords(s string) (words []string, simple bool) {
	return strings.Fields(s), !strings.ContainsAny(s, ";&|\n\r(){}`$<>\\!~#") && !strings.ContainsAny(s, `"'*?[]=`)
}

// Pattern names what a yes for a whole run is for: the same command, or the same kind of
// thing anywhere in the workspace; what lies outside of it, by its path. "" if a yes can only
// be for once.
func (m May) Pattern() string {
	const most = 1 << 10
	inside := Permission{Path: "**"}
	words := []string{m.Kind}
	switch {
	case m.Veiled:
		return ""
	case m.Kind == "run" && m.Command != "":
		words = append(words, m.Command)
	case m.Kind == "run", m.Kind == "other", m.Kind == "fetch", len(m.Paths) == 0:
		return ""
	case !slices.ContainsFunc(m.Paths, func(at string) bool { return !inside.covers(at) }):
		words = append(words, "**")
	default:
		for _, at := range m.Paths {
			if strings.ContainsAny(at, ` "`) {
				at = strconv.Quote(at)
			}
			words = append(words, at)
		}
	}
	if pattern := strings.Join(words, " "); len(pattern) <= most {
		return pattern
	}
	return ""
}
