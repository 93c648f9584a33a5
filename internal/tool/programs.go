package tool

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// find weighs what find runs.
func (w *reading) find(args []word) {
	for i, a := range args {
		if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a.text) {
			inner := args[i+1:]
			if end := slices.IndexFunc(inner, func(a word) bool { return a.text == ";" || a.text == "+" }); end >= 0 {
				inner = inner[:end]
			}
			w.raise(Review, "runs a command for what it finds")
			w.run(braces(inner), fromHere, false)
		}
	}
}

// braces makes {} a word that is not known.
func braces(ws []word) []word {
	out := slices.Clone(ws)
	for i, a := range out {
		if strings.Contains(a.text, "{}") {
			out[i].known = false
		}
	}
	return out
}

// program weighs the programs of sed and awk, which can write and run.
func (w *reading) program(name string, args []word) {
	if name != "sed" && slices.ContainsFunc(args, func(a word) bool { return strings.HasPrefix(a.text, "--") && len(a.text) > 2 }) {
		w.raise(Approve, "%s is told more than a program", name)
	}
	texts := operands(args)
	if name == "sed" {
		texts = sedScripts(args)
	}
	for _, a := range texts {
		switch {
		case !a.known:
			w.raise(Approve, "what %s does is only known when it runs", name)
		case name == "sed" && sedWrites(a.text),
			name != "sed" && (strings.ContainsAny(a.text, "|>@") || strings.Contains(a.text, "system") || strings.Contains(a.text, "getline")):
			w.raise(Approve, "%s may write a file or run a command: %s", name, a.text)
		}
	}
}

// sedScripts are the arguments of sed that are scripts; all that may be, in doubt.
func sedScripts(args []word) []word {
	var scripts []word
	next := false
	for _, a := range args {
		_, long, ok := strings.Cut(a.text, "=")
		expression := hasFlag(a.text, "--expression")
		at := strings.IndexByte(a.text, 'e')
		switch {
		case next:
			scripts, next = append(scripts, a), false
		case expression && !ok:
			next = true
		case expression:
			scripts = append(scripts, word{text: long, known: a.known})
		case strings.HasPrefix(a.text, "--"), !strings.HasPrefix(a.text, "-"), at < 0:
		case at == len(a.text)-1:
			next = true
		default:
			scripts = append(scripts, word{text: a.text[at+1:], known: a.known})
		}
	}
	plain := operands(args)
	switch {
	case slices.ContainsFunc(args, func(a word) bool {
		return hasFlag(a.text, "-l") || strings.HasPrefix(a.text, "--") && !strings.Contains(a.text, "=") && a.text != "--"
	}):
		return append(scripts, plain...)
	case len(scripts) == 0 && len(plain) > 0:
		return plain[:1]
	}
	return scripts
}

// sedWrites reports a sed script that may hold the commands e, w or W, or the
// flags of that name: anything but addresses, s with flags, p, d, q and such.
func sedWrites(script string) bool {
	for line := range strings.SplitSeq(script, "\n") {
		rest := addressed(line)
		switch {
		case strings.Trim(rest, "pdqQnNDPhHgGxl=;0123456789,$!{} ") == "":
		case rest[0] == '#':
		case (rest[0] == 's' || rest[0] == 'y') && len(rest) > 2:
			parts := split(rest[2:], rest[1])
			if len(parts) != 3 || strings.Trim(parts[2], "gpiI0123456789 }") != "" {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// addressed takes the address off a command of sed, as far as it is a plain one.
func addressed(line string) string {
	for rest := strings.TrimLeft(line, "0123456789,$!{ \t+~"); ; rest = strings.TrimLeft(rest, "0123456789,$!{ \t+~I") {
		if !strings.HasPrefix(rest, "/") {
			return rest
		}
		parts := split(rest[1:], '/')
		if len(parts) < 2 {
			return rest
		}
		rest = rest[1+len(parts[0])+1:]
	}
}

// split cuts a text at a character that no backslash quotes.
func split(text string, at byte) []string {
	parts := []string{""}
	for i := 0; i < len(text); i++ {
		last := &parts[len(parts)-1]
		switch {
		case text[i] == at:
			parts = append(parts, "")
			continue
		case text[i] == '\\' && i+1 < len(text):
			*last += text[i : i+2]
			i++
			continue
		}
		*last += text[i : i+1]
	}
	return parts
}

// git weighs options before the verb and what goes where.
func (w *reading) git(args []word) {
	freed := func(r rule) bool { return r.custom && r.tier == Free && r.fits(normalized("git", args)) }
	w.elsewhere = w.elsewhere || !slices.ContainsFunc(w.rules.of("git"), freed)
	for _, a := range args[:len(args)-len(normalized("git", args))] {
		w.moved = w.moved || strings.HasPrefix(a.text, "-C")
		if a.text == "-c" || strings.HasPrefix(a.text, "-c") || strings.HasPrefix(a.text, "--exec-path=") || strings.HasPrefix(a.text, "--config-env") || strings.HasPrefix(a.text, "--git-dir") {
			w.raise(Approve, "changes how git works, which can run programs: %s", a.text)
		}
	}
	for _, a := range normalized("git", args) {
		if hasFlag(a.text, "--output") || hasFlag(a.text, "--ext-diff") || hasFlag(a.text, "--upload-pack") || hasFlag(a.text, "--receive-pack") || hasFlag(a.text, "--edit-description") {
			w.raise(Approve, "git may write a file or run a program: %s", a.text)
		}
	}
	rest := operands(normalized("git", args))
	if len(rest) > 1 && rest[0].text == "push" && slices.ContainsFunc(rest[1:], func(a word) bool { return strings.HasPrefix(a.text, "+") }) {
		w.raise(Block, "is never run: a push with + replaces what others have")
	}
	if len(rest) > 1 && slices.Contains([]string{"branch", "tag", "stash", "remote"}, rest[0].text) && w.tier == Free {
		w.raise(Review, "git %s", show(rest))
	}
}

// recursive reports commands that change everything below their operands.
func recursive(name string, args []word) bool {
	has := func(flags ...string) bool {
		return slices.ContainsFunc(args, func(a word) bool {
			return slices.ContainsFunc(flags, func(f string) bool { return hasFlag(a.text, f) })
		})
	}
	switch name {
	case "rm":
		return has("-r", "-R", "--recursive", "--no-preserve-root")
	case "chmod", "chown", "chgrp":
		return has("-R", "--recursive")
	case "mv", "shred":
		return true
	}
	return false
}

// wide blocks what would ruin the machine or all that the person has.
func (w *reading) wide(name string, args []word) {
	for _, a := range operands(args) {
		text := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(a.text, "/"), "*"), "/")
		rooted := strings.HasPrefix(a.text, "/")
		switch {
		case rooted && (text == "" || path.Clean(text) == "/"), text == home, text == filepath.ToSlash(w.room.dir):
			w.raise(Block, "%s of %s, all that is below", name, a.text)
		case rooted && w.leaves(text) && systemPath(text):
			w.raise(Block, "%s of %s, which belongs to the system", name, a.text)
		case strings.HasPrefix(a.text, home) && strings.Count(text, "/") <= 1:
			w.raise(Block, "%s of %s, in the home directory", name, a.text)
		case path.Clean(text) == ".." || strings.HasSuffix(path.Clean(text), "/.."):
			w.raise(Block, "%s of %s, above the workspace", name, a.text)
		}
	}
}

// systemPath reports directories that the machine needs.
func systemPath(name string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(path.Clean(name), "/"), "/")
	if top == "tmp" || strings.HasPrefix(path.Clean(name), "/var/tmp") || strings.HasPrefix(path.Clean(name), "/dev/shm/") {
		return false
	}
	return strings.HasPrefix(name, "/") && slices.Contains(strings.Fields("bin boot dev etc lib lib32 lib64 proc root run sbin sys usr var opt System Library Applications home Users"), top) &&
		(top != "home" && top != "Users" && top != "root" && top != "var" && top != "opt" || strings.Count(path.Clean(name), "/") <= 2)
}

func (w *reading) disk(args []word) {
	for _, a := range args {
		if to, ok := strings.CutPrefix(a.text, "of="); ok {
			w.output(word{text: to, known: a.known})
		}
	}
}
