package expression

import (
	"fmt"
	"strings"
	"testing"
)

// jsonPathObject has values of all types.
const jsonPathObject = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"example.com/app":"shop"}},
	"spec":{"n":12345678,"half":0.5,"yes":true,"nothing":null,"empty":"","text":"a b","list":[{"name":"a","n":1},{"name":"b","n":2}]},
	"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"},{"type":"Other","status":"False"}]}}`

// TestJSONPath checks that jsonpath() returns values as kubectl prints them.
func TestJSONPath(t *testing.T) {
	e := modified("", jsonPathObject)
	for path, want := range map[string]string{
		"{.status.phase}":                      `'Running'`,
		".status.phase":                        `'Running'`,
		"status.phase":                         `'Running'`,
		"{status.phase}":                       `'Running'`,
		"{status.conditions[0].type}":          `'Ready'`,
		"{.spec.n}":                            `'12345678'`,
		"{.spec.half}":                         `'0.5'`,
		"{.spec.yes}":                          `'true'`,
		"{.spec.nothing}":                      `'null'`,
		"{.spec.empty}":                        `''`,
		"{.spec.text}":                         `'a b'`,
		"{.spec.list[0]}":                      `'{"n":1,"name":"a"}'`,
		"{.metadata.labels.example\\.com/app}": `'shop'`,
		"{.spec.list[*].name}":                 `'a', 'b'`,
		"{.spec.list[-1:].n}":                  `'2'`,
		"{.spec.list[0,1].n}":                  `'1', '2'`,
		`{.status.conditions[?(@.type=="Ready")].status}`: `'True'`,
		`{.status.conditions[?(@.type=='Other')].status}`: `'False'`,
		"{..n}":                         `'12345678', '1', '2'`,
		"{.spec.nope}":                  ``,
		"{.spec.nope.deeper[0].deeper}": ``,
		"{.spec.list[7]}":               ``,
		"{.status.phase[0]}":            ``,
	} {
		text := fmt.Sprintf("jsonpath(object, %s) == [%s]", quoted(path), want)
		if ok, err := evaluate(t, text, e); !ok || err != nil {
			t.Errorf("%s: got %v, %v, want true", text, ok, err)
		}
	}
	for text, want := range map[string]bool{
		"jsonpath(old, '.spec') == []":              false, // the old state is unknown
		"jsonpath(object, '.spec.n')[0] == 'x'":     false,
		"jsonpath(object, '.spec.nope')[0] == 'x'":  false, // the list is empty
		"jsonpath(object, '.spec.nope').size() > 0": false,
		"jsonpath(object, '.spec.n').size() == 1":   true,
	} {
		if ok, err := evaluate(t, text, e); ok != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", text, ok, err, want)
		}
	}
	if ok, err := evaluate(t, "jsonpath(object.spec, '.n') == []", e); ok || err == nil {
		t.Errorf("jsonpath() on a field: got %v, %v, want an error", ok, err)
	}
}

// TestJSONPathErrors checks that invalid paths are compile errors.
func TestJSONPathErrors(t *testing.T) {
	for text, want := range map[string]string{
		"jsonpath(object, '{.a')":                        "column 18: path \"{.a\": unclosed action",
		"jsonpath(object, '.a[')":                        "column 18: path \".a[\": unterminated array",
		"jsonpath(object, '{}')":                         "column 18: path \"{}\": not a path such as .status.phase or {.status.phase}",
		"jsonpath(object, '{.a}{.b}')":                   "column 18: path \"{.a}{.b}\": not a path such as .status.phase or {.status.phase}",
		"jsonpath(object, '{.a} text')":                  "column 18: path \"{.a} text\": not a path such as .status.phase or {.status.phase}",
		"jsonpath(object, '{\"text\"}')":                 "column 18: path \"{\"text\"}\": not a path such as .status.phase or {.status.phase}",
		"jsonpath(object, '{range .a[*]}{.b}{end}')":     "column 18: path \"{range .a[*]}{.b}{end}\": not a path such as .status.phase or {.status.phase}",
		"jsonpath(object, object.spec.path).size() == 1": "column 29: jsonpath() takes a path in quotes: jsonpath(object, '.status.phase')",
		"jsonpath(object).size() == 1":                   "column 9: jsonpath() takes an object and a path: jsonpath(object, '.status.phase')",
		"jsonpath() == []":                               "column 9: jsonpath() takes an object and a path: jsonpath(object, '.status.phase')",
		"jsonpath(object, '" + strings.Repeat("[", 1000): "",
	} {
		if _, err := Compile(text); err == nil || want != "" && err.Error() != want {
			t.Errorf("%.60s: got error %v, want %s", text, err, want)
		}
	}
}

// quoted returns a text as a CEL string literal.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
