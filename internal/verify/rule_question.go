package verify

import (
	"fmt"

	"github.com/piton-dev/piton/internal/engine"
)

func ruleQuestion() Rule {
	return Rule{
		ID: "PT062", Name: "question", Severity: Error,
		Title: "a question that cannot be put, or a schema that cannot be checked",
		Text: "A step with `ask:` is answered by a person, and nothing else decides it: the answer is one of its " +
			"choices, a text, or a value that fits its `schema:`. So it has choices or a schema and not both, each " +
			"choice once, and no contract or checks. A `schema:` is JSON Schema, of which these words are checked: " +
			"type, properties, required, additionalProperties, items, enum, const, minimum, maximum, minLength, " +
			"maxLength, minItems, maxItems and pattern; another word is refused rather than passed over.",
		Bad:  "**ask:** How many?\n**schema:**\n```json\n{\"type\": \"numbr\"}\n```",
		Good: "**ask:** How many?\n**schema:**\n```json\n{\"type\": \"integer\", \"minimum\": 1}\n```",
		step: checkQuestion,
	}
}

func checkQuestion(p *pass, u *unit) {
	if lang := u.Schema.Lang; !u.Schema.IsZero() && (lang == "" || lang == "json") {
		if _, err := engine.ParseSchema(u.Schema.Value); err != nil {
			p.report(u, u.Schema.Pos, fmt.Sprintf("the schema of step %q cannot be used: %v", u.ID.Value, err), "")
		}
	}
	if u.Ask.IsZero() {
		return
	}
	if len(u.Choices) > 0 && !u.Schema.IsZero() {
		p.report(u, u.Schema.Pos, fmt.Sprintf("the question of step %q has choices and a schema", u.ID.Value), "take one of them away")
	}
	if len(u.proofs) > 0 {
		p.report(u, u.proofs[0].text.Pos, fmt.Sprintf("step %q asks a person, so no %s decides it", u.ID.Value, u.proofs[0].label), "move it to a step behind this one")
	}
	seen := map[string]bool{}
	for _, c := range u.Choices {
		if seen[c.Value] {
			p.report(u, c.Pos, fmt.Sprintf("the question of step %q has the choice %q twice", u.ID.Value, c.Value), "")
		}
		seen[c.Value] = true
	}
}
