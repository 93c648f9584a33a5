package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ChooseAnswer is the choice of an item that asks for a text or a value of the
// person's own.
const ChooseAnswer = "answer"

// question puts the question of a step to people. The answer is its output.
func (s *State) question(i int) ItemOpened {
	p := s.prog.Step(i)
	e := ItemOpened{
		Item: s.itemName(), Step: p.ID, Attempt: s.steps[i].Attempt, Kind: Question,
		Question: p.Task, Hash: p.digest(), Choices: p.Choices, Schema: p.Schema,
	}
	if len(e.Choices) == 0 {
		e.Choices = []string{ChooseAnswer}
	}
	return e
}

// admitAnswer makes of what a person said to a question what the journal keeps
// of it, or refuses it.
func (p *Step) admitAnswer(a ItemAnswered) (ItemAnswered, error) {
	switch {
	case p.Schema != "":
		v, err := DecodeValue(a.Args)
		if len(a.Args) == 0 {
			return a, refuse(Invalid, fmt.Sprintf("item %s asks for a value", a.Item), GiveValue, p.Schema)
		}
		if err != nil {
			return a, refuse(Invalid, fmt.Sprintf("the answer to item %s is no JSON: %v", a.Item, err))
		}
		if a.Args, err = EncodeValue(v); err == nil {
			err = p.fitsSchema(v)
		}
		if err != nil {
			return a, refuse(Invalid, fmt.Sprintf("the answer to item %s does not fit: %v", a.Item, err), FitSchema, p.Schema)
		}
	case len(a.Args) > 0:
		return a, refuse(Invalid, fmt.Sprintf("item %s takes no JSON", a.Item), p.wants()...)
	case len(p.Choices) == 0 && strings.TrimSpace(a.Text) == "":
		return a, refuse(Invalid, fmt.Sprintf("item %s asks for a text", a.Item), GiveText)
	case len(a.Text) > MaxOutput:
		return a, refuse(Invalid, fmt.Sprintf("the answer to item %s has %d bytes; at most %d are allowed", a.Item, len(a.Text), MaxOutput))
	}
	return a, nil
}

// wants is the remedy for an answer of another kind.
func (p *Step) wants() []string {
	if len(p.Choices) > 0 {
		return []string{Choose, strings.Join(p.Choices, ", ")}
	}
	return []string{GiveText}
}

// Unfit says why an output is not what the step's schema wants; nothing where it
// is, or where the step has none.
func (p *Step) Unfit(output []byte) string {
	if p.Schema == "" {
		return ""
	}
	v, err := ValueOf(output)
	if err == nil {
		err = p.fitsSchema(v)
	}
	if err != nil {
		return "its output does not fit its schema: " + err.Error()
	}
	return ""
}

func (p *Step) fitsSchema(v any) error {
	schema, err := ParseSchema(p.Schema)
	if err != nil {
		return err
	}
	return schema.Fits(v)
}

// Output is what an answer to a question puts out: the value, else the choice
// that the person took, else the text. Whoever submits the answer stores it.
func (a ItemAnswered) Output() []byte {
	switch {
	case len(a.Args) > 0:
		return a.Args
	case a.Choice != ChooseAnswer:
		return []byte(a.Choice)
	}
	return []byte(text(a.Text))
}

// value is the answer as JSON.
func (a ItemAnswered) value() string {
	if len(a.Args) > 0 {
		return string(a.Args)
	}
	body, _ := EncodeValue(string(a.Output())) // a text always is
	return string(body)
}

// validAsk reports what a step that asks cannot have.
func (s *Step) validAsk() error {
	switch {
	case s.Task == "":
		return errors.New("asks nothing")
	case len(s.Checks) > 0:
		return errors.New("asks a person, so no check decides it")
	case len(s.Choices) > 0 && s.Schema != "":
		return errors.New("has both choices and a schema")
	case len(slices.Compact(slices.Sorted(slices.Values(s.Choices)))) != len(s.Choices) || slices.Contains(s.Choices, ""):
		return errors.New("has a choice twice, or an empty one")
	}
	return nil
}

func (s *Step) validSchema() error {
	if s.Schema == "" {
		return nil
	}
	_, err := ParseSchema(s.Schema)
	return err
}
