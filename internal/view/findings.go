package view

import (
	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/verify"
)

type Rule struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Title    string          `json:"title"`
	Severity verify.Severity `json:"severity"`
	Text     string          `json:"text"`
	Bad      string          `json:"bad"`
	Good     string          `json:"good"`
}

func RuleOf(r verify.Rule) Rule {
	return Rule{r.ID, r.Name, r.Title, r.Severity, r.Text, r.Bad, r.Good}
}

// Findings is what is wrong with plans.
type Findings struct {
	OK       bool             `json:"ok"`
	Runnable bool             `json:"runnable"` // by this version
	Files    []Found          `json:"files"`
	Findings []verify.Finding `json:"findings"`
	Reviews  []Review         `json:"reviews,omitempty"` // where they were asked for
}

type Found struct {
	File     string `json:"file"`
	OK       bool   `json:"ok"`
	Runnable bool   `json:"runnable"`
	Risk
}

// Risk is what an approval of low-risk plans goes by.
type Risk struct {
	Risk    string          `json:"risk"`    // low, high
	Hazards []verify.Hazard `json:"hazards"` // why it is not low
}

func riskOf(doc *api.Document) Risk {
	d := Risk{Risk: "low", Hazards: List(doc.Hazards())}
	if len(d.Hazards) > 0 || !doc.OK() {
		d.Risk = "high"
	}
	return d
}

func FindingsOf(docs ...*api.Document) Findings {
	out := Findings{OK: true, Runnable: true, Files: []Found{}, Findings: []verify.Finding{}}
	for _, doc := range docs {
		out.OK, out.Runnable = out.OK && doc.OK(), out.Runnable && doc.Runnable()
		out.Files = append(out.Files, Found{doc.Path, doc.OK(), doc.Runnable(), riskOf(doc)})
		out.Findings = append(out.Findings, doc.Findings...)
	}
	return out
}

// RefusalOf is why a plan that verifies is not run.
func RefusalOf(doc *api.Document, r *verify.Refusal) Findings {
	return Findings{OK: doc.OK(), Files: []Found{{File: doc.Path, OK: doc.OK(), Risk: riskOf(doc)}}, Findings: r.Findings}
}
