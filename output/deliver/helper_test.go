package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

var configMaps = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true)}

// of returns an event of the object with a name, with a state of that number.
func of(name string, version int) event.Event {
	id := &event.Identity{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: name,
		UID: types.UID("uid-" + name), ResourceVersion: fmt.Sprint(version),
	}
	return event.Event{Type: event.Modified, Target: configMaps, Object: event.NewObject(id, "{}"), Time: time.Now()}
}

// message returns the message for an event of an object.
func message(name string) *Message {
	e := of(name, 7)
	return newMessage(&e, []byte(`{"type":"MODIFIED"}`+"\n"), "cm/"+name)
}

// within returns the context of an attempt with a deadline.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, end := WithDeadline(t.Context(), d)
	t.Cleanup(end)
	return ctx
}

// try is one call of a fake receiver.
type try struct {
	name, version string
	at            time.Duration
	taken         bool
}

func (t try) String() string { return t.name + "=" + t.version }

// fake is a Receiver whose results come from a function.
type fake struct {
	answer func(m *Message, n int) error // n is the number of the attempt, from 1
	begun  time.Time

	mu    sync.Mutex
	tries []try
	busy  map[string]bool
	wrong []string
}

func (f *fake) Send(ctx context.Context, m *Message) error {
	f.mu.Lock()
	if f.busy == nil {
		f.busy = map[string]bool{}
	}
	if f.busy[m.Name] {
		f.wrong = append(f.wrong, "two at a time of "+m.Name)
	}
	f.busy[m.Name] = true
	n := len(f.tries)
	f.tries = append(f.tries, try{name: m.Name, version: m.ResourceVersion, at: time.Since(f.begun)})
	answer := f.answer
	f.mu.Unlock()

	err := answer(m, n+1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy[m.Name] = false
	f.tries[n].taken = err == nil
	return err
}

// recovers makes the receiver accept all further messages.
func (f *fake) recovers() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = always
}

// always accepts each message, and never fails each attempt.
func always(*Message, int) error { return nil }
func never(*Message, int) error  { return errNo }

var errNo = errors.New("no")

// all returns the attempts so far.
func (f *fake) all() []try {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.tries)
}

// taken returns the accepted messages in order.
func (f *fake) taken() (names []string) {
	for _, t := range f.all() {
		if t.taken {
			names = append(names, t.String())
		}
	}
	return names
}

// running is a running Queue, with the lines that it logs.
type running struct {
	*Queue
	*fake
	stop func() // as at the end of --drain

	mu           sync.Mutex
	said, warned []string
}

// lines returns the logged lines so far, and warnings the warnings.
func (r *running) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.said)
}

func (r *running) warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.warned)
}

// inBubble runs a test with a Queue in a bubble of package synctest, which has a fake clock.
func inBubble(t *testing.T, o Options, answer func(m *Message, n int) error, test func(*testing.T, *running)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &running{fake: &fake{answer: answer, begun: time.Now()}}
		o.Name = "fake"
		if o.Encode == nil {
			o.Encode = func(dst []byte, e event.Event) ([]byte, error) { return append(dst, e.Object.Raw()+"\n"...), nil }
		}
		o.Subject = func(e event.Event) string { return "cm/" + e.Object.Name }
		o.Log = func(line string) { r.mu.Lock(); r.said = append(r.said, line); r.mu.Unlock() }
		o.Warn = func(line string) { r.mu.Lock(); r.warned = append(r.warned, line); r.mu.Unlock() }
		r.Queue = New(r.fake, o)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Run(ctx)
		}()
		r.stop = func() {
			stop()
			<-done
		}
		test(t, r)
		r.stop()
		for _, w := range r.wrong {
			t.Error(w)
		}
	})
}

// deliver delivers events, each as a batch.
func (r *running) deliver(t *testing.T, events ...event.Event) {
	t.Helper()
	for _, e := range events {
		if err := r.Deliver(t.Context(), []event.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
}

// await lets a time pass, and waits until all goroutines are blocked.
func await(d time.Duration) {
	time.Sleep(d) // on the fake clock
	synctest.Wait()
}

func list(lines []string) string { return strings.Join(lines, "\n") }
