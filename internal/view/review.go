package view

// Review is what a second reader says of a plan. It is advice: no exit code and no
// approval goes by it.
type Review struct {
	File   string   `json:"file"`
	By     string   `json:"by"`
	Ended  *string  `json:"ended"` // why there is no review; null where there is one
	Advice []Remark `json:"advice"`
}

// Remark is one thing that a reviewer says.
type Remark struct {
	Severity string `json:"severity"` // advice
	Line     int    `json:"line"`     // 0: of the plan as a whole
	Step     string `json:"step"`     // id; "" of no step
	Message  string `json:"message"`
	Reason   string `json:"reason"`
}

// IsAdvice is the severity of all that a reviewer says.
const IsAdvice = "advice"

// sarifReview is a review as a run of its own, so that no tool takes advice for a finding
// of a rule.
func sarifReview(version string, r Review) object {
	uri := fileURI(r.File)
	results := []object{}
	for _, a := range r.Advice {
		place := object{"physicalLocation": object{"artifactLocation": object{"uri": uri, "index": 0}}}
		if a.Line > 0 {
			place["physicalLocation"].(object)["region"] = object{"startLine": a.Line}
		}
		if a.Step != "" {
			place["logicalLocations"] = []object{{"name": a.Step, "kind": "step"}}
		}
		results = append(results, object{
			"ruleId": IsAdvice, "ruleIndex": 0, "level": "note", "locations": []object{place},
			"message": object{"text": a.Message + "\n" + a.Reason}, "properties": object{"by": r.By, "reason": a.Reason},
		})
	}
	rule := object{"id": IsAdvice, "shortDescription": object{"text": "what a second reader says, which decides nothing"}, "defaultConfiguration": object{"level": "note"}}
	driver := object{"name": "piton review", "version": version, "informationUri": "https://github.com/piton-dev/piton", "rules": []object{rule}}
	run := object{
		"tool": object{"driver": driver}, "columnKind": "unicodeCodePoints", "artifacts": []object{{"location": object{"uri": uri}}}, "results": results,
		"properties": object{"by": r.By},
	}
	if r.Ended != nil {
		run["invocations"] = []object{{"executionSuccessful": false, "toolExecutionNotifications": []object{{"level": "error", "message": object{"text": *r.Ended}}}}}
	}
	return run
}
