package template

import (
	"cmp"
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/piton-dev/piton/internal/plan"
)

// Keys of the frontmatter that only a template has.
const (
	keyAbout     = "template"
	keyVariables = "variables"
)

// declare takes what the frontmatter says of the template.
func (t *Template) declare(front []plan.Key) error {
	for _, k := range front {
		switch k.Name {
		case keyAbout:
			t.About = k.Value
		case keyVariables:
			if err := t.variables(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// declaration reads the variables of one template.
type declaration struct {
	file string
	line int // of the key
}

func (d declaration) fault(n *yaml.Node, hint, format string, args ...any) error {
	return &Fault{d.file, plan.Pos{Line: d.line + n.Line - 1, Column: n.Column}, fmt.Sprintf(format, args...), hint}
}

const variableHint = "write below `variables:` one line each: `name: {about: what it is, default: a value}`"

// variables reads `variables:`; that it is YAML was seen when the plan was read.
func (t *Template) variables(k plan.Key) error {
	d := declaration{t.File, k.Pos.Line}
	var doc yaml.Node
	if err := yaml.Load([]byte(k.Raw), &doc); err != nil {
		return &Fault{t.File, k.Pos, "the variables are not YAML: " + err.Error(), variableHint}
	}
	all := doc.Content[0].Content[1]
	if all.Kind != yaml.MappingNode {
		return d.fault(all, variableHint, "the variables are no list of names")
	}
	for i := 0; i < len(all.Content); i += 2 {
		v, err := d.variable(all.Content[i], all.Content[i+1])
		if err != nil {
			return err
		}
		if t.variable(v.Name) != nil {
			return d.fault(all.Content[i], "keep one of them", "the variable %q is declared twice", v.Name)
		}
		t.Variables = append(t.Variables, v)
	}
	return nil
}

func (d declaration) variable(name, body *yaml.Node) (Variable, error) {
	v := Variable{Name: name.Value}
	switch {
	case !IsName(v.Name) || v.Name == Title:
		return v, d.fault(name, "use small letters, digits, - and _; every template has {{title}} already", "a variable cannot be called %q", v.Name)
	case body.Kind != yaml.MappingNode:
		return v, d.fault(cmp.Or(body, name), variableHint, "the variable %q says nothing of itself", v.Name)
	}
	for i := 0; i < len(body.Content); i += 2 {
		if err := d.field(&v, body.Content[i], body.Content[i+1]); err != nil {
			return v, err
		}
	}
	if v.About == "" {
		return v, d.fault(name, "say what is to be filled in: `about: …`", "the variable %q has no description", v.Name)
	}
	return v, nil
}

func (d declaration) field(v *Variable, key, value *yaml.Node) error {
	if key.Value == "where" && value.Kind == yaml.MappingNode {
		for i := 0; i < len(value.Content); i += 2 {
			v.Where = append(v.Where, Guess{value.Content[i].Value, value.Content[i+1].Value})
		}
		return nil
	}
	if value.Kind != yaml.ScalarNode {
		return d.fault(value, "about and default are texts, where is a map from files to texts", "%q of the variable %q cannot be read", key.Value, v.Name)
	}
	switch key.Value {
	case "about":
		v.About = value.Value
	case "default":
		v.Default = &value.Value
	default:
		return d.fault(key, cmp.Or(plan.Nearest(key.Value, []string{"about", "default", "where"}), "it has about, default and where"), "a variable has no %q", key.Value)
	}
	return nil
}
