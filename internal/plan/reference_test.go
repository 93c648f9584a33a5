package plan

import "testing"

func TestEveryLabelHasWords(t *testing.T) {
	labels := Labels()
	if len(labels) != len(table) || len(labelTexts()) != len(table) {
		t.Fatalf("%d labels and %d texts for %d", len(labels), len(labelTexts()), len(table))
	}
	for i, l := range labels {
		if l.Name != table[i].name || l.Value == "" || l.Meaning == "" || !l.Header && !l.Step {
			t.Errorf("%+v", l)
		}
	}
}
