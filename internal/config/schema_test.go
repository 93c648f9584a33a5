package config

import (
	"reflect"
	"strings"
	"testing"
)

// TestSchema checks the declarations themselves: every default is a value its
// own setting accepts, and every number has its limits.
func TestSchema(t *testing.T) {
	types := []any{Config{}, Agent{}, Server{}, Price{}}
	for _, declared := range types {
		v := reflect.New(reflect.TypeOf(declared)).Elem()
		scalars(v, "", func(path string, v reflect.Value, tag reflect.StructTag) {
			if text := tag.Get("default"); text != "" {
				if err := setScalar(v, text, tag); err != nil {
					t.Errorf("default of %s %v", path, err)
				}
			}
			if v.Kind() == reflect.Int && v.Type() == reflect.TypeFor[int]() && (tag.Get("min") == "" || tag.Get("max") == "") {
				t.Errorf("%s has no limits", path)
			}
		})
	}
}

// TestVariablesAreNoFlags keeps the names that steps and scripts see apart from
// the names that configure.
func TestVariablesAreNoFlags(t *testing.T) {
	c := Default()
	taken := []string{
		"PITON_RUN", "PITON_STEP", "PITON_ATTEMPT", "PITON_WORKSPACE", "PITON_OUTPUT",
		"PITON_REPORT", "PITON_ITEM", "PITON_STATE",
	}
	seen := map[string]string{}
	scalars(reflect.ValueOf(&c).Elem(), "", func(path string, _ reflect.Value, _ reflect.StructTag) {
		name := envName(path)
		if other, twice := seen[name]; twice {
			t.Errorf("%s and %s have the variable %s", path, other, name)
		}
		seen[name] = path
		for _, word := range taken {
			if name == word || strings.HasPrefix(name, "PITON_STEP_") {
				t.Errorf("%s has the variable %s, which means something else", path, name)
			}
		}
	})
	if seen["PITON_DEFAULT_AGENT"] != "default_agent" || seen["PITON_POLICY_MAX_PARALLEL"] != "policy.max_parallel" {
		t.Errorf("variables are %v", seen)
	}
}

func TestDurations(t *testing.T) {
	for _, text := range []string{"0s", "30s", "10m", "2h", "1h30m", "90d", "1m30s", "250ms"} {
		d, err := parseDuration(text)
		if err != nil || formatDuration(d) != text {
			t.Errorf("%s: read as %v, %v, written as %s", text, d, err, formatDuration(d))
		}
	}
	for _, text := range []string{"", "d", "1", "-1d", "-1s", "1.5d", "9999999999d", "1 h", "+d"} {
		if d, err := parseDuration(text); err == nil {
			t.Errorf("%q is read as %v", text, d)
		}
	}
}

func TestUSD(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "2": "2", "2.5": "2.5", "2.50": "2.5", "0.000001": "0.000001", "$3": "3", "12.": "12",
	} {
		if u, err := parseUSD(text); err != nil || u.String() != want {
			t.Errorf("%s: read as %v, %v", text, u, err)
		}
	}
	for _, text := range []string{"", ".", ".5", "-1", "1e3", "1,5", "0.0000001", "9999999999", "$", "1.5.5"} {
		if u, err := parseUSD(text); err == nil {
			t.Errorf("%q is read as %v", text, u)
		}
	}
}
