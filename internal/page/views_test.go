package page

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// shown are the values that templates show by their names.
var shown = []any{
	Waiting{}, Home{}, Inbox{}, Confirm{}, Problem{}, Trouble{}, Run{}, RunHead{}, Orders{}, Asks{}, Meters{}, Graph{}, Timeline{}, Axis{}, TimeRows{}, TimeRow{}, Panel{}, StepRow{}, Log{}, LogLines{}, LogLine{}, Review{}, Errand{}, New{}, Find{}, Step{}, Attempts{}, Files{}, Retro{}, Revisions{}, Words{},
}

// nasty is a text that an agent might print.
const nasty = "\x1b[31m\x1b]8;;http://evil\x07<script>alert(1)</script>\"'`<!--\u202e\x00{{.}}"

// filled makes a value of which nothing is empty.
func filled(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(nasty)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				filled(v.Field(i), depth)
			}
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			filled(v.Index(0), depth-1)
			filled(v.Index(1), depth-1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), depth)
	case reflect.Interface:
		v.Set(reflect.ValueOf(Problem{nasty, nasty}))
	}
}

// inline is what the content security policy forbids.
var inline = regexp.MustCompile(`(?i)<script>|<style|\sstyle=|\son[a-z]+=|javascript:`)

// Every template is executed with a full value and with an empty one. What comes is well formed,
// has nothing inline, and has no text of others as markup or as an escape sequence.
func TestViews(t *testing.T) {
	s := workspace(t, nil)
	for _, v := range append(shown, sheet{Body: Problem{}}) {
		full := reflect.New(reflect.TypeOf(v)).Elem()
		filled(full, 3)
		for _, value := range []any{v, full.Interface()} {
			name := full.Type().Name()
			html, err := s.show(value)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if strings.ContainsAny(string(html), "\x1b\x07\x00\u202e") || inline.MatchString(string(html)) {
				t.Errorf("%s: %q", name, inline.FindString(string(html)))
			}
			if err := parses(string(html)); err != nil {
				t.Errorf("%s: %v in\n%s", name, err, html)
			}
		}
	}
}

// parses reports what is not well formed.
func parses(html string) error {
	ids := map[string]bool{}
	d := xml.NewDecoder(strings.NewReader("<all>" + html + "</all>"))
	d.Entity = xml.HTMLEntity
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if start, ok := token.(xml.StartElement); ok {
			for _, a := range start.Attr {
				if a.Name.Local == "id" && !strings.Contains(a.Value, "alert") && ids[a.Value] {
					return errors.New("two elements have the id " + a.Value)
				}
				ids[a.Value] = ids[a.Value] || a.Name.Local == "id"
			}
		}
	}
}

// Each type that is shown has a template, and each template of a component is executed.
func TestEveryViewIsShown(t *testing.T) {
	s := workspace(t, nil)
	used := map[string]bool{"sheet": true}
	for _, v := range shown {
		used[reflect.TypeOf(v).Name()] = true
	}
	for _, v := range s.views.Templates() {
		if v.Tree == nil {
			continue
		}
		for _, m := range regexp.MustCompile(`\{\{template "(\w+)"`).FindAllStringSubmatch(v.Tree.Root.String(), -1) {
			used[m[1]] = true
		}
	}
	for _, v := range s.views.Templates() {
		if name := v.Name(); name != "" && !strings.HasSuffix(name, ".html") && !used[name] {
			t.Errorf("nothing shows the template %s", name)
		}
	}
}

// Each class of the style sheet is one that a page can have.
func TestEveryClassIsUsed(t *testing.T) {
	t.Parallel()
	var sources strings.Builder
	for _, pattern := range []string{"*.go", "views/*.html", "static/[kp]*.js"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, words := range regexp.MustCompile(`"[^"\n]*"`).FindAllString(string(body), -1) {
				sources.WriteString(words)
			}
		}
	}
	css, err := static.ReadFile("static/app.css")
	if err != nil {
		t.Fatal(err)
	}
	sheet := regexp.MustCompile(`\{[^{}]*\}`).ReplaceAllString(string(css), "")
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`\.([a-z][\w-]*)`).FindAllStringSubmatch(sheet, -1) {
		name := strings.TrimPrefix(m[1], "t-") // tones are put behind it
		if seen[name] {
			continue
		}
		seen[name] = true
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(sources.String()) {
			t.Errorf("no page has the class %s", m[1])
		}
	}
}
