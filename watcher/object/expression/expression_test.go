package expression

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dwatch/testdata/processor"
	"dwatch/watcher/event"
)

// TestMatches evaluates expressions that the documentation does not contain.
func TestMatches(t *testing.T) {
	e := modified(strings.Replace(sample, `"replicas":3`, `"replicas":2`, 1), sample)
	for _, text := range []string{
		// type is a variable and a function.
		"type == 'MODIFIED' && type(type) == string && type(object.spec.replicas) == int",
		"['a'].exists(type, type == 'a') && type == 'MODIFIED'",
		"type(object) == map && type(object.spec.containers) == list && type(old.spec.half) == double",
		"type(quantity('1')) == type(quantity('2'))",
		// Variables of macros may have the names of variables and functions.
		"[1].all(changes, changed('spec.replicas'))",
		"[1].all(old, changed('spec.replicas') && old == 1)",
		"[duration('1h')].all(now, age(object) == now)",
		// Numbers, as they are decoded.
		"object.spec.replicas == 3.0 && object.spec.replicas < 3.5 && object.spec.half == 0.5 && object.spec.half < 1",
		"object.spec.replicas + 1 == 4 && object.spec.half + 1.0 == 1.5",
		// Maps and lists.
		"object.metadata.labels == {'app': 'web'} && {'app': 'web'} == object.metadata.labels",
		"object.metadata.labels != old.metadata.annotations && object.metadata.labels == old.metadata.labels",
		"object.metadata.labels.exists(k, object.metadata.labels[k] == 'web')",
		"size(object.metadata.labels) == 1 && object.metadata.labels.size() == 1",
		"object.spec.containers + [1] == old.spec.containers + [1]",
		"{'name': 'log'} in object.spec.containers",
		"object.spec.containers.map(c, c.name) == ['web', 'log']",
		"object.spec.containers[size(object.spec.containers) - 1].name == 'log'",
		"object.spec.containers.slice(0, 1)[0].name == 'web'",
		"object.spec.containers.last().value().name == 'log'",
		"object.spec == object.spec && object.spec != old.spec",
		"[object.spec, old.spec].distinct().size() == 2",
		"'%s has %d'.format([object.metadata.labels.app, object.spec.replicas]) == 'web has 3'",
		"object.spec.containers.sortBy(c, c.name)[0].name == 'log'",
		// Times.
		"age(object) == duration('1h') && now() - duration('1h') == timestamp(object.metadata.creationTimestamp)",
		"time == now() && age(old) == age(object)",
		"timestamp(object.spec.since) > timestamp(object.metadata.creationTimestamp)",
		"time.getHours() == 12 && time.getHours('Europe/Berlin') == 13",
		// Quantities.
		"quantity(object.spec.memory).isGreaterThan(quantity('1000M')) && quantity(object.spec.memory) != quantity('1G')",
		"quantity('1.5').isInteger() == false && quantity('1500m').asApproximateFloat() == 1.5 && quantity('-1').sign() == -1",
		"quantity('1').sub(quantity('2')).compareTo(quantity('-1')) == 0 && quantity('1').add(1) == quantity('2')",
		"isQuantity('x') == false && isQuantity('1e3') && !isQuantity('" + strings.Repeat("1", 1000) + "')",
		"isQuantity('1e999999999') || true",
		"quantity('9999999999999999999999').isInteger() == false",
		// Changes.
		"changes.size() == 1 && changes[0].path == 'spec.replicas' && changes[0].old == 2 && changes[0].new == 3 && changes[0].kind == 'changed'",
		"changes.exists(c, has(c.old)) && changes.map(c, c.manager) == ['']",
		"changed('spec') && changed('spec.replicas') && changed('..replicas') && !changed('status') && !changed('spec.text')",
		"changed('.spec.replicas') && changed('{.spec.replicas}')",
		"changed",
		// Networks, sets.
		"cidr('10.0.0.0/8').containsIP(object.spec.ip) && ip(object.spec.ip).family() == 4",
		"sets.intersects(object.spec.containers.map(c, c.name), ['log'])",
		" \n\tready(object) || !ready(object)\n",
		"// why\ntrue",
	} {
		if ok, err := evaluate(t, text, e); !ok || err != nil {
			t.Errorf("%s: got %v, %v, want true", text, ok, err)
		}
	}
}

func TestPresets(t *testing.T) {
	ready := strings.Replace(sample, "apps/v1", "v1", 1)
	ready = strings.Replace(ready, "Deployment", "ConfigMap", 1)
	failed := `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","creationTimestamp":"2026-11-21T11:00:00Z"},
		"status":{"conditions":[{"type":"Failed","status":"True","reason":"BackoffLimitExceeded"}]}}`
	for _, test := range []struct {
		name string
		e    event.Event
		want string
	}{
		{"initial", event.Event{Type: event.Added, Initial: true, Object: object(ready)}, "ready"},
		{"new", event.Event{Type: event.Added, Object: object(ready)}, "changed ready"},
		{"deleted", event.Event{Type: event.Deleted, Object: object(ready)}, "changed deleted"},
		{"failed", event.Event{Type: event.Added, Initial: true, Object: object(failed)}, "failed"},
		{"noise", modified(ready, strings.Replace(ready, `"name":"web",`, `"name":"web","resourceVersion":"2",`, 1)), "ready"},
		{"changed", modified(ready, strings.Replace(ready, "nginx", "apache", 1)), "changed newimage ready"},
	} {
		var got []string
		for _, word := range Presets() {
			ok, err := evaluate(t, " "+word+"\n", test.e)
			if err != nil {
				t.Errorf("%s: %s: %v", test.name, word, err)
			}
			if ok {
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: got %q, want %s", test.name, got, test.want)
		}
	}
}

func TestRequirements(t *testing.T) {
	for text, want := range map[string]Requirements{
		"type == 'ADDED' && initial && time > now()":                              {Now: true},
		"object.metadata.name == 'web' && object.kind == 'Pod'":                   {},
		"object['metadata']['namespace'] == 'x' && object.?kind.hasValue()":       {},
		"object.spec.replicas == 3":                                               {Object: true, Content: true},
		"object.metadata.labels.app == 'x' || has(object.status)":                 {Object: true, Content: true},
		"status(object) == 'Failed' || ready(object)":                             {Object: true, Content: true, Status: true},
		"age(object) > duration('1h')":                                            {Object: true, Content: true, Now: true},
		"object.spec != old.spec":                                                 {Object: true, Content: true, Old: true},
		"old == null":                                                             {Content: true, Old: true},
		"status(old) == 'Failed'":                                                 {Content: true, Old: true, Status: true},
		"object == old":                                                           {Object: true, Content: true, Old: true, ManagedFields: true},
		"object.metadata.managedFields.size() > 1":                                {Object: true, Content: true, ManagedFields: true},
		"object['metadata']['managedFields'].size() > 1":                          {Object: true, Content: true, ManagedFields: true},
		"object.metadata != null":                                                 {Object: true, Content: true},
		"object[type] == 1":                                                       {Object: true, Content: true, ManagedFields: true},
		"[object].exists(o, o.metadata.name == 'x')":                              {Object: true, Content: true, ManagedFields: true},
		"object.metadata.exists(k, k == 'managedFields')":                         {Object: true, Content: true, ManagedFields: true},
		"changes.size() > 0":                                                      {Object: true, Old: true, Changes: true, ManagedFields: true},
		"changed('spec') && now() > time":                                         {Object: true, Old: true, Changes: true, ManagedFields: true, Now: true},
		"now() > time && changes.size() > 0":                                      {Object: true, Old: true, Changes: true, ManagedFields: true, Now: true},
		"changed('spec.replicas')":                                                {Object: true, Old: true, Changes: true, ManagedFields: true},
		"deleted":                                                                 {},
		"ready":                                                                   {Object: true, Content: true, Status: true},
		"changed('spec') && object.metadata.name == 'web'":                        {Object: true, Old: true, Changes: true, ManagedFields: true},
		"changed('spec') && object.spec.replicas == 3":                            {Object: true, Content: true, Old: true, Changes: true, ManagedFields: true},
		"age(object) > duration('1h') && object.metadata.creationTimestamp != ''": {Object: true, Content: true, Now: true},
		"object.metadata.creationTimestamp != ''":                                 {Object: true},
		"object.metadata.resourceVersion != ''":                                   {Content: true},
	} {
		x, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, x.Requirements()); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// TestErrorsContainNoValues checks that error messages do not contain values of the object.
func TestErrorsContainNoValues(t *testing.T) {
	const secret = "aHVudGVyMg"
	e := modified(sample, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"web"},
		"data":{"password":"`+secret+`","`+secret+`":"a"},"number":`+"4711"+`}`)
	for _, text := range []string{
		"object.data.password > 3",
		"object.data.password + 3 == 3",
		"int(object.data.password) == 3",
		"double(object.data.password) == 3.0",
		"timestamp(object.data.password) > now()",
		"duration(object.data.password) > duration('1s')",
		"quantity(object.data.password).isInteger()",
		"ip(object.data.password).family() == 4",
		"cidr(object.data.password).containsIP('10.0.0.1')",
		"object.data.password.matches(object.data.password + '(')",
		"regex.replace('a', 'a', object.data.password + '\\\\9') == ''",
		"'%d'.format([object.data.password]) == ''",
		"(object.data.password + '%q').format([1]) == ''",
		"object.data[object.data.password] > 3",
		"{object.data.password: 1, object.data.password: 2}.size() == 1",
		"object.data.password.substring(0, object.number) == 'a'",
		"object.number * 9223372036854775807 > 1",
		"uint(0 - object.number) == 1u",
		"object.data.password && true",
		"object.data.password ? true : false",
		"object.data.password",
		"object.data",
		"lists.range(object.number * 1000000).size() == 1",
		"math.greatest([object.data.password]) == 1",
		"object.spec.nope.x == object.data.password",
		"status(object.data.password) == 'x'",
		"age(object.data.password) > duration('1s')",
		"time.getHours(object.data.password) == 1",
		"bool(object.data.password)",
		"[1, 2].sortBy(x, [object.data.password, 1][x - 1]).size() == 1",
	} {
		_, err := evaluate(t, text, e)
		var mistake *Error
		if err != nil && !errors.As(err, &mistake) {
			t.Errorf("%s: got error %v, want an *Error", text, err)
		}
		if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "4711")) {
			t.Errorf("%s: message contains a value: %v", text, err)
		}
		t.Logf("%s: %v", text, err)
	}
}

// TestDecodesOnce checks that expressions that share an Input decode its objects only once.
func TestDecodesOnce(t *testing.T) {
	in := NewInput(modified(sample, strings.Replace(sample, "nginx", "apache", 1)), testOptions())
	for _, text := range []string{"changes.size() == 1", "status(object) == 'InProgress'", "changed('spec.containers')", "status(old) == 'InProgress'", "age(object) == duration('1h')"} {
		x, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		object, old := in.object.whole, in.old.whole
		if ok, err := x.Matches(in); !ok || err != nil {
			t.Errorf("%s: got %v, %v, want true", text, ok, err)
		}
		if object != nil && object != in.object.whole || old != nil && old != in.old.whole {
			t.Errorf("%s decodes an object again", text)
		}
	}
}

// TestConcurrentUse uses an expression in several goroutines while others are compiled.
func TestConcurrentUse(t *testing.T) {
	x, err := Compile("object.spec.containers.exists(c, c.image.matches('^nginx')) && changed('spec.replicas') && object.spec.text > 3")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 100 {
				_, err := x.Matches(NewInput(modified(strings.Replace(sample, `"replicas":3`, `"replicas":2`, 1), sample), testOptions()))
				if outcome(false, err) != wrongType {
					t.Errorf("got error %v, want one about types", err)
				}
			}
		})
	}
	for range 20 {
		if _, err := Compile("changed('spec.replicas') && type.matches('A')"); err != nil {
			t.Error(err)
		}
	}
	running.Wait()
}

// TestDeepObject checks that the time to compare objects with many levels is not quadratic.
func TestDeepObject(t *testing.T) {
	const depth = 9_000
	deep := func(end string) string {
		return `{"kind":"X","a":` + strings.Repeat(`{"a":`, depth) + end + strings.Repeat("}", depth) + "}"
	}
	long := `"` + strings.Repeat("x", 500_000)
	start := processor.Time()
	if ok, err := evaluate(t, "object != old", modified(deep(long+`1"`), deep(long+`2"`))); !ok || err != nil {
		t.Errorf("got %v, %v, want true", ok, err)
	}
	if took := processor.Time() - start; took > 10*time.Second {
		t.Errorf("took %v, want less than 10s", took)
	}
}

// TestDecodesOnlyUsedFields checks that fields that an expression does not read are not decoded.
func TestDecodesOnlyUsedFields(t *testing.T) {
	x, err := Compile("object.spec.replicas == 3 && object.spec != old.spec && changed('spec.replicas')")
	if err != nil {
		t.Fatal(err)
	}
	in := NewInput(modified(strings.Replace(sample, `"replicas":3`, `"replicas":2`, 1), sample), testOptions())
	if ok, err := x.Matches(in); !ok || err != nil {
		t.Errorf("got %v, %v, want true", ok, err)
	}
	if in.object.whole != nil {
		t.Error("the complete object was decoded")
	}
	for name, f := range in.object.lazy.fields {
		if name != "spec" && f.value != nil {
			t.Errorf("field %s was decoded", name)
		}
	}
}

// TestLacksOldState checks that LacksOldState tells false results from results that are unknown
// because the old state is unknown.
func TestLacksOldState(t *testing.T) {
	for text, want := range map[string]bool{
		"changed('spec')":    true,
		"!changed('spec')":   true,
		"changes.size() > 0": true,
		"changed":            true,
		"old.spec.replicas != object.spec.replicas": true,
		"has(old.spec)":                                false,
		"changed('spec') && type == 'ADDED'":           false,
		"type == 'MODIFIED' || changed('spec')":        false,
		"old != null && changed('spec')":               false,
		"object.spec.nope == 1":                        false,
		"object.metadata.name == 'x' && old.spec.a":    false,
		"object.spec.nope == 1 || object.spec == null": false,
	} {
		x, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		e := modified(sample, sample)
		e.Old = event.Object{}
		in := NewInput(e, Options{})
		if _, err := x.Matches(in); err != nil || in.LacksOldState() != want {
			t.Errorf("%s: LacksOldState is %t, want %t, %v", text, in.LacksOldState(), want, err)
		}
		e.Type = event.Added
		in = NewInput(e, Options{})
		if _, err := x.Matches(in); err != nil || in.LacksOldState() {
			t.Errorf("%s: LacksOldState is true for an added object, %v", text, err)
		}
	}
}
