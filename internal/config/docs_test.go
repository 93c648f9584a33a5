package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestDocs wants a row of docs/config.md for each key, with its
// values and its default, and no row more.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	want := rowsOf(reflect.TypeFor[Config](), "")
	for _, row := range want {
		if !strings.Contains(string(page), "\n"+row) {
			t.Errorf("docs/config.md has no row that begins with %s", row)
		}
	}
	if got := strings.Count(string(page), "\n| `"); got != len(want) {
		t.Errorf("docs/config.md has %d rows, and there are %d keys", got, len(want))
	}
}

// rowsOf are the beginnings of the rows of a type's keys.
func rowsOf(t reflect.Type, path string) (rows []string) {
	for f := range t.Fields() {
		key, named := f.Tag.Lookup("key")
		if !named {
			continue
		}
		inner, at := f.Type, path+key
		if inner.Kind() == reflect.Map && inner.Elem().Kind() == reflect.Struct {
			inner, at = inner.Elem(), at+".NAME"
		}
		if inner.Kind() == reflect.Struct {
			rows = append(rows, rowsOf(inner, at+".")...)
			continue
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", at, valuesOf(f), f.Tag.Get("default")))
	}
	return rows
}

func valuesOf(f reflect.StructField) string {
	switch words := f.Tag.Get("words"); {
	case words != "":
		return strings.ReplaceAll(words, "|", ", ")
	case f.Tag.Get("min") != "":
		return f.Tag.Get("min") + " to " + f.Tag.Get("max")
	case f.Type == reflect.TypeFor[time.Duration]():
		return "duration"
	case f.Type == reflect.TypeFor[USD]():
		return "dollars"
	case f.Type.Kind() == reflect.Slice:
		return "list"
	case f.Type.Kind() == reflect.Map:
		return "map"
	}
	return "text"
}
