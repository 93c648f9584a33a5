package tool

import (
	_ "embed" // for the table of commands
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/shell"
)

// Tiers add to the built-in table of commands. An entry is the name of a command,
// which may have * and ?, and words that must follow: those with a dash anywhere,
// the others first and in their order (`git push --force`). Of the entries that
// fit a command the one with the most words decides; between equals one of these
// lists, and then the higher tier. What ruins a machine, leaves the workspace or
// runs what it fetched is judged besides, and no entry changes that.
type Tiers struct {
	Free, Review, Approve, Block []string
}

// rule is one entry of a table.
type rule struct {
	name   string
	flags  []string
	words  []string
	tier   Tier
	custom bool

	options string // of a free command: the harmless ones, where others are not
}

// rules are the entries for each plain name, and under "" those with a pattern.
type rules map[string][]rule

func (rs rules) add(tier Tier, entries []string, custom bool) error {
	for _, entry := range entries {
		fields := strings.Fields(entry)
		if len(fields) == 0 {
			return fmt.Errorf("commands.%s has an empty entry", tier)
		}
		r := rule{name: fields[0], tier: tier, custom: custom}
		for _, f := range fields[1:] {
			if strings.HasPrefix(f, "-") && f != "-" {
				r.flags = append(r.flags, f)
			} else {
				r.words = append(r.words, f)
			}
		}
		key := r.name
		if strings.ContainsAny(key, "*?") {
			key = ""
			if _, err := path.Match(r.name, ""); err != nil {
				return fmt.Errorf("commands.%s: %q is no pattern", tier, entry)
			}
		}
		rs[key] = append(rs[key], r)
	}
	return nil
}

// builtinTiers is the table of commands.
//
//go:embed tiers_builtin.txt
var builtinTiers string

// builtinRules reads the table. A command that it does not name needs a yes.
func builtinRules() (rules, error) {
	rs, options, section := rules{}, map[string]string{}, ""
	for line := range strings.Lines(builtinTiers) {
		line = strings.TrimSpace(line)
		name, list, isOption := strings.Cut(line, " = ")
		switch {
		case line == "" || line[0] == '#':
		case isOption:
			options[name] = list
		case strings.HasSuffix(line, ":"):
			section = strings.TrimSuffix(line, ":")
		default:
			entries := strings.FieldsFunc(line, func(r rune) bool { return r == ',' })
			if err := rs.add(Tier(section), entries, false); err != nil {
				return nil, err
			}
		}
	}
	for name, list := range rs {
		for i, r := range list {
			rs[name][i].options = options[strings.Join(append([]string{r.name}, r.words...), " ")]
		}
	}
	return rs, nil
}

// of lists the rules that may be about a command.
func (rs rules) of(name string) []rule {
	list := rs[name]
	for _, r := range rs[""] {
		if ok, _ := path.Match(r.name, name); ok {
			list = append(list[:len(list):len(list)], r)
		}
	}
	return list
}

// outranks reports whether a rule says more about a command than another.
func (r rule) outranks(other rule) bool {
	if a, b := len(r.flags)+len(r.words), len(other.flags)+len(other.words); a != b {
		return a > b
	}
	if r.custom != other.custom {
		return r.custom
	}
	return r.tier.Above(other.tier)
}

// fits reports whether all of a rule stands in the arguments. What only prints a
// version does so alone: behind a file it is an argument of the program there.
func (r rule) fits(args []shell.Word) bool {
	plain := operands(args)
	if len(plain) < len(r.words) {
		return false
	}
	for i, w := range r.words {
		if ok, err := path.Match(w, plain[i].Text); !ok || err != nil {
			return false
		}
	}
	for _, f := range r.flags {
		if !slices.ContainsFunc(args, func(a shell.Word) bool { return r.has(a.Text, f) }) {
			return false
		}
	}
	return r.custom || r.tier != Free || len(args) == 1 || !slices.Contains(r.flags, "--version")
}

// has reports whether an argument is a flag of the rule. Nothing is free for a
// beginning, or a cluster of letters, that could mean another flag.
func (r rule) has(arg, flag string) bool {
	if r.tier == Free {
		return arg == flag || strings.HasPrefix(arg, flag+"=")
	}
	return hasFlag(arg, flag)
}

// operands are the arguments that do not begin with a dash.
func operands(args []shell.Word) []shell.Word {
	var list []shell.Word
	for i, a := range args {
		if a.Text == "--" {
			return append(list, args[i+1:]...)
		}
		if !strings.HasPrefix(a.Text, "-") || a.Text == "-" {
			list = append(list, a)
		}
	}
	return list
}

// hasFlag reports whether an argument is a flag: -f also in -rf and -ffile,
// --force also as --force=x and as any beginning, which programs take for it, and
// -exec also as --exec, which are one to programs written in Go.
func hasFlag(arg, flag string) bool {
	if arg == flag || strings.HasPrefix(arg, flag+"=") {
		return true
	}
	if long, ok := strings.CutPrefix(flag, "--"); ok {
		given, _, _ := strings.Cut(arg, "=")
		given, ok := strings.CutPrefix(given, "--")
		return ok && given != "" && strings.HasPrefix(long, given)
	}
	if strings.HasPrefix(arg, "--") {
		return arg[1:] == flag || strings.HasPrefix(arg[1:], flag+"=")
	}
	return len(flag) == 2 && len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.IndexByte(arg, flag[1]) > 0
}

// weigh looks a command up. Words that are not known from the text may be any.
func (rs rules) weigh(name string, args []shell.Word) (Tier, bool) {
	var best *rule
	list := rs.of(name)
	for i, r := range list {
		if r.fits(args) && (best == nil || r.outranks(*best)) {
			best = &list[i]
		}
	}
	if best == nil {
		return Approve, false
	}
	tier := best.tier
	if tier == Free && !best.harmless(args) {
		return Approve, true
	}
	if slices.ContainsFunc(args, func(w shell.Word) bool { return !w.Known }) {
		for _, r := range list {
			if r.tier.Above(tier) && r.outranks(*best) {
				tier = r.tier
			}
		}
		if tier == Block && best.tier != Block {
			tier = Approve
		}
	}
	return tier, true
}

// harmless reports whether a free command has no option but those that are known
// to be harmless, each written out and alone.
func (r rule) harmless(args []shell.Word) bool {
	if r.options == "" || r.custom {
		return true
	}
	known := strings.Fields(r.options)
	return !slices.ContainsFunc(args, func(a shell.Word) bool {
		name, _, _ := strings.Cut(a.Text, "=")
		listed := slices.ContainsFunc(known, func(option string) bool {
			flag, valued := strings.CutSuffix(option, ":")
			return name == flag || valued && r.name != "go" && strings.HasPrefix(a.Text, flag)
		})
		return !a.Known || strings.HasPrefix(a.Text, "-") && !listed && a.Text != "--"
	})
}
