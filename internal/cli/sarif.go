package cli

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/verify"
)

// The parts of a SARIF 2.1.0 log that findings need. Names and meanings are
// those of the OASIS standard.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		ColumnKind string          `json:"columnKind"`
		Artifacts  []sarifArtifact `json:"artifacts"`
		Results    []sarifResult   `json:"results"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string     `json:"id"`
		Name    string     `json:"name"`
		Short   sarifText  `json:"shortDescription"`
		Full    sarifText  `json:"fullDescription"`
		Help    sarifText  `json:"help"`
		Default sarifLevel `json:"defaultConfiguration"`
	}
	sarifLevel struct {
		Level verify.Severity `json:"level"` // both have the same words
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifArtifact struct {
		Location sarifFile `json:"location"`
	}
	sarifFile struct {
		URI   string `json:"uri"`
		Index *int   `json:"index,omitempty"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     verify.Severity `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
		// Properties has the hint: SARIF's own "fixes" are edits, and a hint is words.
		Properties map[string]string `json:"properties,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPlace     `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPlace struct {
		Artifact sarifFile   `json:"artifactLocation"`
		Region   sarifRegion `json:"region"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	}
)

// writeSARIF prints the findings of documents as a SARIF 2.1.0 log.
func writeSARIF(w io.Writer, docs []*api.Document) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(sarifOf(docs))
}

func sarifOf(docs []*api.Document) sarifLog {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Artifacts: []sarifArtifact{}, Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "piton", Version: Version, InformationURI: "https://github.com/piton-dev/piton"}
	index := map[string]int{}
	for i, r := range verify.Rules() {
		index[r.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: r.ID, Name: r.Name, Short: sarifText{Text: r.Title}, Full: sarifText{Text: r.Text},
			Help: sarifText{Text: r.Page(), Markdown: r.Markdown()}, Default: sarifLevel{r.Severity},
		})
	}
	for i, doc := range docs {
		uri := fileURI(doc.Path)
		run.Artifacts = append(run.Artifacts, sarifArtifact{sarifFile{URI: uri}})
		for _, f := range doc.Findings {
			run.Results = append(run.Results, sarifFinding(f, index[f.Code], sarifFile{uri, &i}))
		}
	}
	return sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{run},
	}
}

func sarifFinding(f verify.Finding, rule int, file sarifFile) sarifResult {
	r := sarifResult{
		RuleID: f.Code, RuleIndex: rule, Level: f.Severity, Message: sarifText{Text: f.Message},
		Locations: []sarifLocation{{Physical: sarifPlace{file, sarifRegion{f.Line, f.Column}}}},
	}
	if f.Hint != "" {
		r.Message.Text += "\n" + f.Hint
		r.Properties = map[string]string{"hint": f.Hint}
	}
	if f.Step != "" {
		r.Locations[0].Logical = []sarifLogical{{Name: f.Step, Kind: "step"}}
	}
	return r
}

// fileURI is a path as SARIF wants it: relative ones stay relative, so that
// they mean the same in every checkout.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	switch {
	case strings.HasPrefix(path, "/"):
		return (&url.URL{Scheme: "file", Path: path}).String()
	case filepath.VolumeName(path) != "":
		return (&url.URL{Scheme: "file", Path: "/" + path}).String()
	}
	return (&url.URL{Path: path}).String()
}
