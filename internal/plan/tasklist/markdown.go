package tasklist

import (
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
)

// markdown reads any text with a list of tasks: the list is in order, and what is
// indented under a task are its parts.
func (l *list) markdown(text string) {
	o := l.outlined(text)
	l.title = o.title
	l.context, l.notes = parted(o)
	l.items(o, "", nil)
}

// outlined is the outline of a text, of which the frontmatter and comments are lost.
func (l *list) outlined(text string) outline {
	front, body := frontmatter(text)
	if front != "" {
		l.lose("", "frontmatter", noPlace)
	}
	o := outlineOf(body)
	l.comments(o)
	return o
}

// parted parts the rest of a text: what stands before the tasks is for who does them.
func parted(o outline) (context, notes string) {
	notes = strings.TrimSpace(strings.TrimPrefix(o.rest, o.opening))
	context = o.opening
	for {
		at := strings.LastIndexByte(context, '\n') + 1
		if !heading().MatchString(context[at:]) {
			return context, notes
		}
		context = strings.TrimRight(context[:at], blank) // the heading of the tasks, which each of them names
	}
}

func (l *list) comments(o outline) {
	if o.hidden > 0 {
		l.lose("", "comments", strconv.Itoa(o.hidden)+" that a reader of the page does not see were dropped")
	}
}

// items adds the tasks of an outline, each after the one before it of the same parent;
// the first ones are parts of a task, and need what it is given.
func (l *list) items(o outline, parent string, said []string) {
	last := map[int]string{}
	for i, it := range o.items {
		t := task{id: numbered(parent, i), title: it.text, body: it.body, parent: parent}
		if it.parent >= 0 {
			t.parent = numbered(parent, it.parent)
		}
		if before := last[it.parent]; before != "" {
			t.needs = []string{before}
		}
		last[it.parent] = t.id
		if it.under != "" && it.under != o.title {
			t.said = append(t.said, "under "+it.under)
		}
		if it.checked {
			t.said = append(t.said, "ticked there")
		}
		t.said = append(t.said, said...)
		l.add(t)
	}
}

func numbered(parent string, i int) string {
	if parent != "" {
		parent += "."
	}
	return parent + strconv.Itoa(i+1)
}

var (
	// specID begins a task of Spec Kit.
	specID = lazy.Regexp(`^(?:\*\*)?(T[0-9]{2,6}[a-z]?)\b(?:\*\*)?:?[ \t]*`)
	// specMark is a mark behind the id: [P], or the story.
	specMark = lazy.Regexp(`^\[([A-Za-z0-9 .-]{1,24})\][ \t]*`)
	// specNeeds names tasks that come before, as in "(depends on T012, T013)".
	specNeeds = lazy.Regexp(`(?i)\b(?:depends|blocked|after|requires)(?: on| by)?:? ((?:T[0-9]{2,6}[a-z]?(?:, and |, | and | & |–|-)?)+)`)
	specRef   = lazy.Regexp(`T[0-9]{2,6}[a-z]?`)
)

// specKit reads tasks.md: tasks follow each other, and those in a row that are marked [P]
// may go beside each other.
func (l *list) specKit(text string) {
	o := l.outlined(text)
	l.title, l.named, l.notes = strings.TrimSpace(strings.TrimPrefix(o.title, "Tasks:")), true, o.rest
	var layer, before []string // ids that go beside each other, and those before them
	beside, under := false, ""
	for i, it := range o.items {
		t, p := l.specTask(i, it)
		if !p || !beside || it.under != under || len(layer)*len(before) > maxInherited/10 {
			before, layer = layer, nil
		}
		beside, under = p, it.under
		t.needs = append(t.needs, before...)
		layer = append(layer, t.id)
		l.add(t)
	}
}

// specTask reads one line, and whether it is marked [P].
func (l *list) specTask(i int, it item) (t task, beside bool) {
	t = task{id: "line " + strconv.Itoa(i+1), title: it.text, body: it.body}
	if m := specID().FindStringSubmatch(t.title); m != nil {
		t.id, t.title = m[1], t.title[len(m[0]):]
	}
	if it.under != "" {
		t.said = append(t.said, "under "+it.under)
	}
	for m := specMark().FindStringSubmatch(t.title); m != nil; m = specMark().FindStringSubmatch(t.title) {
		t.title = t.title[len(m[0]):]
		if m[1] == "P" {
			beside = true
			continue
		}
		t.said = append(t.said, "story "+m[1])
	}
	if it.checked {
		t.said = append(t.said, "ticked there")
	}
	for _, m := range specNeeds().FindAllStringSubmatch(it.text, -1) {
		t.needs = append(t.needs, specRef().FindAllString(m[1], -1)...)
	}
	return t, beside
}
