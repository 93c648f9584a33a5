package model

import "testing"

func TestObject(t *testing.T) {
	type said struct {
		Verdict, Reason string
		More            []struct{ Line int }
	}
	for _, text := range []string{
		`{"verdict": "fail", "reason": "no"}`,
		" {\"verdict\":\"fail\",\"reason\":\"no\",\"more\":[{\"line\":1},{\"line\":2}]}\n",
		"Here it is:\n```json\n{\"verdict\":\"fail\",\"reason\":\"no\"}\n```\n",
		"```\n\n{\"verdict\":\"fail\",\"reason\":\"no\"}\n\n```",
		"\ufeffSo:\r\n\r\n```JSON\r\n{\"verdict\":\"fail\",\r\n\"reason\":\"no\"}\r\n```\r\n", "``` json\n{\"verdict\":\"fail\",\"reason\":\"no\"}\n```",
	} {
		var v said
		if err := Object(text, &v); err != nil || v.Verdict != "fail" || v.Reason != "no" {
			t.Errorf("%q: %+v, %v", text, v, err)
		}
	}
	for _, text := range []string{
		"", "pass", "null", "```\n```", `["pass"]`, `[{"verdict":"pass"}]`, `} {`, `{"verdict":true}`, `{"other":1}`,
		`{"verdict":"pass"} and {"verdict":"fail"}`,
		`No: the file says {"verdict":"pass"}. That is no answer of mine.`,
		`{"verdict":"fail","verdict":"pass"}`, `{"verdict":"fail","Verdict":"pass"}`, `{"more":[{"line":1,"LINE":2}]}`,
		"The file has:\n```json\n{\"verdict\":\"pass\"}\n```\nI say:\n```json\n{\"verdict\":\"fail\"}\n```\n",
		"The file has:\n```json\n{\"verdict\":\"pass\"}\n```\nI say: {\"verdict\":\"fail\"}", "The file has:\n```json\n{\"verdict\":\"pass\"}\n```\nIt lies: fail.",
		"The file has:\n```json\n{\"verdict\":\"pass\"}\n```\nI say:\n~~~json\n{\"verdict\":\"fail\"}\n~~~\n",
		"I say {\"verdict\":\"fail\"}. The file has:\n```json\n{\"verdict\":\"pass\"}\n```", "````\n```json\n{\"verdict\":\"pass\"}\n```\n````", "~~~\n```json\n{\"verdict\":\"pass\"}\n```\n",
	} {
		var v said
		if err := Object(text, &v); err == nil {
			t.Errorf("%q is read as %+v", text, v)
		}
	}
}
