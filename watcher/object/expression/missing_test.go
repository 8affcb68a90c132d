package expression

import (
	"errors"
	"strings"
	"testing"

	"dwatch/watcher/event"
)

// sample is an object that has of everything something.
const sample = `{"apiVersion":"apps/v1","kind":"Deployment",
	"metadata":{"name":"web","namespace":"default","creationTimestamp":"2026-11-21T11:00:00Z","labels":{"app":"web"},"annotations":{"a":"1"}},
	"spec":{"replicas":3,"paused":true,"nothing":null,"half":0.5,"text":"abc","memory":"1Gi","since":"2026-11-21T11:30:00Z","ip":"10.0.0.7",
		"containers":[{"name":"web","image":"nginx:1.27"},{"name":"log"}]},
	"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Progressing"}]}}`

const (
	holds   = "holds"
	not     = "does not hold"
	mistype = "wrong type"
	badly   = "bad value"
	neither = "neither"
)

// outcome is what becomes of an expression.
func outcome(ok bool, err error) string {
	var e *Error
	switch {
	case errors.As(err, &e) && strings.HasPrefix(e.Message, "the result is neither true nor false"):
		return neither
	case errors.As(err, &e) && (strings.Contains(e.Message, " does not take ") || e.Message == "a condition is neither true nor false"):
		return mistype
	case errors.As(err, &e):
		return badly
	case err != nil:
		return err.Error()
	case ok:
		return holds
	}
	return not
}

// TestMissing: what is not there does not hold, by the rules of docs/expressions.md, and
// what is a mistake is said.
func TestMissing(t *testing.T) {
	added := event.Event{Type: event.Added, Object: object(sample), Time: clock}
	for _, test := range []struct{ text, want string }{
		{"object.spec.replicas == 3", holds},
		{"object.spec.nope == 3", not},
		{"object.spec.nope != 3", not},
		{"object.nope.nope.nope == 3", not},
		{"object.spec.nope", not},
		{"!object.spec.nope", not},
		{"!(object.spec.nope == 3)", not},
		{"object.spec['nope'] == 3", not},
		{"object['spec']['replicas'] == 3", holds},
		{"object[object.kind] == 3", not},
		{"object.spec.replicas.nope == 3", not},
		{"object.spec.text.nope == 3", not},
		{"object.spec.nothing.nope == 3", not},
		{"object.spec.containers[1].image == 'x'", not},
		{"object.spec.containers[2].name == 'x'", not},
		{"object.spec.containers[-1].name == 'x'", not},
		{"object.spec.containers['web'].name == 'x'", mistype},

		{"object.spec.nope == 3 || true", holds},
		{"true || object.spec.nope == 3", holds},
		{"object.spec.nope == 3 || false", not},
		{"object.spec.nope == 3 && false", not},
		{"false && object.spec.nope == 3", not},
		{"!(object.spec.nope == 3 && false)", holds},
		{"object.spec.nope == 3 && true", not},
		{"object.spec.nope == 3 ? true : true", not},
		{"true ? true : object.spec.nope == 3", holds},
		{"false ? true : object.spec.nope == 3", not},

		{"has(object.spec.replicas)", holds},
		{"has(object.spec.nope)", not},
		{"!has(object.spec.nope)", holds},
		{"has(object.nope.nope)", not},
		{"!has(object.nope.nope)", not},
		{"has(object.spec.nothing)", holds},
		{"'nope' in object.spec", not},
		{"'replicas' in object.spec", holds},
		{"!('nope' in object.spec)", holds},
		{"3 in object.spec", not},
		{"object.?spec.?nope.orValue(7) == 7", holds},
		{"object.?nope.?nope.hasValue()", not},
		{"!object.?nope.?nope.hasValue()", holds},
		{"object.?spec.?nope.value() == 7", not},
		{"object.spec[?'replicas'].orValue(0) == 3", holds},

		{"object.spec.containers.exists(c, c.image == 'nginx:1.27')", holds},
		{"object.spec.containers.exists(c, c.image == 'x')", not},
		{"!object.spec.containers.exists(c, c.image == 'x')", not}, // who knows what log has
		{"object.spec.containers.exists(c, c.?image.orValue('') == 'x') == false", holds},
		{"object.spec.containers.all(c, c.image.startsWith('nginx'))", not},
		{"!object.spec.containers.all(c, c.image == 'x')", holds}, // the first decides
		{"object.spec.containers.exists_one(c, c.image == 'nginx:1.27')", not},
		{"object.spec.containers.filter(c, has(c.image)).size() == 1", holds},
		{"object.spec.containers.map(c, c.image).size() == 2", not},
		{"object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", holds},
		{"object.status.nope.exists(c, c.type == 'Ready')", not},

		{"old == null", holds},
		{"old != null", not},
		{"old.spec.replicas == 3", not},
		{"object.spec.replicas != old.spec.replicas", not},
		{"!(object.spec.replicas == old.spec.replicas)", not},
		{"has(old.spec)", not},
		{"!has(old.spec)", holds},
		{"!has(old.spec.replicas)", not},
		{"old.?spec.?replicas.orValue(1) == 1", holds},
		{"'spec' in old", not},
		{"size(old) == 0", not},
		{"status(old) == 'Current'", not},
		{"ready(old)", not},
		{"age(old) > duration('1s')", not},
		{"old > 3", not},
		{"3 < old", not},
		{"object != old", holds}, // an object is no null

		{"object.spec.nothing == null", holds},
		{"object.spec.nothing > 3", not},
		{"object.spec.nothing.startsWith('a')", not},
		{"int(object.spec.nothing) == 3", not},
		{"quantity(object.spec.nothing).isGreaterThan(quantity('1'))", not},
		{"object.spec.nothing", not},
		{"!object.spec.nothing", not},

		{"changes.size() == 0", holds},
		{"changed('spec.replicas')", not},
		{"!changed('spec.replicas')", holds},

		{"object.spec.replicas > 'x'", mistype},
		{"object.spec.text > 3", mistype},
		{"object.spec.text + 3 == 3", mistype},
		{"object.spec.replicas.startsWith('a')", mistype},
		{"object.spec.containers + 3 > 1", mistype},
		{"object.spec.text && true", mistype},
		{"true && object.spec.text", mistype},
		{"false || object.spec.replicas", mistype},
		{"!object.spec.text", mistype},
		{"object.spec.text ? true : false", mistype},
		{"object.spec.text", neither},
		{"object.spec.replicas", neither},
		{"object", neither},
		{"object.spec.containers.exists(c, c.name > 3)", mistype},
		{"object.metadata.creationTimestamp < now()", mistype},
		{"timestamp(object.metadata.creationTimestamp) < now()", holds},
		{"status(object.spec) == 'Current'", mistype},
		{"age(object.spec) > duration('1s')", not},
		{"age(object.spec.text) > duration('1s')", mistype},
		{"timestamp(object.spec.text) < now()", badly},
		{"int(object.spec.text) == 3", badly},
		{"quantity(object.spec.text).isGreaterThan(quantity('1'))", badly},
		{"object.spec.replicas / 0 == 3", badly},
		{"object.spec.replicas % 0 == 3", badly},
		{"object.spec.replicas * 9223372036854775807 == 3", badly},
		{"object.spec.text.matches(object.spec.text + '(')", badly},
		{"duration(object.spec.text) > duration('1s')", badly},
		{"ip(object.spec.text) == ip('10.0.0.7')", badly},
		{"object.spec.text.substring(10) == 'x'", not},
		{"object.spec.text.charAt(10) == 'x'", not},
		{"object.spec.text > 3 || true", holds},
		{"object.spec.nope > 3 || object.spec.text > 3", not}, // the first decides
		{"object.spec.text > 3 || object.spec.nope > 3", mistype},
	} {
		if ok, err := evaluate(t, test.text, added); outcome(ok, err) != test.want {
			t.Errorf("%s: %s (%v), want %s", test.text, outcome(ok, err), err, test.want)
		}
	}
}

// TestMissingTexts: what CEL says of what is not there is known by its text, which another
// version of CEL might write otherwise.
func TestMissingTexts(t *testing.T) {
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
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestUnknownOld: where the state before is not known, nobody knows what changed.
func TestUnknownOld(t *testing.T) {
	for _, text := range []string{"changes.size() == 0", "changes.size() > 0", "changed('spec')", "!changed('spec')", "changed", "old.spec.replicas == 3"} {
		if ok, err := evaluate(t, text, modified("", sample)); ok || err != nil {
			t.Errorf("%s: %v, %v", text, ok, err)
		}
	}
}
