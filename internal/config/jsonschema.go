package config

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Schema returns the JSON Schema (2020-12) of a configuration file, for editors
// and programs. It follows from the declarations of [Config]. It accepts every
// file that is read without a problem; what one setting means for another, and
// what a file hides from its reader, it cannot judge.
func Schema() []byte {
	root := groupSchema(reflect.TypeFor[Config]())
	root["$schema"], root["title"] = "https://json-schema.org/draft/2020-12/schema", "Piton configuration"
	text, _ := json.MarshalIndent(root, "", "  ") // words, numbers and lists of them can always be written
	return append(text, '\n')
}

type object = map[string]any

// valueSchema is the schema of what [decoder.value] reads.
func valueSchema(t reflect.Type, tag reflect.StructTag) object {
	switch {
	case isScalar(t):
		return scalarSchema(t, tag)
	case t.Kind() == reflect.Slice:
		return object{"type": "array", "maxItems": maxEntries, "items": wordSchema(tag.Get("items"))}
	case t.Kind() == reflect.Map:
		return object{
			"type": []string{"object", "null"}, "maxProperties": maxEntries,
			"propertyNames": nameSchema(tag.Get("names")), "additionalProperties": valueSchema(t.Elem(), ""),
		}
	}
	return groupSchema(t)
}

func groupSchema(t reflect.Type) object {
	properties := object{}
	for _, s := range settings(t) {
		f := t.Field(s.index)
		one := valueSchema(f.Type, s.tag)
		if s.tag.Get("default") != "" {
			one["default"] = defaultOf(f.Type, s.tag)
		}
		properties[s.key] = one
	}
	return object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

// defaultOf is the default as a file would have it.
func defaultOf(t reflect.Type, tag reflect.StructTag) any {
	if n, err := strconv.Atoi(tag.Get("default")); err == nil && t.Kind() == reflect.Int {
		return n
	}
	return tag.Get("default")
}

// scalarSchema takes quotes for what they are to [setScalar]: nothing.
func scalarSchema(t reflect.Type, tag reflect.StructTag) object {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return either(object{"const": 0}, object{"type": "string", "pattern": durationPattern})
	case reflect.TypeFor[USD]():
		return either(object{"type": "number", "minimum": 0, "exclusiveMaximum": maxDollars + 1},
			object{"type": "string", "pattern": `^\$?[0-9]+(\.[0-9]{0,6})?$`})
	}
	if t.Kind() == reflect.Int {
		low, _ := strconv.Atoi(tag.Get("min"))
		high, _ := strconv.Atoi(tag.Get("max"))
		return either(object{"type": "integer", "minimum": low, "maximum": high}, object{"type": "string", "pattern": `^\+?[0-9]+$`})
	}
	if words := tag.Get("words"); words != "" {
		return object{"enum": slices.Collect(strings.SplitSeq(words, "|"))}
	}
	return wordSchema("")
}

// durationPattern is what [parseDuration] reads.
const durationPattern = `^([+-]?0|\+?[0-9]+d|\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`

// wordSchema is text, whatever else YAML takes it for: on, 010 and 1_000 are words.
func wordSchema(rule string) object {
	if rule == "env" {
		return nameSchema(rule)
	}
	return object{"type": []string{"string", "number", "boolean"}}
}

// nameSchema is the schema of [goodName].
func nameSchema(rule string) object {
	switch rule {
	case "any":
		return object{"type": "string", "minLength": 1}
	case "env":
		return object{"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}
	}
	return object{"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"}
}

func either(schemas ...object) object { return object{"anyOf": schemas} }
