package form_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

func TestReadArguments(t *testing.T) {
	at := func(lang, text string) plan.Text {
		return plan.Text{Value: text, Lang: lang, Fenced: true, Pos: plan.Pos{Line: 10, Column: 1}}
	}
	want := map[string]any{"path": "a/b", "n": json.Number("3"), "list": []any{true, nil, "$x.y[0]"}, "a/b~": map[string]any{}}
	for name, in := range map[string]struct {
		text   plan.Text
		places map[string]plan.Pos
	}{
		"json": {at("json", "{\n \"path\": \"a/b\", \"n\": 3,\n \"list\": [true, null, \"$x.y[0]\"], \"a/b~\": {}}"), map[string]plan.Pos{
			"": {Line: 10, Column: 1}, "/path": {Line: 11, Column: 2}, "/n": {Line: 11, Column: 17}, "/list": {Line: 12, Column: 2},
			"/list/0": {Line: 12, Column: 11}, "/list/1": {Line: 12, Column: 17}, "/list/2": {Line: 12, Column: 23}, "/a~1b~0": {Line: 12, Column: 35},
		}},
		"yaml": {at("yaml", "path: a/b\nn: 3\nlist:\n- yes!\n"), nil},
		"none": {at("", " \n"), map[string]plan.Pos{"": {Line: 10, Column: 1}}},
	} {
		a, err := form.ReadArguments(in.text)
		switch name {
		case "json":
			if diff := cmp.Diff(any(want), a.Value); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			if diff := cmp.Diff(in.places, a.Places); diff != "" {
				t.Error(diff)
			}
		case "yaml":
			y := map[string]any{"path": "a/b", "n": json.Number("3"), "list": []any{"yes!"}}
			if diff := cmp.Diff(any(y), a.Value); diff != "" || err != nil || a.Places["/list/0"] != (plan.Pos{Line: 13, Column: 3}) {
				t.Errorf("%v\n%s%v", err, diff, a.Places)
			}
		case "none":
			if diff := cmp.Diff(any(map[string]any{}), a.Value); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		}
	}
	for _, bad := range []plan.Text{
		at("json", `{"a":`), at("json", `{"a":1} {}`), at("json", `{a:1}`), at("yaml", "a: &x 1\nb: *x"), at("yaml", "a: [1"), at("yaml", "? [a]\n: 1"),
	} {
		if a, err := form.ReadArguments(bad); err == nil {
			t.Errorf("%s reads as %v", bad.Value, a.Value)
		}
	}
}
