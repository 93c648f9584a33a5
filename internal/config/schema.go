package config

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// setting is one field of the configuration's types, as its tags declare it.
type setting struct {
	key   string
	index int
	tag   reflect.StructTag
}

// settings lists the fields of a struct type that have a key.
func settings(t reflect.Type) []setting {
	var list []setting
	for i := range t.NumField() {
		f := t.Field(i)
		if key, ok := f.Tag.Lookup("key"); ok {
			list = append(list, setting{key, i, f.Tag})
		}
	}
	return list
}

func keys(list []setting) []string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.key
	}
	return names
}

// isScalar reports whether a value of the type is one word of text.
func isScalar(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[USD](), reflect.TypeFor[time.Duration]():
		return true
	}
	return t.Kind() == reflect.String || t.Kind() == reflect.Int
}

// setDefaults fills the scalars of a struct, and of the structs in it, from
// their tags. The tags are checked by a test.
func setDefaults(v reflect.Value) {
	for _, s := range settings(v.Type()) {
		f := v.Field(s.index)
		switch {
		case f.Kind() == reflect.Struct && !isScalar(f.Type()):
			setDefaults(f)
		case s.tag.Get("default") != "":
			_ = setScalar(f, s.tag.Get("default"), s.tag)
		}
	}
}

// scalars calls visit for every scalar below v that has a fixed path: none
// inside a map of named entries.
func scalars(v reflect.Value, path string, visit func(path string, v reflect.Value, tag reflect.StructTag)) {
	for _, s := range settings(v.Type()) {
		f, p := v.Field(s.index), join(path, s.key)
		switch {
		case isScalar(f.Type()):
			visit(p, f, s.tag)
		case f.Kind() == reflect.Struct:
			scalars(f, p, visit)
		}
	}
}

// join appends a key to a dotted path; a key that is no plain word is quoted.
func join(path, key string) string {
	if strings.Trim(key, letters+"0123456789_-") != "" || key == "" {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func envName(path string) string {
	return "PITON_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// goodName reports whether a name of a map's entry fits the rule that the
// map's tag names: words for what plans refer to, variables, or anything.
func goodName(rule, name string) bool {
	switch rule {
	case "any":
		return name != ""
	case "env":
		return isEnvName(name)
	}
	return isWord(name)
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// isWord reports a name that plans and dotted paths can hold.
func isWord(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsAny(name[:1], "-_") &&
		strings.Trim(name, letters+"0123456789_-") == ""
}

func isEnvName(name string) bool {
	return name != "" && !strings.ContainsAny(name[:1], "0123456789") &&
		strings.Trim(name, letters+"0123456789_") == ""
}
