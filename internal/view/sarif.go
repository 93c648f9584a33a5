package view

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/verify"
)

// object is an object of a SARIF 2.1.0 log. Names and meanings are those of the
// OASIS standard.
type object = map[string]any

// WriteSARIF prints the findings of documents as a SARIF 2.1.0 log, and reviews as runs of
// their own.
func WriteSARIF(w io.Writer, version string, docs []*api.Document, reviews ...Review) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(sarifOf(version, docs, reviews...))
}

func sarifOf(version string, docs []*api.Document, reviews ...Review) object {
	rules, artifacts, results := []object{}, []object{}, []object{}
	index := map[string]int{}
	for i, r := range verify.Rules() {
		index[r.ID] = i
		rules = append(rules, object{
			"id": r.ID, "name": r.Name, "shortDescription": object{"text": r.Title}, "fullDescription": object{"text": r.Text},
			"help": object{"text": r.Page(), "markdown": r.Markdown()}, "defaultConfiguration": object{"level": r.Severity},
		})
	}
	for i, doc := range docs {
		uri := fileURI(doc.Path)
		artifacts = append(artifacts, object{"location": object{"uri": uri}})
		for _, f := range doc.Findings {
			results = append(results, sarifFinding(f, index[f.Code], object{"uri": uri, "index": i}))
		}
	}
	driver := object{"name": "piton", "version": version, "informationUri": "https://github.com/piton-dev/piton", "rules": rules}
	runs := []object{{"tool": object{"driver": driver}, "columnKind": "unicodeCodePoints", "artifacts": artifacts, "results": results}}
	for _, r := range reviews {
		runs = append(runs, sarifReview(version, r))
	}
	return object{
		"$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json",
		"version": "2.1.0",
		"runs":    runs,
	}
}

// sarifFinding has its hint among the properties: SARIF's own "fixes" are edits, and a
// hint is words.
func sarifFinding(f verify.Finding, rule int, file object) object {
	text := f.Message
	place := object{"physicalLocation": object{"artifactLocation": file, "region": object{"startLine": f.Line, "startColumn": f.Column}}}
	r := object{"ruleId": f.Code, "ruleIndex": rule, "level": f.Severity, "locations": []object{place}} // both have the same words for levels
	if f.Hint != "" {
		text += "\n" + f.Hint
		r["properties"] = object{"hint": f.Hint}
	}
	if f.Step != "" {
		place["logicalLocations"] = []object{{"name": f.Step, "kind": "step"}}
	}
	r["message"] = object{"text": text}
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
