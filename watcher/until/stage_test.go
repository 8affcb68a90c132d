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

// script makes events of words: name=phase is ADDED at first, then MODIFIED; -name
// DELETED, with the last phase; @target SYNCED, with what is there by then; and target
// with one of the signs of marks is that mark. ~ before the word of an object says that it
// is listed.
func script(t *testing.T, targets map[string]event.Target, text string) (events []event.Event) {
	t.Helper()
	phases := map[string]string{}
	initial := true
	for _, word := range strings.Fields(text) {
		e := event.Event{Time: time.Unix(int64(len(events)), 0), Target: targets["all"], Listed: word[0] == '~'}
		word = strings.TrimPrefix(word, "~")
		name, phase, isChange := strings.Cut(word, "=")
		if of, named := targets[strings.Trim(name, "@-?!/+#")]; named {
			e.Target = of
		}
		sign, isMark := marks[word[len(word)-1]]
		switch {
		case word[0] == '@':
			e.Type, e.Count = event.Synced, len(phases)
			if e.Target.Name != "" && phases[e.Target.Name] == "" {
				e.Count = 0
			}
			initial = false
		case isMark:
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

// marks are those of script, by their signs.
var marks = map[byte]event.Type{'?': event.Gone, '!': event.Arrived, '/': event.Disconnected, '+': event.Reconnected, '#': event.Gap}

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

// TestStage: after how many events it is decided, and how; 0 for never.
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
		{"what exists is not known yet", one, done, "", All, "a=done b=done c=new @all", 0, false},
		{"not at the same time", one, done, "", All, "a=done b=new @all a=new b=done a=done", 6, false},
		{"at least one", one, done, "", All, "@all a=new a=done", 3, false},
		{"one that goes", one, done, "", All, "a=done b=new @all -b", 4, false},
		{"all that were there go", one, done, "", All, "a=new @all -a", 0, false},
		{"one that comes", one, done, "", All, "a=new @all b=new a=done b=done", 5, false},
		{"a name that is not there", two, done, "", All, "a=done @a @b b=done", 4, false},
		{"a name that goes", two, done, "", All, "a=done b=new -b @a @b b=new b=done", 7, false},
		{"a name in all namespaces", anywhere, done, "", All, "a=new @a a=done", 3, false},
		{"a name that no namespace has", anywhere, done, "", All, "@a a=done", 2, false},
		{"a name in all namespaces, deleted", anywhere, "deleted", "", All, "a=x @a -a", 3, false},
		{"a name in all namespaces, in the gap", anywhere, done, "", All, "a=new @a a/ ~a=done a#", 5, false},
		{"its last state counts", two, done, "", All, "a=done b=done -b @a @b", 5, false},
		{"any", one, done, "", Any, "a=new b=done @all", 2, false},
		{"any, later", one, done, "", Any, "a=new b=new @all b=done", 4, false},
		{"each", one, done, "", Each, "a=done b=new @all a=new b=done", 5, false},
		{"each, created anew", one, done, "", Each, "a=done b=new @all -a a=new b=done a=done", 7, false},
		{"each, gone after it held", one, done, "", Each, "a=new b=new @all a=done -a b=done", 6, false},
		{"deleted", one, "deleted", "", All, "a=x b=x @all -a -b", 5, false},
		{"deleted, and there is none", one, "deleted", "", All, "@all", 1, false},
		{"deleted, of two names one is not there", two, "deleted", "", All, "a=x @a @b -a", 4, false},
		{"deleted, but created in between", two, "deleted", "", All, "a=x @a @b b=x -a -b", 6, false},
		{"deleted and created anew", map[string]event.Target{"a": a}, "deleted", "", All, "a=x @a -a a=x", 3, false},
		{"changed, and there is none", map[string]event.Target{"a": a}, "changed", "", All, "@a a=x", 2, false},
		{"failed", one, done, "object.phase == 'bad'", All, "a=new b=new @all b=bad a=done", 4, true},
		{"failed before all is known", one, done, "object.phase == 'bad'", All, "a=bad @all", 1, true},
		{"both: failed is looked at first", one, done, done, Any, "a=done", 1, true},
		{"only what fails", one, "", "type == 'DELETED'", All, "a=x @all -a", 3, true},
		{"what fails is not what is not there", map[string]event.Target{"a": a}, done, "deleted", All, "@a a=done", 2, false},
		{"the resource goes and comes", one, done, "", All, "a=new @all -a all? all! a=done @all", 7, false},
		{"the resource of a name goes", two, done, "", All, "b=new a=new @a @b -a a? b=done", 0, false},
		{"the resource of a name goes and comes", two, done, "", All, "b=new a=new @a @b -a a? b=done a! a=done @a", 10, false},
		{"a name whose resource goes at the start", two, done, "", All, "b=done @b a?", 0, false},
		{"deleted, with its resource", two, "deleted", "", All, "a=x @a b=x @b -a a? -b", 7, false},
		{"deleted, as its resource is gone", two, "deleted", "", All, "b=x @b a? -b", 4, false},
		{"deleted, all of a resource that is gone", one, "deleted", "", All, "all?", 1, false},
		{"a relist that is not over", one, done, "", All, "a=new b=done @all ~a=done ~b=new all#", 0, false},
		{"the state came in the gap", one, done, "", All, "a=new b=done @all all/ ~a=done all#", 6, false},
		{"any, in the gap", one, done, "", Any, "a=new b=new @all all/ ~a=done ~b=done all#", 5, false},
		{"deleted and created anew in the gap", one, done, "", All, "a=new @all all/ ~-a ~a=done all#", 6, false},
		{"a name, deleted and created anew in the gap", map[string]event.Target{"a": a}, "deleted", "", All, "a=x @a a/ ~-a ~a=x a#", 4, false},
		{"two names, in the gap of one", two, done, "", All, "a=done b=new @a @b b/ a=new ~b=done b# a=done", 9, false},
		{"deleted, in a gap that another one goes in", one, done, "", All, "a=done b=new c=new @all all/ ~-b ~-c all#", 8, false},
		{"no connection to the other", two, done, "", All, "a=done b=new @a @b a/ b=done a+", 7, false},
		{"a right is missing", two, done, "", All, "a=done @a b/ b! b=done", 0, false},
		{"whatever is there", one, "true", "", All, "@all a=x", 2, false},
		{"whatever is there, by name", two, "true", "", Any, "@a @b b=x", 3, false},
		{"any, deleted, and there is none", two, "deleted", "", Any, "a=x @a @b", 3, false},
		{"a state that passes fast", one, "object.phase == 'blink'", "", Any, "a=x @all a=blink a=x", 3, false},
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
					t.Errorf("in batches of %d: %v after %d events, want it after %d", size, err, len(delivered), want)
				}
			}
		})
	}
}

// TestAwaited: a resource that the server does not have yet is waited for.
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
		t.Error("of any, others are not waited for")
	}
}

// TestOutcomeObject: one object that decides is named, also when that shows by a mark.
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

// TestPending: what it waits for, of which some is kept.
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

// TestMistake: the first error of each expression is reported, and the stream goes on.
func TestMistake(t *testing.T) {
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

// TestNextFails: that what decides could not be delivered comes with the outcome.
func TestNextFails(t *testing.T) {
	full := errors.New("full")
	j := New(event.SinkFunc(func(context.Context, []event.Event) error { return full }), []event.Target{all}, Options{Until: compile(t, "true"), Quantifier: Any})
	if err := j.Deliver(t.Context(), script(t, map[string]event.Target{"all": all}, "a=x")); !errors.Is(err, full) {
		t.Error(err)
	} else if outcome, decided := errors.AsType[*Outcome](err); !decided || outcome.Undelivered == nil {
		t.Errorf("%T", err)
	}
}

// TestPendingAbsent: what has to be gone, and is, is not waited for.
func TestPendingAbsent(t *testing.T) {
	next := event.SinkFunc(func(context.Context, []event.Event) error { return nil })
	j := New(next, []event.Target{a, b}, Options{Until: compile(t, "deleted")})
	if err := j.Deliver(t.Context(), script(t, map[string]event.Target{"a": a, "b": b}, "a=x @a @b")); err != nil {
		t.Fatal(err)
	}
	if some, more := j.Pending(); len(some) != 1 || some[0].Object.Name != "a" || more != 0 {
		t.Errorf("it waits for %v and %d more, want a", some, more)
	}
}

// TestAgain: what looks at the present is judged again as time passes.
func TestAgain(t *testing.T) {
	const old = "now() - time > duration('1m')"
	targets := map[string]event.Target{"all": all}
	for _, test := range []struct {
		name, until, failIf string
		quantifier          Quantifier
		events              string
		seconds             int // after which it is decided; 0: never
		failed              bool
	}{
		{"all: the last one", old, "", All, "a=x @all b=x", 63, false},
		{"any: the first one", old, "", Any, "@all a=x b=x", 62, false},
		{"each", "now() - time > duration('1m') && now() - time < duration('62s')", "", Each, "@all a=x a=y b=x", 64, false},
		{"all: never at the same time", "now() - time > duration('1m') && now() - time < duration('61500ms')", "", All, "@all a=x a=y b=x c=x", 0, false},
		{"failed", "", old, All, "@all a=x", 62, true},
		{"failed is looked at first", old, old, Any, "@all a=x b=x", 62, true},
		{"age", "age(object) > duration('1m')", "", All, "@all a=x", 0, false}, // it does not say
		{"what is deleted is not there", old, "", All, "@all a=x -a", 0, false},
		{"the connection is lost", old, "", Any, "@all a=x all/", 0, false},
		{"another condition", "object.phase == 'done'", "", All, "@all a=x", 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Unix(0, 0)
			input := expression.Options{Now: func() time.Time { return now }}
			s := New(event.SinkFunc(func(context.Context, []event.Event) error { return nil }), []event.Target{all},
				Options{Until: compile(t, test.until), FailIf: compile(t, test.failIf), Quantifier: test.quantifier, Input: input})
			events := script(t, targets, test.events)
			for i := range events { // a second after the other
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
				t.Error("never")
			}
		})
	}
}
