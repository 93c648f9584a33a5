package form

import "slices"

// past is the history of the document as far as a form holds it, in the keys of that
// form. That is what has the same key in both, and the result of a call, which YAML and
// JSON spread over several keys of the step.
func (d Document) past(to Form) kept {
	if d.Form.holdsSame(to) {
		return d.kept
	}
	header, step := pastKeys(to)
	out := kept{}
	for place, pairs := range d.kept {
		keys := step
		if place < 0 {
			keys = header
		}
		for _, p := range pairs {
			switch {
			case slices.Contains(keys, p.key):
				out[place] = append(out[place], p)
			case p.key == resultKey && slices.Contains(keys, "output"):
				out[place] = append(out[place], spread(p.value)...)
			case place < 0 && p.key == "completedAt" && d.Form == TaskPlan && slices.Contains(step, p.key):
				out[0] = append(out[0], p) // its one step is the task
			}
		}
		if slices.Contains(keys, resultKey) && d.Form != to {
			if n := gathered(pairs); n != nil {
				out[place] = append(out[place], pair{key: resultKey, value: n})
			}
		}
	}
	return out
}

const resultKey = "result"

// pastKeys are the keys of a form that hold history: of the document, and of a step.
func pastKeys(f Form) (header, step []string) {
	switch f {
	case YAML, JSON:
		return pastOf(sheetFields()), pastOf(stepFields())
	case DAG:
		return pastOf(dagFields()), pastOf(callFields())
	case TaskPlan:
		return pastOf(taskFields()), nil
	}
	return nil, nil
}

func pastOf[T any](table []field[T]) []string {
	return keysOf(slices.DeleteFunc(table, func(f field[T]) bool { return !f.past }))
}

// spread is the result of a call in the keys of YAML and JSON, which have none for how
// long it took.
func spread(result *node) []pair {
	if result.kind != object {
		return nil
	}
	var all []pair
	for _, k := range [][2]string{{"value", "output"}, {"error", "error"}, {"timestamp", "completedAt"}} {
		v := result.get(k[0])
		switch {
		case v == nil || v.kind == null:
			continue
		case k[0] == "timestamp" && v.kind != text:
			continue
		case v.kind != text:
			v = texts(string(writeJSON(v)))
		}
		all = append(all, pair{key: k[1], value: v})
	}
	return all
}

// gathered is what YAML and JSON say of a step as the result of a call; nil where they do
// not say that it is over.
func gathered(pairs []pair) *node {
	said := map[string]*node{}
	for _, p := range pairs {
		said[p.key] = p.value
	}
	if said["output"] == nil && said["error"] == nil {
		return nil
	}
	n := &node{kind: object}
	n.put("ok", booleans(said["error"] == nil))
	n.put("value", said["output"])
	n.put("error", said["error"])
	n.put("timestamp", said["completedAt"])
	return n
}

// unheld are the keys of a step's or the document's history that a form does not hold.
func unheld(pairs []pair, form, to Form, header bool) (all []string) {
	ofHeader, keys := pastKeys(to)
	inStep := keys
	if header {
		keys = ofHeader
	}
	result := gathered(pairs) != nil && slices.Contains(keys, resultKey)
	for _, p := range pairs {
		switch {
		case slices.Contains(keys, p.key):
		case header && p.key == "completedAt" && form == TaskPlan && slices.Contains(inStep, p.key):
		case result && slices.Contains([]string{"output", "error", "completedAt"}, p.key):
		case p.key == resultKey && slices.Contains(keys, "output") && p.value.kind == object:
			held := []string{"ok", "value", "error", "timestamp"}
			for _, q := range p.value.pairs {
				if !slices.Contains(held, q.key) || q.key == "timestamp" && q.value.kind != text {
					all = append(all, resultKey+": "+q.key)
				}
			}
		default:
			all = append(all, p.key)
		}
	}
	return all
}
