package output

import (
	"encoding/json"
	"strings"
	"testing"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

const managed = `"managedFields":[{"manager":"kubectl","operation":"Update","fieldsV1":{"f:data":{"f:a":{}}}}]`

// TestCompared: the members that come of the state before, of a Secret whose managed
// fields are known, but not printed.
func TestCompared(t *testing.T) {
	masks := &change.Masks{Secrets: true}
	all := Options{Old: true, Changes: true, Patch: true, OmitManagedFields: true, Compare: change.Options{Noise: change.DefaultNoise(), Masks: masks}}
	e := event.Event{
		Type:   event.Modified,
		Old:    object(t, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","resourceVersion":"1",`+managed+`},"data":{"a":"aHVudGVyMg=="}}`),
		Object: object(t, `{"apiVersion":"v1","kind":"Secret","metadata":{`+managed+`,"name":"s","resourceVersion":"2"},"data":{"a":"aHVudGVyMw=="},"n":12345678901234567890}`),
	}
	const before = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","resourceVersion":"1"},"data":{"a":"aHVudGVyMg=="}}`
	const now = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","resourceVersion":"2"},"data":{"a":"aHVudGVyMw=="},"n":12345678901234567890}`
	const changes = `[{"path":"data.a","kind":"changed","old":"<7 bytes>","new":"<7 bytes>","masked":true,"manager":"kubectl","operation":"Update"},{"path":"n","kind":"added","new":12345678901234567890}]`
	masked := all
	masked.Old, masked.Patch, masked.Masks = false, false, masks
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"nothing": {Options{OmitManagedFields: true}, `{"type":"MODIFIED","object":` + now + "}\n"},
		"all": {all, `{"type":"MODIFIED","object":` + now + `,"old":` + before + `,"changes":` + changes +
			`,"patch":[{"op":"replace","path":"/metadata/resourceVersion","value":"2"},{"op":"add","path":"/n","value":12345678901234567890}]}` + "\n"},
		"masked": {masked, `{"type":"MODIFIED","object":{"apiVersion":"v1","data":{"a":"<7 bytes>"},"kind":"Secret","metadata":{"name":"s","resourceVersion":"2"},"n":12345678901234567890},"changes":` + changes + "}\n"},
	} {
		if got := printed(t, test.options, e); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, test.want)
		}
	}
	e.Old = event.Object{}
	if got := printed(t, all, e); strings.Contains(got, "changes") || !json.Valid([]byte(got)) {
		t.Errorf("without an old state: got %s", got)
	}
}

// TestLongNames: YAML holds names of any length.
func TestLongNames(t *testing.T) {
	name := strings.Repeat("n", 1500)
	e := event.Event{
		Type:   event.Modified,
		Old:    object(t, `{"apiVersion":"v1","kind":"X","metadata":{"name":"s"}}`),
		Object: object(t, `{"apiVersion":"v1","kind":"X","metadata":{"name":"s"},"spec":{"`+name+`":1}}`),
	}
	want := "changes:\n- path: spec\n  kind: added\n  new:\n    ? " + name + "\n    : 1\n"
	if got := printed(t, Options{Format: "yaml", Changes: true}, e); !strings.HasSuffix(got, want) {
		t.Errorf("%s, want at its end\n%s", got, want)
	}
	want = "  changes: [{\n    path: \"spec\",\n    kind: \"added\",\n    new: {\n      " + name + ": 1,\n    },\n  }],\n}\n"
	if got := printed(t, Options{Format: "kyaml", Changes: true}, e); !strings.HasSuffix(got, want) {
		t.Errorf("%s, want at its end\n%s", got, want)
	}
}

// TestComparedYAML: the same members, with what could steer a terminal escaped.
func TestComparedYAML(t *testing.T) {
	o := Options{Format: "yaml", Changes: true, Patch: true, OmitManagedFields: true}
	e := event.Event{
		Type:   event.Modified,
		Old:    object(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s"},"data":{"a\u001b":"x"},"l":[]}`),
		Object: object(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s",`+managed+`},"data":{"a\u001b":"y: \u009b<"},"l":[1,{"b":null}]}`),
	}
	want := `type: MODIFIED
object:
  apiVersion: v1
  data:
    "a\e": "y: \x9B<"
  kind: ConfigMap
  l:
  - 1
  - b: null
  metadata:
    name: s
changes:
- path: data["a\x1b"]
  kind: changed
  old: x
  new: "y: \x9B<"
- path: l[0]
  kind: added
  new: 1
- path: l[1]
  kind: added
  new:
    b: null
patch:
- op: replace
  path: "/data/a\e"
  value: "y: \x9B<"
- op: add
  path: /l/0
  value: 1
- op: add
  path: /l/1
  value:
    b: null
`
	o.Compare.Noise = change.DefaultNoise()
	if got := printed(t, o, e); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

// TestQuoted: it is what JSON says.
func TestQuoted(t *testing.T) {
	for _, text := range []string{"", "prod-eu", "arn:aws:eks:eu-central-1:1:cluster/a", `a"b`, `a\b`, "a\nb", "a\x7fb", "ä", "<&>", "\xff", "\u2028"} {
		if got, want := quoted(text), JSON(text); got != want {
			t.Errorf("%q: %s instead of %s", text, got, want)
		}
	}
}
