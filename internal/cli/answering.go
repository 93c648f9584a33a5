package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// answering is the command that answers an item with one of choices.
func answering(item, schema string, choices []string) string {
	words := "piton answer " + item + " "
	if len(choices) != 1 || choices[0] != engine.ChooseAnswer {
		return words + chosen(choices)
	}
	if schema != "" {
		return words + "--args JSON"
	}
	return words + "--text TEXT"
}

// chosen are choices as a shell takes them.
func chosen(choices []string) string {
	words := make([]string, len(choices))
	for i, c := range choices {
		words[i] = shellWord(c)
	}
	return strings.Join(words, "|")
}

// shellWord is a word as a shell takes it.
func shellWord(s string) string {
	if strings.ContainsAny(s, " \t'\"`$&|;<>()*?[]#~!\\{}") {
		return quote(s)
	}
	return s
}

// ownWords refuses a choice where a person's own words or value are asked for,
// and says how they are given.
func ownWords(it engine.ItemRow, word string) error {
	how := answering(it.Item, it.Schema, it.Choices)
	if word == "" {
		return &misuse{text: fmt.Sprintf("item %s needs an answer", it.Item), hint: how}
	}
	asks, name := "a text", "TEXT"
	if it.Schema != "" {
		asks, name = "a value", "JSON"
	}
	hint := strings.TrimSuffix(how, name) + "'" + strings.ReplaceAll(meant(word, it.Schema), "'", `'\''`) + "'"
	return &misuse{text: fmt.Sprintf("item %s asks for %s, and %q is given as a choice", it.Item, asks, word), hint: hint}
}

// meant is a word as the text, or the value of a schema, that it stands for.
func meant(word, schema string) string {
	if schema == "" || json.Valid([]byte(word)) {
		return word
	}
	text, _ := json.Marshal(word) // a text always can
	return string(text)
}
