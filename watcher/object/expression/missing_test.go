package expression

import (
	"errors"
	"strings"
	"testing"

	"dwatch/watcher/event"
)

// sample is an object with values of all types.
const sample = `{"apiVersion":"apps/v1","kind":"Deployment",
	"metadata":{"name":"web","namespace":"default","creationTimestamp":"2026-11-21T11:00:00Z","labels":{"app":"web"},"annotations":{"a":"1"}},
	"spec":{"replicas":3,"paused":true,"nothing":null,"half":0.5,"text":"abc","memory":"1Gi","since":"2026-11-21T11:30:00Z","ip":"10.0.0.7",
		"containers":[{"name":"web","image":"nginx:1.27"},{"name":"log"}]},
	"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Progressing"}]}}`

const (
	holds       = "holds"
	doesNotHold = "does not hold"
	wrongType   = "wrong type"
	badValue    = "bad value"
	notBool     = "neither true nor false"
)

// outcome classifies the result of an evaluation.
func outcome(ok bool, err error) string {
	var e *Error
	switch {
	case errors.As(err, &e) && strings.HasPrefix(e.Message, "the result must be true or false"):
		return notBool
	case errors.As(err, &e) && (strings.Contains(e.Message, " does not take ") || e.Message == "a condition is neither true nor false"):
		return wrongType
	case errors.As(err, &e):
		return badValue
	case err != nil:
		return err.Error()
	case ok:
		return holds
	}
	return doesNotHold
}

// TestMissingValues checks that expressions on missing values do not match, as described in
// docs/reference/expressions.md, and that mistakes are errors.
func TestMissingValues(t *testing.T) {
	added := event.Event{Type: event.Added, Object: object(sample), Time: clock}
	for _, test := range []struct{ text, want string }{
		{"object.spec.replicas == 3", holds},
		{"object.spec.nope == 3", doesNotHold},
		{"object.spec.nope != 3", doesNotHold},
		{"object.nope.nope.nope == 3", doesNotHold},
		{"object.spec.nope", doesNotHold},
		{"!object.spec.nope", doesNotHold},
		{"!(object.spec.nope == 3)", doesNotHold},
		{"object.spec['nope'] == 3", doesNotHold},
		{"object['spec']['replicas'] == 3", holds},
		{"object[object.kind] == 3", doesNotHold},
		{"object.spec.replicas.nope == 3", doesNotHold},
		{"object.spec.text.nope == 3", doesNotHold},
		{"object.spec.nothing.nope == 3", doesNotHold},
		{"object.spec.containers[1].image == 'x'", doesNotHold},
		{"object.spec.containers[2].name == 'x'", doesNotHold},
		{"object.spec.containers[-1].name == 'x'", doesNotHold},
		{"object.spec.containers['web'].name == 'x'", wrongType},

		{"object.spec.nope == 3 || true", holds},
		{"true || object.spec.nope == 3", holds},
		{"object.spec.nope == 3 || false", doesNotHold},
		{"object.spec.nope == 3 && false", doesNotHold},
		{"false && object.spec.nope == 3", doesNotHold},
		{"!(object.spec.nope == 3 && false)", holds},
		{"object.spec.nope == 3 && true", doesNotHold},
		{"object.spec.nope == 3 ? true : true", doesNotHold},
		{"true ? true : object.spec.nope == 3", holds},
		{"false ? true : object.spec.nope == 3", doesNotHold},

		{"has(object.spec.replicas)", holds},
		{"has(object.spec.nope)", doesNotHold},
		{"!has(object.spec.nope)", holds},
		{"has(object.nope.nope)", doesNotHold},
		{"!has(object.nope.nope)", doesNotHold},
		{"has(object.spec.nothing)", holds},
		{"'nope' in object.spec", doesNotHold},
		{"'replicas' in object.spec", holds},
		{"!('nope' in object.spec)", holds},
		{"3 in object.spec", doesNotHold},
		{"object.?spec.?nope.orValue(7) == 7", holds},
		{"object.?nope.?nope.hasValue()", doesNotHold},
		{"!object.?nope.?nope.hasValue()", holds},
		{"object.?spec.?nope.value() == 7", doesNotHold},
		{"object.spec[?'replicas'].orValue(0) == 3", holds},

		{"object.spec.containers.exists(c, c.image == 'nginx:1.27')", holds},
		{"object.spec.containers.exists(c, c.image == 'x')", doesNotHold},
		{"!object.spec.containers.exists(c, c.image == 'x')", doesNotHold}, // the second container has no image
		{"object.spec.containers.exists(c, c.?image.orValue('') == 'x') == false", holds},
		{"object.spec.containers.all(c, c.image.startsWith('nginx'))", doesNotHold},
		{"!object.spec.containers.all(c, c.image == 'x')", holds}, // the first item decides
		{"object.spec.containers.exists_one(c, c.image == 'nginx:1.27')", doesNotHold},
		{"object.spec.containers.filter(c, has(c.image)).size() == 1", holds},
		{"object.spec.containers.map(c, c.image).size() == 2", doesNotHold},
		{"object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", holds},
		{"object.status.nope.exists(c, c.type == 'Ready')", doesNotHold},

		{"old == null", holds},
		{"old != null", doesNotHold},
		{"old.spec.replicas == 3", doesNotHold},
		{"object.spec.replicas != old.spec.replicas", doesNotHold},
		{"!(object.spec.replicas == old.spec.replicas)", doesNotHold},
		{"has(old.spec)", doesNotHold},
		{"!has(old.spec)", holds},
		{"!has(old.spec.replicas)", doesNotHold},
		{"old.?spec.?replicas.orValue(1) == 1", holds},
		{"'spec' in old", doesNotHold},
		{"size(old) == 0", doesNotHold},
		{"status(old) == 'Current'", doesNotHold},
		{"ready(old)", doesNotHold},
		{"age(old) > duration('1s')", doesNotHold},
		{"old > 3", doesNotHold},
		{"3 < old", doesNotHold},
		{"object != old", holds},

		{"object.spec.nothing == null", holds},
		{"object.spec.nothing > 3", doesNotHold},
		{"object.spec.nothing.startsWith('a')", doesNotHold},
		{"int(object.spec.nothing) == 3", doesNotHold},
		{"quantity(object.spec.nothing).isGreaterThan(quantity('1'))", doesNotHold},
		{"object.spec.nothing", doesNotHold},
		{"!object.spec.nothing", doesNotHold},

		{"changes.size() == 0", holds},
		{"changed('spec.replicas')", doesNotHold},
		{"!changed('spec.replicas')", holds},

		{"object.spec.replicas > 'x'", wrongType},
		{"object.spec.text > 3", wrongType},
		{"object.spec.text + 3 == 3", wrongType},
		{"object.spec.replicas.startsWith('a')", wrongType},
		{"object.spec.containers + 3 > 1", wrongType},
		{"object.spec.text && true", wrongType},
		{"true && object.spec.text", wrongType},
		{"false || object.spec.replicas", wrongType},
		{"!object.spec.text", wrongType},
		{"object.spec.text ? true : false", wrongType},
		{"object.spec.text", notBool},
		{"object.spec.replicas", notBool},
		{"object", notBool},
		{"object.spec.containers.exists(c, c.name > 3)", wrongType},
		{"object.metadata.creationTimestamp < now()", wrongType},
		{"timestamp(object.metadata.creationTimestamp) < now()", holds},
		{"status(object.spec) == 'Current'", wrongType},
		{"age(object.spec) > duration('1s')", doesNotHold},
		{"age(object.spec.text) > duration('1s')", wrongType},
		{"timestamp(object.spec.text) < now()", badValue},
		{"int(object.spec.text) == 3", badValue},
		{"quantity(object.spec.text).isGreaterThan(quantity('1'))", badValue},
		{"object.spec.replicas / 0 == 3", badValue},
		{"object.spec.replicas % 0 == 3", badValue},
		{"object.spec.replicas * 9223372036854775807 == 3", badValue},
		{"object.spec.text.matches(object.spec.text + '(')", badValue},
		{"duration(object.spec.text) > duration('1s')", badValue},
		{"ip(object.spec.text) == ip('10.0.0.7')", badValue},
		{"object.spec.text.substring(10) == 'x'", doesNotHold},
		{"object.spec.text.charAt(10) == 'x'", doesNotHold},
		{"object.spec.text > 3 || true", holds},
		{"object.spec.nope > 3 || object.spec.text > 3", doesNotHold}, // the first error counts
		{"object.spec.text > 3 || object.spec.nope > 3", wrongType},
	} {
		if ok, err := evaluate(t, test.text, added); outcome(ok, err) != test.want {
			t.Errorf("%s: got %q (%v), want %q", test.text, outcome(ok, err), err, test.want)
		}
	}
}

// TestMissingErrorTexts checks that isMissing knows the texts of CEL's errors for missing values.
// They could change in a new version of CEL.
func TestMissingErrorTexts(t *testing.T) {
	for text, want := range map[string]string{
		"{'a': 1}['b'] == 1":                  "no such key: b",
		"{'a': 1}.b == 1":                     "no such key: b",
		"[1][5] == 1":                         "index out of bounds: 5",
		"[1].slice(0, 5) == []":               "",
		"optional.none().value() == 1":        "optional.none() dereference",
		"'abc'.charAt(10) == 'a'":             "index out of range: 10",
		"'abc'.substring(10) == 'a'":          "index out of range: 10",
		"object.spec.nope == 1":               "no such key",
		"object.spec.containers[7].name == 1": "index out of bounds: 7",
	} {
		x, err := Compile(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		_, _, err = x.program.Eval(NewInput(event.Event{Type: event.Added, Object: object(sample)}, testOptions()))
		if err == nil || isMissing(err.Error()) != (want != "") || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", text, err, want)
		}
	}
}

// TestUnknownOldState checks that expressions on changes do not match if the old state is unknown.
func TestUnknownOldState(t *testing.T) {
	for _, text := range []string{"changes.size() == 0", "changes.size() > 0", "changed('spec')", "!changed('spec')", "changed", "old.spec.replicas == 3"} {
		if ok, err := evaluate(t, text, modified("", sample)); ok || err != nil {
			t.Errorf("%s: got %v, %v, want false", text, ok, err)
		}
	}
}
