package plan_test

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/plan"
)

// dumper writes a tree as text, one line a leaf, leaving out what is zero.
type dumper struct {
	places bool
	skip   map[string]bool // fields that are not part of the tree
	out    strings.Builder
}

// dump is the tree of a plan with the places of its values.
func dump(p *plan.Plan) string {
	d := dumper{places: true, skip: map[string]bool{"Source": true, "Start": true, "End": true, "Raw": true, "Labels": true}}
	d.value("plan", reflect.ValueOf(p).Elem(), "")
	return d.out.String()
}

// tree is the plan without places: what Format must keep. Unread labels are
// part of it by their text.
func tree(p *plan.Plan, more ...string) string {
	d := dumper{skip: map[string]bool{"Source": true, "Start": true, "End": true, "Pos": true, "Raw": true, "Labels": true}}
	for _, name := range more {
		d.skip[name] = true
	}
	d.value("plan", reflect.ValueOf(p).Elem(), "")
	unread := func(where string, labels []plan.Label) {
		for _, l := range labels {
			if !l.Read && !d.skip["Unread"] {
				fmt.Fprintf(&d.out, "%s unread %s %q\n", where, l.Name, l.Raw)
			}
		}
	}
	unread("header", p.Labels)
	for i, s := range p.Steps {
		unread(fmt.Sprint("step ", i), s.Labels)
	}
	return d.out.String()
}

func (d *dumper) value(name string, v reflect.Value, indent string) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		d.fields(name, v, indent)
	case reflect.Slice:
		for i := range v.Len() {
			d.value(fmt.Sprintf("%s[%d]", name, i), v.Index(i), indent)
		}
	default:
		fmt.Fprintf(&d.out, "%s%s: %s\n", indent, name, leaf(v))
	}
}

func leaf(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case string:
		return fmt.Sprintf("%q", x)
	case time.Duration:
		return x.String()
	default:
		return fmt.Sprintf("%v", x)
	}
}

func (d *dumper) fields(name string, v reflect.Value, indent string) {
	if pos, ok := v.Interface().(plan.Pos); ok {
		if d.places && pos.IsValid() {
			fmt.Fprintf(&d.out, "%s%s: %d:%d\n", indent, name, pos.Line, pos.Column)
		}
		return
	}
	at := ""
	if f := v.FieldByName("Pos"); f.IsValid() && d.places {
		if pos, ok := f.Interface().(plan.Pos); ok && pos.IsValid() {
			at = fmt.Sprintf(" @%d:%d", pos.Line, pos.Column)
		}
	}
	set := v.FieldByName("Set")
	switch value := v.FieldByName("Value"); {
	case set.IsValid() && !set.Bool():
		return
	case set.IsValid() && value.Kind() == reflect.Slice && value.Len() == 0:
		fmt.Fprintf(&d.out, "%s%s: none%s\n", indent, name, at)
		return
	case set.IsValid() && value.Kind() != reflect.Struct && value.Kind() != reflect.Slice:
		fmt.Fprintf(&d.out, "%s%s: %s%s\n", indent, name, leaf(value), at)
		return
	case set.IsValid() && value.Kind() == reflect.Struct:
		fmt.Fprintf(&d.out, "%s%s%s\n", indent, name, at)
		for i := range value.NumField() {
			d.value(value.Type().Field(i).Name, value.Field(i), indent+"  ")
		}
		return
	case set.IsValid():
		d.value(name, value, indent)
		return
	}
	if t, ok := v.Interface().(plan.Text); ok {
		if t.Fenced && !d.skip["Fenced"] {
			at = fmt.Sprintf(" fenced %q%s", t.Lang, at)
		}
		if !t.IsZero() {
			fmt.Fprintf(&d.out, "%s%s: %q%s\n", indent, name, t.Value, at)
		}
		return
	}
	fmt.Fprintf(&d.out, "%s%s%s\n", indent, name, at)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.IsExported() && f.Name != "Pos" && !d.skip[f.Name] && !v.Field(i).IsZero() {
			d.value(f.Name, v.Field(i), indent+"  ")
		}
	}
}

// places returns every place in a tree.
func places(v reflect.Value) []plan.Pos {
	var out []plan.Pos
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out = places(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			out = append(out, places(v.Index(i))...)
		}
	case reflect.Struct:
		switch x := v.Interface().(type) {
		case plan.Pos:
			return []plan.Pos{x}
		case plan.Text:
			return append(out, x.Pos, x.At(len(x.Value)))
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out = append(out, places(v.Field(i))...)
			}
		}
	}
	return out
}

func list(problems []plan.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%d:%d: %s: %s: %s", p.Pos.Line, p.Pos.Column, p.Severity, p.Code, p.Message)
		if p.Hint != "" {
			fmt.Fprintf(&b, " (%s)", p.Hint)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
