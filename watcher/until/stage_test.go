package until

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

var (
	jobs = event.NewMapping(schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, "Job", true)
	all  = event.Target{Mapping: jobs, Namespace: "n"}
	a    = event.Target{Mapping: jobs, Namespace: "n", Name: "a"}
	b    = event.Target{Mapping: jobs, Namespace: "n", Name: "b"}
)

// script returns events for words. name=phase is Added at first and then Modified. -name is Deleted
// with the last phase. @target is Synced with the number of its objects. A target followed by a
// sign is the status event of that sign. ~ before an object means that it was listed.
func script(t *testing.T, targets map[string]event.Target, text string) (events []event.Event) {
	t.Helper()
	phases := map[string]string{}
	initial := true
	for _, word := range strings.Fields(text) {
		e := event.Event{Time: time.Unix(int64(len(events)), 0), Target: targets["all"], Listed: word[0] == '~'}
		word = strings.TrimPrefix(word, "~")
		name, phase, isChange := strings.Cut(word, "=")
		if t, found := targets[strings.Trim(name, "@-?!/+#")]; found {
			e.Target = t
		}
		sign, isStatus := statuses[word[len(word)-1]]
		switch {
		case word[0] == '@':
			e.Type, e.Count = event.Synced, len(phases)
			if e.Target.Name != "" && phases[e.Target.Name] == "" {
				e.Count = 0
			}
			initial = false
		case isStatus:
			e.Type = sign
			if sign == event.Disconnected {
				e.Err = errors.New("lost")
			}
		case isChange && phases[name] == "":
			e.Type, e.Initial = event.Added, initial
		case isChange:
			e.Type = event.Modified
		default:
			name = word[1:]
			e.Type, phase = event.Deleted, phases[name]
			delete(phases, name)
		}
		if !e.Type.IsStatus() {
			if e.Type != event.Deleted {
				phases[name] = phase
			}
			e.Object = testobject.Parse(t, fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":"n"},"phase":%q}`, name, phase))
		}
		events = append(events, e)
	}
	return events
}

// statuses are the status events of script by their signs.
var statuses = map[byte]event.Type{'?': event.Gone, '!': event.Arrived, '/': event.Disconnected, '+': event.Reconnected, '#': event.Gap}

func compile(t *testing.T, text string) *expression.Expression {
	t.Helper()
	if text == "" {
		return nil
	}
	x, err := expression.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestStage checks after how many events the run is decided, and how. 0 means never.
func TestStage(t *testing.T) {
	const done = "object.phase == 'done'"
	one := map[string]event.Target{"all": all}
	two := map[string]event.Target{"a": a, "b": b}
	anywhere := map[string]event.Target{"a": {Mapping: jobs, Name: "a"}}
	for _, test := range []struct {
		name          string
		targets       map[string]event.Target
		until, failIf string
		quantifier    Quantifier
		events        string
		after         int
		failed        bool
	}{
		{"holds before the start", one, done, "", All, "a=done @all", 2, false},
		{"one of two", one, done, "", All, "a=done b=new @all b=done", 4, false},
		{"the lists are not complete", one, done, "", All, "a=done b=done c=new @all", 0, false},
		{"not at the same time", one, done, "", All, "a=done b=new @all a=new b=done a=done", 6, false},
		{"at least one", one, done, "", All, "@all a=new a=done", 3, false},
		{"one is deleted", one, done, "", All, "a=done b=new @all -b", 4, false},
		{"all objects are deleted", one, done, "", All, "a=new @all -a", 0, false},
		{"one is created", one, done, "", All, "a=new @all b=new a=done b=done", 5, false},
		{"a name without an object", two, done, "", All, "a=done @a @b b=done", 4, false},
		{"a named object is deleted", two, done, "", All, "a=done b=new -b @a @b b=new b=done", 7, false},
		{"a name in all namespaces", anywhere, done, "", All, "a=new @a a=done", 3, false},
		{"a name that no namespace has", anywhere, done, "", All, "@a a=done", 2, false},
		{"a name in all namespaces, deleted", anywhere, "deleted", "", All, "a=x @a -a", 3, false},
		{"a name in all namespaces, in the gap", anywhere, done, "", All, "a=new @a a/ ~a=done a#", 5, false},
		{"its last state counts", two, done, "", All, "a=done b=done -b @a @b", 5, false},
		{"any", one, done, "", Any, "a=new b=done @all", 2, false},
		{"any, later", one, done, "", Any, "a=new b=new @all b=done", 4, false},
		{"each", one, done, "", Each, "a=done b=new @all a=new b=done", 5, false},
		{"each, created again", one, done, "", Each, "a=done b=new @all -a a=new b=done a=done", 7, false},
		{"each, gone after it held", one, done, "", Each, "a=new b=new @all a=done -a b=done", 6, false},
		{"deleted", one, "deleted", "", All, "a=x b=x @all -a -b", 5, false},
		{"deleted, and no object exists", one, "deleted", "", All, "@all", 1, false},
		{"deleted, and one of two names has no object", two, "deleted", "", All, "a=x @a @b -a", 4, false},
		{"deleted, but created in between", two, "deleted", "", All, "a=x @a @b b=x -a -b", 6, false},
		{"deleted and created again", map[string]event.Target{"a": a}, "deleted", "", All, "a=x @a -a a=x", 3, false},
		{"changed, and no object exists", map[string]event.Target{"a": a}, "changed", "", All, "@a a=x", 2, false},
		{"failed", one, done, "object.phase == 'bad'", All, "a=new b=new @all b=bad a=done", 4, true},
		{"failed before the lists are complete", one, done, "object.phase == 'bad'", All, "a=bad @all", 1, true},
		{"FailIf is evaluated first", one, done, done, Any, "a=done", 1, true},
		{"only FailIf", one, "", "type == 'DELETED'", All, "a=x @all -a", 3, true},
		{"FailIf needs an object", map[string]event.Target{"a": a}, done, "deleted", All, "@a a=done", 2, false},
		{"the resource disappears and returns", one, done, "", All, "a=new @all -a all? all! a=done @all", 7, false},
		{"the resource of a name disappears", two, done, "", All, "b=new a=new @a @b -a a? b=done", 0, false},
		{"the resource of a name disappears and returns", two, done, "", All, "b=new a=new @a @b -a a? b=done a! a=done @a", 10, false},
		{"the resource of a name is missing at the start", two, done, "", All, "b=done @b a?", 0, false},
		{"deleted, with its resource", two, "deleted", "", All, "a=x @a b=x @b -a a? -b", 7, false},
		{"deleted, as its resource is gone", two, "deleted", "", All, "b=x @b a? -b", 4, false},
		{"deleted, all of a resource that is gone", one, "deleted", "", All, "all?", 1, false},
		{"a relist that is not complete", one, done, "", All, "a=new b=done @all ~a=done ~b=new all#", 0, false},
		{"the state came in the gap", one, done, "", All, "a=new b=done @all all/ ~a=done all#", 6, false},
		{"any, in the gap", one, done, "", Any, "a=new b=new @all all/ ~a=done ~b=done all#", 5, false},
		{"deleted and created again in the gap", one, done, "", All, "a=new @all all/ ~-a ~a=done all#", 6, false},
		{"a name, deleted and created again in the gap", map[string]event.Target{"a": a}, "deleted", "", All, "a=x @a a/ ~-a ~a=x a#", 4, false},
		{"two names, in the gap of one", two, done, "", All, "a=done b=new @a @b b/ a=new ~b=done b# a=done", 9, false},
		{"deleted in the gap with another one", one, done, "", All, "a=done b=new c=new @all all/ ~-b ~-c all#", 8, false},
		{"no connection for the other", two, done, "", All, "a=done b=new @a @b a/ b=done a+", 7, false},
		{"denied", two, done, "", All, "a=done @a b/ b! b=done", 0, false},
		{"an expression that is always true", one, "true", "", All, "@all a=x", 2, false},
		{"an expression that is always true, by name", two, "true", "", Any, "@a @b b=x", 3, false},
		{"any, deleted, and no object exists", two, "deleted", "", Any, "a=x @a @b", 3, false},
		{"a short-lived state", one, "object.phase == 'blink'", "", Any, "a=x @all a=blink a=x", 3, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var delivered []event.Event
			next := event.SinkFunc(func(_ context.Context, batch []event.Event) error {
				delivered = append(delivered, batch...)
				return nil
			})
			var targets []event.Target
			for _, of := range test.targets {
				targets = append(targets, of)
			}
			events := script(t, test.targets, test.events)
			for _, size := range []int{1, len(events)} {
				delivered = nil
				j := New(next, targets, Options{Until: compile(t, test.until), FailIf: compile(t, test.failIf), Quantifier: test.quantifier})
				err := error(nil)
				for batch := range slices.Chunk(events, size) {
					if err = j.Deliver(t.Context(), batch); err != nil {
						break
					}
				}
				outcome, decided := errors.AsType[*Outcome](err)
				switch want := test.after; {
				case want == 0 && err == nil && len(delivered) == len(events):
				case !decided || len(delivered) != want || outcome.Failed != test.failed:
					t.Errorf("batches of %d: got %v after %d events, want an outcome after %d", size, err, len(delivered), want)
				}
			}
		})
	}
}

// TestAwaited checks that the run waits for a resource that the server does not serve yet.
func TestAwaited(t *testing.T) {
	next := event.SinkFunc(func(context.Context, []event.Event) error { return nil })
	targets := map[string]event.Target{"a": a, "b": b}
	awaited := []AwaitedTarget{{Name: "jobs/b", Matches: func(t event.Target) bool { return t.Key() == b.Key() }}}
	j := New(next, []event.Target{a}, Options{Until: compile(t, "object.phase == 'done'"), Awaited: awaited})
	if err := j.Deliver(t.Context(), script(t, targets, "a=done @a")); err != nil {
		t.Fatal(err)
	}
	if some, more := j.Pending(); len(some) != 1 || more != 0 || some[0].AwaitedName != "jobs/b" {
		t.Errorf("%+v and %d more", some, more)
	}
	events := script(t, targets, "b! b=done @b")
	if err := j.Deliver(t.Context(), events[:2]); err != nil {
		t.Fatal(err)
	}
	outcome, decided := errors.AsType[*Outcome](j.Deliver(t.Context(), events[2:]))
	if !decided || outcome.ObjectCount != 2 {
		t.Errorf("%+v", outcome)
	}
	j = New(next, []event.Target{a}, Options{Until: compile(t, "object.phase == 'done'"), Quantifier: Any, Awaited: awaited})
	if _, decided := errors.AsType[*Outcome](j.Deliver(t.Context(), script(t, targets, "a=done"))); !decided {
		t.Error("with Any, awaited targets must not delay the outcome")
	}
}

// TestOutcomeObject checks that an outcome names its object if there is only one, also if a status
// event decides.
func TestOutcomeObject(t *testing.T) {
	next := event.SinkFunc(func(context.Context, []event.Event) error { return nil })
	for _, test := range []struct {
		until      string
		quantifier Quantifier
		events     string
		want       string
	}{
		{"object.phase == 'done'", All, "b=done @all", "b"},
		{"object.phase == 'done'", All, "a=x b=new @all -a b=done", "b"},
		{"object.phase == 'done'", Any, "a=done b=x @all", "a"},
		{"deleted", All, "b=x @all -b", "b"},
		{"deleted", All, "b=x -b @all", "b"},
		{"deleted", All, "@all", ""},
	} {
		j := New(next, []event.Target{all}, Options{Until: compile(t, test.until), Quantifier: test.quantifier})
		outcome, decided := errors.AsType[*Outcome](j.Deliver(t.Context(), script(t, map[string]event.Target{"all": all}, test.events)))
		if !decided || outcome.ObjectCount != 1 || outcome.Object.Name != test.want || outcome.Object.Mapping != jobs {
			t.Errorf("%s: %+v", test.events, outcome)
		}
	}
}

// TestPending checks which pending items are returned and retained.
func TestPending(t *testing.T) {
	next := event.SinkFunc(func(context.Context, []event.Event) error { return nil })
	j := New(next, []event.Target{a, b}, Options{Until: compile(t, "object.phase == 'done'")})
	pending := func() string {
		some, more := j.Pending()
		var names []string
		for _, p := range some {
			switch {
			case p.ConnectionError != nil:
				names = append(names, p.Target.Name+"!")
			case p.Unsynced:
				names = append(names, p.Target.Name+"?")
			case p.Object.IsZero():
				names = append(names, "no "+p.Target.Name)
			default:
				names = append(names, p.Object.Name)
			}
		}
		return fmt.Sprint(names, more)
	}
	for _, step := range []struct{ events, want string }{
		{"", "[a? b?] 0"},
		{"a=new", "[a? a b?] 0"},
		{"@a @b", "[a no b] 0"},
		{"b=new", "[a b] 0"},
		{"-a", "[no a b] 0"},
		{"b/", "[no a b!] 0"},
		{"b+", "[no a b] 0"},
	} {
		if err := j.Deliver(t.Context(), script(t, map[string]event.Target{"a": a, "b": b}, step.events)); err != nil {
			t.Fatal(err)
		}
		if got := pending(); got != step.want {
			t.Errorf("%s: %s, want %s", step.events, got, step.want)
		}
	}
	j = New(next, []event.Target{all}, Options{Until: compile(t, "object.phase == 'done'")})
	var many strings.Builder
	for i := range 3 * maxPending {
		fmt.Fprintf(&many, "o%02d=new ", i)
	}
	deliver := func(text string) {
		if err := j.Deliver(t.Context(), script(t, map[string]event.Target{"all": all}, text)); err != nil {
			t.Fatal(err)
		}
	}
	deliver(many.String() + "@all")
	if some, more := j.Pending(); len(some) != maxPending || more != 2*maxPending {
		t.Errorf("%d and %d more", len(some), more)
	}
	deliver("o00=done o20=still")
	if some, more := j.Pending(); len(some) != maxPending || more != 2*maxPending-1 || some[maxPending-1].Object.Name != "o20" {
		t.Errorf("%d and %d more", len(some), more)
	}
}

// TestExpressionError checks that the first error of each expression is reported and that the
// stream continues.
func TestExpressionError(t *testing.T) {
	said := 0
	next := event.SinkFunc(func(context.Context, []event.Event) error { return nil })
	j := New(next, []event.Target{all}, Options{
		Until:   compile(t, "object.phase > 3"),
		FailIf:  compile(t, "object.phase < 3"),
		OnError: func(*expression.Expression, event.Event, error) { said++ },
	})
	if err := j.Deliver(t.Context(), script(t, map[string]event.Target{"all": all}, "a=x b=x @all a=y")); err != nil || said != 2 {
		t.Errorf("%v, %d said", err, said)
	}
}

// TestNextFails checks that an outcome contains the error of the next Sink.
func TestNextFails(t *testing.T) {
	full := errors.New("full")
	j := New(event.SinkFunc(func(context.Context, []event.Event) error { return full }), []event.Target{all}, Options{Until: compile(t, "true"), Quantifier: Any})
	if err := j.Deliver(t.Context(), script(t, map[string]event.Target{"all": all}, "a=x")); !errors.Is(err, full) {
		t.Error(err)
	} else if outcome, decided := errors.AsType[*Outcome](err); !decided || outcome.Undelivered == nil {
		t.Errorf("%T", err)
	}
}

// TestPendingAbsent checks that a target that must not exist, and does not, is not pending.
func TestPendingAbsent(t *testing.T) {
	next := event.SinkFunc(func(context.Context, []event.Event) error { return nil })
	j := New(next, []event.Target{a, b}, Options{Until: compile(t, "deleted")})
	if err := j.Deliver(t.Context(), script(t, map[string]event.Target{"a": a, "b": b}, "a=x @a @b")); err != nil {
		t.Fatal(err)
	}
	if some, more := j.Pending(); len(some) != 1 || some[0].Object.Name != "a" || more != 0 {
		t.Errorf("pending are %v and %d more, want a", some, more)
	}
}

// TestReevaluate checks that expressions that read the clock are evaluated again as time passes.
func TestReevaluate(t *testing.T) {
	const old = "now() - time > duration('1m')"
	targets := map[string]event.Target{"all": all}
	for _, test := range []struct {
		name, until, failIf string
		quantifier          Quantifier
		events              string
		seconds             int // after which the run is decided; 0 means never
		failed              bool
	}{
		{"all: the last one", old, "", All, "a=x @all b=x", 63, false},
		{"any: the first one", old, "", Any, "@all a=x b=x", 62, false},
		{"each", "now() - time > duration('1m') && now() - time < duration('62s')", "", Each, "@all a=x a=y b=x", 64, false},
		{"all: never at the same time", "now() - time > duration('1m') && now() - time < duration('61500ms')", "", All, "@all a=x a=y b=x c=x", 0, false},
		{"failed", "", old, All, "@all a=x", 62, true},
		{"failed is looked at first", old, old, Any, "@all a=x b=x", 62, true},
		{"age", "age(object) > duration('1m')", "", All, "@all a=x", 0, false}, // the object has no creationTimestamp
		{"a deleted object does not count", old, "", All, "@all a=x -a", 0, false},
		{"the connection is lost", old, "", Any, "@all a=x all/", 0, false},
		{"another condition", "object.phase == 'done'", "", All, "@all a=x", 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Unix(0, 0)
			input := expression.Options{Now: func() time.Time { return now }}
			s := New(event.SinkFunc(func(context.Context, []event.Event) error { return nil }), []event.Target{all},
				Options{Until: compile(t, test.until), FailIf: compile(t, test.failIf), Quantifier: test.quantifier, Input: input})
			events := script(t, targets, test.events)
			for i := range events { // one per second
				now = events[i].Time
				if err := s.Deliver(t.Context(), events[i:i+1]); err != nil {
					t.Fatal(err)
				}
			}
			for after := 1; after < 100; after++ {
				now = time.Unix(int64(after), 0)
				if o := s.Reevaluate(); o != nil {
					if after != test.seconds || o.Failed != test.failed {
						t.Errorf("%+v after %d s", o, after)
					}
					return
				}
			}
			if test.seconds > 0 {
				t.Error("the run was not decided")
			}
		})
	}
}
