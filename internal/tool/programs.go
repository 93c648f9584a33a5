package tool

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/shell"
)

// find weighs what find runs.
func (w *reading) find(args []shell.Word) {
	for i, a := range args {
		if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a.Text) {
			w.raise(Review, "runs a command for what it finds")
			w.run(shell.Executed(args[i+1:]), fromHere, false)
		}
	}
}

// program weighs the programs of sed and awk, which can write and run.
func (w *reading) program(name string, args []shell.Word) {
	if name != "sed" && slices.ContainsFunc(args, func(a shell.Word) bool { return strings.HasPrefix(a.Text, "--") && len(a.Text) > 2 }) {
		w.raise(Approve, "%s is told more than a program", name)
	}
	texts := operands(args)
	if name == "sed" {
		texts = sedScripts(args)
	}
	for _, a := range texts {
		switch {
		case !a.Known:
			w.raise(Approve, "what %s does is only known when it runs", name)
		case name == "sed" && sedWrites(a.Text),
			name != "sed" && (strings.ContainsAny(a.Text, "|>@") || strings.Contains(a.Text, "system") || strings.Contains(a.Text, "getline")):
			w.raise(Approve, "%s may write a file or run a command: %s", name, a.Text)
		}
	}
}

// sedScripts are the arguments of sed that are scripts; all that may be, in doubt.
func sedScripts(args []shell.Word) []shell.Word {
	var scripts []shell.Word
	next := false
	for _, a := range args {
		_, long, ok := strings.Cut(a.Text, "=")
		expression := hasFlag(a.Text, "--expression")
		at := strings.IndexByte(a.Text, 'e')
		switch {
		case next:
			scripts, next = append(scripts, a), false
		case expression && !ok:
			next = true
		case expression:
			scripts = append(scripts, shell.Word{Text: long, Known: a.Known})
		case strings.HasPrefix(a.Text, "--"), !strings.HasPrefix(a.Text, "-"), at < 0:
		case at == len(a.Text)-1:
			next = true
		default:
			scripts = append(scripts, shell.Word{Text: a.Text[at+1:], Known: a.Known})
		}
	}
	plain := operands(args)
	switch {
	case slices.ContainsFunc(args, func(a shell.Word) bool {
		return hasFlag(a.Text, "-l") || strings.HasPrefix(a.Text, "--") && !strings.Contains(a.Text, "=") && a.Text != "--"
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
func (w *reading) git(args []shell.Word) {
	freed := func(r rule) bool { return r.custom && r.tier == Free && r.fits(normalized("git", args)) }
	w.elsewhere = w.elsewhere || !slices.ContainsFunc(w.rules.of("git"), freed)
	for _, a := range args[:len(args)-len(normalized("git", args))] {
		w.moved = w.moved || strings.HasPrefix(a.Text, "-C")
		if a.Text == "-c" || strings.HasPrefix(a.Text, "-c") || strings.HasPrefix(a.Text, "--exec-path=") || strings.HasPrefix(a.Text, "--config-env") || strings.HasPrefix(a.Text, "--git-dir") {
			w.raise(Approve, "changes how git works, which can run programs: %s", a.Text)
		}
	}
	for _, a := range normalized("git", args) {
		if hasFlag(a.Text, "--output") || hasFlag(a.Text, "--ext-diff") || hasFlag(a.Text, "--upload-pack") || hasFlag(a.Text, "--receive-pack") || hasFlag(a.Text, "--edit-description") {
			w.raise(Approve, "git may write a file or run a program: %s", a.Text)
		}
	}
	rest := operands(normalized("git", args))
	if len(rest) > 1 && rest[0].Text == "push" && slices.ContainsFunc(rest[1:], func(a shell.Word) bool { return strings.HasPrefix(a.Text, "+") }) {
		w.raise(Block, "is never run: a push with + replaces what others have")
	}
	if len(rest) > 1 && slices.Contains([]string{"branch", "tag", "stash", "remote"}, rest[0].Text) && w.tier == Free {
		w.raise(Review, "git %s", show(rest))
	}
}

// recursive reports commands that change everything below their operands.
func recursive(name string, args []shell.Word) bool {
	has := func(flags ...string) bool {
		return slices.ContainsFunc(args, func(a shell.Word) bool {
			return slices.ContainsFunc(flags, func(f string) bool { return hasFlag(a.Text, f) })
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
func (w *reading) wide(name string, args []shell.Word) {
	for _, a := range operands(args) {
		text := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(a.Text, "/"), "*"), "/")
		rooted := strings.HasPrefix(a.Text, "/")
		switch {
		case rooted && (text == "" || path.Clean(text) == "/"), text == shell.Home, text == filepath.ToSlash(w.room.dir):
			w.raise(Block, "%s of %s, all that is below", name, a.Text)
		case rooted && w.leaves(text) && systemPath(text):
			w.raise(Block, "%s of %s, which belongs to the system", name, a.Text)
		case strings.HasPrefix(a.Text, shell.Home) && strings.Count(text, "/") <= 1:
			w.raise(Block, "%s of %s, in the home directory", name, a.Text)
		case path.Clean(text) == ".." || strings.HasSuffix(path.Clean(text), "/.."):
			w.raise(Block, "%s of %s, above the workspace", name, a.Text)
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

func (w *reading) disk(args []shell.Word) {
	for _, a := range args {
		if to, ok := strings.CutPrefix(a.Text, "of="); ok {
			w.output(shell.Word{Text: to, Known: a.Known})
		}
	}
}
