package expression

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cel.dev/cel-go/common/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"dwatch/watcher/event"
)

// generator creates random expressions and objects that use the same field names and values.
type generator struct{ *rand.Rand }

func (g generator) of(texts ...string) string { return texts[g.IntN(len(texts))] }

var fieldNames = []string{"a", "b", "c", "spec", "status", "metadata", "name", "items", "x-y", "n\\u00e9", "", "kind"}

// json returns a random JSON value.
func (g generator) json(depth int) string {
	kind := g.IntN(9)
	if depth <= 0 {
		kind = g.IntN(7)
	}
	space := g.of("", "", "", " ", "\n\t")
	switch kind {
	case 0:
		return g.of("null", "true", "false")
	case 1, 2:
		return g.of("0", "-0", "1", "2", "3", "-1", "1.0", "2.5", "1e2", "1E2", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "0.1", "1e300")
	case 3, 4, 5, 6:
		return g.of(`""`, `"a"`, `"b"`, `"name"`, `"1"`, `"1Gi"`, `"500m"`, `"\u0061"`, `"a\"b\\"`, `"\ud83d\ude00"`, `"\ud800"`, `"é"`, `"{[\"]}"`, `"2026-11-21T11:00:00Z"`, `"1h"`, `"10.0.0.1"`, `"(a|b)"`)
	case 7:
		var parts []string
		for range g.IntN(5) {
			parts = append(parts, space+g.json(depth-1)+space)
		}
		return "[" + space + strings.Join(parts, ",") + "]"
	}
	var parts []string
	for range g.IntN(6) {
		parts = append(parts, space+`"`+g.of(fieldNames...)+`"`+space+":"+space+g.json(depth-1)+space)
	}
	return "{" + space + strings.Join(parts, ",") + "}"
}

// object returns a random object with some of the fields that expressions read.
func (g generator) object() string {
	parts := []string{`"kind":"Pod"`}
	for _, name := range []string{"spec", "status", "metadata", "a", "b", "items"} {
		if g.IntN(4) > 0 {
			parts = append(parts, fmt.Sprintf("%q:%s", name, g.json(4)))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// value returns a random expression with a value of any type.
func (g generator) value(depth int) string {
	if depth <= 0 {
		return g.of("object", "old", "object.spec", "object.status.a", "object.items", "object.metadata.name", "old.spec", "old.a", "1", "2.5", "'a'", "true", "null", "''", "type", "object.a", "object.b")
	}
	v := func() string { return g.value(depth - 1) }
	switch g.IntN(22) {
	case 0, 1, 2:
		return v() + "." + g.of("a", "b", "c", "spec", "name", "items")
	case 3:
		return v() + "[" + g.of("0", "1", "'a'", "'x-y'", "'né'", "''", "-1", "1.0", "2u", v()) + "]"
	case 4:
		return "dyn(" + v() + ") " + g.of("+", "-", "*", "/", "%") + " dyn(" + v() + ")"
	case 5:
		return "[" + v() + ", " + v() + "]"
	case 6:
		return "{'a': " + v() + ", 'b': " + v() + "}"
	case 7:
		return "(" + g.condition(depth-1) + " ? dyn(" + v() + ") : dyn(" + v() + "))"
	case 8:
		return "size(dyn(" + v() + "))"
	case 9:
		return g.of("string", "int", "double", "bool", "timestamp", "duration", "type", "quantity", "ip") + "(dyn(" + v() + "))"
	case 10:
		return "dyn(" + v() + ").filter(x, " + g.condition(depth-1) + " && x != 1)"
	case 11:
		return "dyn(" + v() + ").map(x, x)" + g.of(".size()", "", ".flatten()", "[0]")
	case 12:
		return "object.?" + g.of("a", "spec", "b") + ".?" + g.of("a", "name") + ".orValue(" + v() + ")"
	case 13:
		return "dyn(" + v() + ")" + g.of(".distinct()", ".reverse()", ".slice(0, 1)", ".first()", ".last()", ".sort()", ".upperAscii()", ".trim()", ".split('')", ".join()", ".replace('a', 'b')", ".charAt(0)", ".substring(1)", ".indexOf('a')", ".format([1])", ".lowerAscii()")
	case 14:
		return g.of("status", "ready", "age") + "(" + g.of("object", "old") + ")"
	case 15:
		return "math.greatest(dyn(" + v() + "), dyn(" + v() + "))"
	case 16:
		return "'%s %v'.format([" + v() + ", " + v() + "])"
	default:
		return g.value(0)
	}
}

// condition returns a random expression that can be true or false.
func (g generator) condition(depth int) string {
	if depth <= 0 {
		return g.of("true", "false", "object.spec == old.spec", "has(object.a.b)", "'a' in object.spec", "object.b", "initial", "object == old")
	}
	c := func() string { return g.condition(depth - 1) }
	v := func() string { return "dyn(" + g.value(depth-1) + ")" }
	switch g.IntN(12) {
	case 0:
		return "(" + c() + " && " + c() + ")"
	case 1:
		return "(" + c() + " || " + c() + ")"
	case 2:
		return "!(" + c() + ")"
	case 3, 4:
		return v() + " == " + v()
	case 5:
		return v() + " != " + v()
	case 6:
		return v() + g.of(" < ", " <= ", " > ", " >= ") + v()
	case 7:
		return v() + " in " + v()
	case 8:
		return v() + g.of(".exists", ".all", ".exists_one") + "(x, " + g.of("x == "+v(), "dyn(x) == 'a'", c()) + ")"
	case 9:
		return g.of("sets.contains", "sets.intersects", "sets.equivalent") + "(" + v() + ", " + v() + ")"
	case 10:
		return v() + g.of(".startsWith('a')", ".matches('a|b')", ".contains('a')", ".endsWith('')", ".matches("+v()+")")
	}
	return c()
}

// newWholeInput returns an input whose objects are decoded completely.
func newWholeInput(t *testing.T, e event.Event) *wholeInput {
	t.Helper()
	in := &wholeInput{Input: NewInput(e, testOptions())}
	for _, s := range []struct {
		into *any
		o    event.Object
	}{{&in.object, e.Object}, {&in.old, e.Old}} {
		*s.into = types.NullValue
		if s.o.IsZero() {
			continue
		}
		var m map[string]any
		if err := utiljson.Unmarshal([]byte(s.o.Raw()), &m); err != nil {
			t.Fatal(err)
		}
		*s.into = m
	}
	return in
}

// wholeInput is an Input whose variables object and old are maps that are decoded completely.
type wholeInput struct {
	*Input
	object, old any
}

func (in *wholeInput) ResolveName(name string) (any, bool) {
	switch name {
	case objectVariable:
		return in.object, true
	case oldVariable:
		return in.old, true
	}
	return in.Input.ResolveName(name)
}

// compareLazyWithWhole evaluates an expression with lazy and with decoded objects and checks that
// the outcomes are equal. It returns the outcome, or "" if the expression does not compile.
func compareLazyWithWhole(t *testing.T, text string, e event.Event) string {
	x, err := Compile(text)
	if err != nil {
		return ""
	}
	ok, err := x.Matches(NewInput(e, testOptions()))
	got := outcome(ok, err)
	if strings.Contains(text, "status(") || strings.Contains(text, "ready(") {
		return got // these functions do not take decoded maps
	}
	// The order of Go's maps is random, and an expression can depend on the first name. So retry.
	var want string
	for range 50 {
		result, _, failed := x.program.Eval(newWholeInput(t, e))
		ok, err = x.toBool(result, failed)
		if want = outcome(ok, err); got == want {
			return got
		}
	}
	t.Errorf("%s: got %q with lazy objects, want %q (%v)\nobject %s\nold %s", text, got, want, err, e.Object.Raw(), e.Old.Raw())
	return got
}

// TestLazyIsWhole checks that random expressions have the same outcome with lazily and with
// completely decoded objects.
func TestLazyIsWhole(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(3_000) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		was := g.object()
		is := was
		if g.IntN(3) > 0 {
			is = g.object()
		}
		text := g.condition(4)
		outcomes[compareLazyWithWhole(t, text, modified(was, is))]++
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Log(outcomes)
	for _, o := range []string{holds, doesNotHold, wrongType, badValue} {
		if outcomes[o] < 20 {
			t.Errorf("got outcome %q %d times, want at least 20; all outcomes: %v", o, outcomes[o], outcomes)
		}
	}
}

// FuzzMatches checks that no expression causes a panic or has different outcomes for lazy and
// decoded objects.
func FuzzMatches(f *testing.F) {
	f.Add("object.spec.replicas == 3", sample, uint64(1))
	f.Add("object.a.b[0] == old.a", `{"a":{"b":[1,2]}}`, uint64(2))
	f.Fuzz(func(t *testing.T, text, json string, seed uint64) {
		g := generator{rand.New(rand.NewPCG(seed, 2))}
		var m map[string]any
		if utiljson.Unmarshal([]byte(json), &m) != nil || m == nil {
			json = g.object()
		}
		if text == "" {
			text = g.condition(5)
		}
		compareLazyWithWhole(t, text, modified(g.object(), json))
	})
}

// FuzzDecode checks that invalid JSON does not cause a panic.
func FuzzDecode(f *testing.F) {
	f.Add(sample)
	f.Add(`{"a":`)
	f.Add(`{"a" 1}`)
	var conditions []*Expression
	for _, text := range []string{"object.a.b == 1", "object.exists(k, object[k] == 'x')", "object == {}", "size(object) > 3", "status(object) == 'Current'"} {
		x, err := Compile(text)
		if err != nil {
			f.Fatal(err)
		}
		conditions = append(conditions, x)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		for _, x := range conditions {
			_, _ = x.Matches(NewInput(event.Event{Type: event.Added, Object: object(text)}, Options{}))
		}
	})
}
