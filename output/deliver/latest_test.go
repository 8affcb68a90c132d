package deliver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// parse parses an event of the object a: TYPE UID/VERSION, with a star if the object existed at the start.
func parse(t *testing.T, text string) event.Event {
	t.Helper()
	var kind, state string
	if _, err := fmt.Sscan(strings.ReplaceAll(text, "*", ""), &kind, &state); err != nil {
		t.Fatal(err)
	}
	uid, version, _ := strings.Cut(state, "/")
	e := of("a", 0)
	id := *e.Object.Identity
	id.UID, id.ResourceVersion = types.UID(uid), version
	e.Type, e.Object, e.Initial = event.Type(kind), event.NewObject(&id, "{}"), strings.HasSuffix(text, "*")
	if e.Type == event.Modified {
		e.Old = e.Object
	}
	return e
}

// describe appends an event in the format of parse, and whether it has the old state.
func describe(dst []byte, e event.Event) ([]byte, error) {
	dst = fmt.Appendf(dst, "%s %s/%s", e.Type, e.Object.UID, e.Object.ResourceVersion)
	if e.Initial {
		dst = append(dst, '*')
	}
	if !e.Old.IsZero() {
		dst = append(dst, " old"...)
	}
	return append(dst, '\n'), nil
}

// modes runs a test with messages in memory and in a Store, with a batch for each event and with one batch for all events.
func modes(t *testing.T, test func(t *testing.T, o Options, deliver func(*running, ...event.Event))) {
	each := func(r *running, events ...event.Event) { r.deliver(t, events...) }
	whole := func(r *running, events ...event.Event) {
		if err := r.Deliver(t.Context(), events); err != nil {
			t.Error(err)
		}
	}
	o := Options{LatestOnly: true, Encode: describe}
	t.Run("memory", func(t *testing.T) { test(t, o, each) })
	o.Store = &disk{}
	t.Run("store", func(t *testing.T) { test(t, o, each) })
	o.Store = &disk{}
	t.Run("batch", func(t *testing.T) { test(t, o, whole) })
}

// TestMerged checks which messages wait after sequences of events.
func TestMerged(t *testing.T) {
	for name, test := range map[string]struct{ came, waits []string }{
		"new, changed":            {[]string{"ADDED 1/1*", "MODIFIED 1/2", "MODIFIED 1/3"}, []string{"ADDED 1/3*"}},
		"changed":                 {[]string{"MODIFIED 1/1", "MODIFIED 1/2"}, []string{"MODIFIED 1/2"}},
		"changed, deleted":        {[]string{"MODIFIED 1/1", "DELETED 1/2"}, []string{"DELETED 1/2"}},
		"new, deleted":            {[]string{"ADDED 1/1", "MODIFIED 1/2", "DELETED 1/3"}, []string{"DELETED 1/3"}},
		"once":                    {[]string{"MODIFIED 1/1"}, []string{"MODIFIED 1/1 old"}},
		"made again":              {[]string{"MODIFIED 1/1", "DELETED 1/2", "ADDED 2/3", "MODIFIED 2/4"}, []string{"DELETED 1/2", "ADDED 2/4"}},
		"made again, twice":       {[]string{"DELETED 1/2", "ADDED 2/3", "DELETED 2/4", "ADDED 3/5"}, []string{"DELETED 1/2", "DELETED 2/4", "ADDED 3/5"}},
		"left, and back":          {[]string{"MODIFIED 1/1", "DELETED 1/2", "ADDED 1/3", "MODIFIED 1/4"}, []string{"DELETED 1/2", "ADDED 1/4"}},
		"left, back, left":        {[]string{"DELETED 1/2", "ADDED 1/3", "DELETED 1/4", "DELETED 1/5"}, []string{"DELETED 1/2", "DELETED 1/5"}},
		"deletions are left out":  {[]string{"MODIFIED 1/1", "ADDED 2/2", "MODIFIED 2/3"}, []string{"MODIFIED 1/1 old", "ADDED 2/3"}},
		"back, without deletions": {[]string{"MODIFIED 1/1", "ADDED 1/2", "MODIFIED 1/3"}, []string{"ADDED 1/3"}},
	} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, o Options, deliver func(*running, ...event.Event)) {
				var got []string
				var answers chan struct{} // closed when the receiver may answer
				answer := func(m *Message, _ int) error {
					<-answers
					body := strings.TrimSpace(string(m.Body))
					if got = append(got, body); !strings.HasPrefix(body, string(m.Type)+" "+string(m.UID)+"/"+m.ResourceVersion) || m.ID != fmt.Sprintf("%s/%s/%s", m.UID, m.ResourceVersion, m.Type) {
						t.Errorf("message %s of %s/%s has ID %s and body %s", m.Type, m.UID, m.ResourceVersion, m.ID, body)
					}
					return nil
				}
				inBubble(t, o, answer, func(t *testing.T, r *running) {
					answers = make(chan struct{})
					r.deliver(t, of("other", 1)) // this message is being sent until the receiver answers
					var events []event.Event
					for _, text := range test.came {
						events = append(events, parse(t, text))
					}
					deliver(r, events...)
					synctest.Wait()
					close(answers)
					await(time.Hour)
					got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, "uid-other") })
					if diff := cmp.Diff(test.waits, got); diff != "" {
						t.Error(diff)
					}
					merged := len(test.came) - len(test.waits)
					if text, _ := r.Summary(); !strings.HasSuffix(text, fmt.Sprintf(", 0 waiting, %d merged", merged)) {
						t.Errorf("got summary %q, want %d merged", text, merged)
					}
					if d, ok := o.Store.(*disk); ok && d.len() != 0 {
						t.Errorf("%d records are left in the Store", d.len())
					}
				})
			})
		})
	}
}

// TestMergedWhileSent checks that a message that is being sent is not replaced, but that a message waiting behind it is.
func TestMergedWhileSent(t *testing.T) {
	modes(t, func(t *testing.T, o Options, deliver func(*running, ...event.Event)) {
		var held chan struct{}
		var got []string
		answer := func(m *Message, _ int) error {
			<-held
			got = append(got, strings.TrimSpace(string(m.Body)))
			return nil
		}
		inBubble(t, o, answer, func(t *testing.T, r *running) {
			held = make(chan struct{})
			r.deliver(t, parse(t, "ADDED 1/1"))
			synctest.Wait()
			deliver(r, parse(t, "MODIFIED 1/2"), parse(t, "MODIFIED 1/3"))
			if s := r.Status(); s != "delivering to fake: 2 waiting, oldest 0 s, 1 merged" {
				t.Errorf("got status %q", s)
			}
			close(held)
			synctest.Wait()
			if diff := cmp.Diff([]string{"ADDED 1/1", "MODIFIED 1/3"}, got); diff != "" {
				t.Error(diff)
			}
		})
	})
}

// TestNotSentWhileReplaced checks that a message is not sent while its replacement is being stored, even if the message would be the next probe.
func TestNotSentWhileReplaced(t *testing.T) {
	store := &disk{}
	var got []string
	var down atomic.Bool
	down.Store(true)
	answer := func(m *Message, _ int) error {
		if down.Load() {
			return &DownError{Err: errNo}
		}
		got = append(got, strings.TrimSpace(string(m.Body)))
		return nil
	}
	inBubble(t, Options{LatestOnly: true, Encode: describe, Store: store, MaxBackoff: time.Second}, answer, func(t *testing.T, r *running) {
		r.deliver(t, parse(t, "ADDED 1/1"))
		synctest.Wait()
		store.busy = make(chan struct{})
		done := make(chan error)
		go func() { done <- r.Deliver(t.Context(), []event.Event{parse(t, "MODIFIED 1/2")}) }()
		synctest.Wait()
		down.Store(false)
		await(time.Minute)
		if len(got) > 0 {
			t.Errorf("%q was sent while its replacement was being stored", got)
		}
		store.busy <- struct{}{}
		if err := <-done; err != nil {
			t.Error(err)
		}
		await(time.Minute)
		if diff := cmp.Diff([]string{"ADDED 1/2"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestFrequentlyReplaced checks that an object is sent even if new messages about it are always being stored, and that it does not delay others.
func TestFrequentlyReplaced(t *testing.T) {
	inBubble(t, Options{LatestOnly: true, Store: &disk{takes: time.Millisecond}}, always, func(t *testing.T, r *running) {
		const rounds = 200
		for n := range rounds {
			r.deliver(t, of("hot", n))
		}
		if sent := len(r.all()); sent < rounds/4 {
			t.Errorf("got %d attempts, want at least %d", sent, rounds/4)
		}
	})
}

// TestLatest checks that the last state of each object reaches a receiver with random failures, and that states arrive in order.
func TestLatest(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	for seed := range rounds {
		random := rand.New(rand.NewPCG(3, uint64(seed)))
		o := Options{Workers: 1 + random.IntN(5), MaxBackoff: time.Duration(1+random.IntN(20)) * time.Second, LatestOnly: true}
		if seed%2 == 0 {
			o.Store = &disk{}
		}
		flaky := &flakyReceiver{random: rand.New(rand.NewPCG(4, uint64(seed))), quota: random.IntN(200)}
		var mu sync.Mutex
		came, taken, recovered := map[string]int{}, map[string]int{}, false
		o.Encode = func(dst []byte, e event.Event) ([]byte, error) {
			came[e.Object.Name], _ = strconv.Atoi(e.Object.ResourceVersion)
			return append(dst, "{}\n"...), nil
		}
		answer := func(m *Message, n int) error {
			var err error
			if !recovered {
				err = flaky.answer(m, n)
			}
			version, _ := strconv.Atoi(m.ResourceVersion)
			mu.Lock()
			defer mu.Unlock()
			if version < taken[m.Name] {
				t.Errorf("%s was accepted after version %d", m.ID, taken[m.Name])
			}
			if err == nil {
				taken[m.Name] = version
			}
			return err
		}
		inBubble(t, o, answer, func(t *testing.T, r *running) {
			events := deliverSome(t, r, random)
			r.Drain()
			await(24 * time.Hour)
			if o.Store != nil { // the run ended before all messages were delivered
				recovered = true
				r.restart(t, r.Options)
				await(time.Hour)
			}
			if r.schedule.Waiting != 0 || r.schedule.Bytes != 0 {
				t.Errorf("%d of %d messages with %d bytes still wait", r.schedule.Waiting, events, r.schedule.Bytes)
			}
			if diff := cmp.Diff(came, taken); diff != "" {
				t.Error(diff)
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
