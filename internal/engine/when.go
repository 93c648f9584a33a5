package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// Bounds of a condition. It has no loops, so it costs its length times the size
// of what it reads, and joining texts is what could make those grow.
const (
	maxCondition = 2 << 10 // bytes
	maxJoins     = 8
)

// conditionWords are the functions that a condition may call: the same values
// always give the same answer, at a cost of one look at each.
var conditionWords = []string{
	"abs", "ceil", "first", "float", "floor", "hasPrefix", "hasSuffix", "indexOf", "int", "keys", "last", "len",
	"lower", "max", "min", "round", "string", "trim", "trimPrefix", "trimSuffix", "type", "upper",
}

// Condition is a compiled `when:`. It is safe for concurrent use.
type Condition struct {
	program *vm.Program
	names   map[string]string // names in the expression, and the ids of the steps they mean
}

// ConditionError is what is wrong with the text of a condition.
type ConditionError struct {
	Offset  int // in bytes, where it begins
	Message string
}

func (e *ConditionError) Error() string { return e.Message }

// ParseCondition compiles an expression over the outputs of steps. A step is
// named $id, or id if that is a plain word and no function; steps says which ids
// there are. What cannot be true or false, unknown names and calls, and loops
// are errors of type [*ConditionError].
func ParseCondition(text string, steps func(id string) bool) (*Condition, error) {
	if len(text) > maxCondition {
		return nil, &ConditionError{0, fmt.Sprintf("it has %d bytes; at most %d are allowed", len(text), maxCondition)}
	}
	plain, names := spelled(text, steps)
	env := types.Map{}
	for name := range names {
		env[name] = types.Any
	}
	l := &limits{}
	options := []expr.Option{expr.Env(env), expr.AsBool(), expr.Optimize(false), expr.DisableAllBuiltins(), expr.Patch(l)}
	for _, word := range conditionWords {
		options = append(options, expr.EnableBuiltin(word))
	}
	program, err := expr.Compile(plain, options...)
	if err == nil {
		err = l.err
	}
	if err != nil {
		return nil, conditionError(text, err)
	}
	return &Condition{program, names}, nil
}

func conditionError(text string, err error) error {
	e, ok := errors.AsType[*file.Error](err)
	if !ok {
		return &ConditionError{0, err.Error()}
	}
	at := 0 // the same places, in bytes instead of characters
	for i := range text {
		if at = i; e.From == 0 {
			break
		}
		e.From--
	}
	return &ConditionError{at, e.Message}
}

// Reads lists the steps whose outputs the condition looks at, each once.
func (c *Condition) Reads() []string {
	return slices.Compact(slices.Sorted(maps.Values(c.names)))
}

// Holds evaluates the condition over decoded outputs; those that are not there
// are nil.
func (c *Condition) Holds(outputs map[string]any) (bool, error) {
	env := map[string]any{}
	for name, id := range c.names {
		env[name], _ = replaced(outputs[id], plainNumber)
	}
	v, err := expr.Run(c.program, env)
	if e, ok := errors.AsType[*file.Error](err); ok {
		return false, errors.New(e.Message)
	}
	if err != nil {
		return false, err
	}
	holds, ok := v.(bool)
	if !ok {
		return false, errors.New("it is neither true nor false")
	}
	return holds, nil
}

// plainNumber has a number as the expression's own.
func plainNumber(leaf any) (any, error) {
	v, ok := leaf.(json.Number)
	if !ok {
		return leaf, nil
	}
	if n, err := v.Int64(); err == nil {
		return int(n), nil
	}
	n, _ := number(v)
	return n, nil
}

// spelled writes names of steps so that the expression language takes them, in
// as many bytes: of $check-docs, where there is such a step, one name and no
// subtraction. It returns the names that occur with the ids they stand for.
func spelled(text string, steps func(id string) bool) (string, map[string]string) {
	names := map[string]string{}
	out := []byte(text)
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\'' || c == '`':
			i = behindText(text, i)
		case c == '$' || isID(c) && c != '-':
			end := i + 1 + span(text[i+1:], isID)
			if i > 0 && (text[i-1] == '.' || isKey(text[i-1])) {
				i = end
				continue
			}
			end = i + stepName(text[i:end], steps)
			id := strings.TrimPrefix(text[i:end], "$")
			name := strings.ReplaceAll(text[i:end], "-", "_")
			if name == wholeEnv {
				name = strings.ToUpper(name) // ids have small letters only
			}
			copy(out[i:end], name)
			if steps(id) && !slices.Contains(conditionWords, name) {
				names[name] = id
			}
			i = end
		default:
			i++
		}
	}
	return string(out), names
}

// wholeEnv is what the expression language itself calls all values together.
const wholeEnv = "$env"

// stepName is how much of a word is the name of a step: the longest part before
// a hyphen that is one, else what stands before the first hyphen.
func stepName(word string, steps func(id string) bool) int {
	if strings.HasPrefix(word, "$") {
		for end := len(word); end > 0; end = strings.LastIndexByte(word[:end], '-') {
			if steps(word[1:end]) {
				return end
			}
		}
	}
	if at := strings.IndexByte(word, '-'); at > 0 {
		return at
	}
	return len(word)
}

// behindText is where the text that begins at i ends.
func behindText(text string, i int) int {
	quote := text[i]
	for i++; i < len(text) && text[i] != quote; i++ {
		if text[i] == '\\' && quote != '`' {
			i++
		}
	}
	return min(i+1, len(text))
}

// limits finds what could make a condition cost more than it says.
type limits struct {
	joins int
	err   error
}

// Visit is called for every part of the expression.
func (l *limits) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.PredicateNode:
		l.refuse(n, "loops over elements are not for conditions")
	case *ast.BinaryNode:
		switch n.Operator {
		case "..":
			l.refuse(n, "ranges are not for conditions")
		case "+":
			if l.joins++; l.joins > maxJoins {
				l.refuse(n, fmt.Sprintf("more than %d additions", maxJoins))
			}
		}
	}
}

func (l *limits) refuse(n ast.Node, why string) {
	if l.err == nil {
		l.err = &file.Error{Location: n.Location(), Message: why}
	}
}
