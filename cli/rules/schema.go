package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// JSONSchema returns the JSON schema of a file of rules, for editors. known are the flags of dwatch send.
func JSONSchema(known []Flag) ([]byte, error) {
	type object = map[string]any
	text := object{"type": []string{"string", "number"}}
	several := func(one object) object {
		return object{"oneOf": []any{one, object{"type": "array", "items": one, "minItems": 1}}}
	}
	described := func(what object, usage string) object {
		what["description"] = usage
		return what
	}
	members := object{
		"name":      described(object{"type": "string", "pattern": nameForm.String()}, "What messages, metrics and the file of --state call the rule"),
		"resources": described(several(text), "What to watch: names as kubectl takes them, such as deploy, pods or deploy/web"),
		"command":   described(object{"type": "array", "items": text, "minItems": 1}, "The command that gets the events, and its arguments"),
	}
	for _, f := range known {
		if !f.isOfRule() {
			continue
		}
		one := object{"type": text["type"]}
		switch {
		case f.IsBool:
			one = object{"type": "boolean"}
		case f.Repeatable:
			one = several(text)
		}
		if len(f.Values) > 0 && !f.Repeatable {
			one["examples"] = f.Values
		}
		members[f.Name] = described(one, f.Usage)
	}
	rule := object{"type": "object", "additionalProperties": false, "required": []string{"name"}, "properties": members}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                fmt.Sprintf("Rules of dwatch send -f (%s)", APIVersion),
		"type":                 "object",
		"additionalProperties": false,
		"required":             []string{"apiVersion", "kind", "rules"},
		"properties": object{
			"apiVersion": object{"const": APIVersion},
			"kind":       object{"const": Kind},
			"rules":      object{"type": "array", "minItems": 1, "items": rule},
		},
	})
	return b.Bytes(), err
}
