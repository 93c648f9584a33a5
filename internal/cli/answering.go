package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// ownWords refuses a choice where a person's own words or value are asked for,
// and says how they are given.
func ownWords(it engine.ItemRow, word string) error {
	how := view.Answering(it.Item, it.Schema, engine.ChooseAnswer)
	if word == "" {
		return misuse(fmt.Sprintf("item %s needs an answer", it.Item), how)
	}
	asks, name := "a text", "TEXT"
	if it.Schema != "" {
		asks, name = "a value", "JSON"
	}
	hint := strings.TrimSuffix(how, name) + "'" + strings.ReplaceAll(meant(word, it.Schema), "'", `'\''`) + "'"
	return misuse(fmt.Sprintf("item %s asks for %s, and %q is given as a choice", it.Item, asks, word), hint)
}

// meant is a word as the text, or the value of a schema, that it stands for.
func meant(word, schema string) string {
	if schema == "" || json.Valid([]byte(word)) {
		return word
	}
	text, _ := json.Marshal(word) // a text always can
	return string(text)
}
