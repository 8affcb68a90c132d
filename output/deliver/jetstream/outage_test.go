package jetstream

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/output/deliver"
	"dwatch/watcher/event"
)

// TestKilled: a server that is killed again and again while many events are under way has
// all of them in the end, each once, and those of an object in their order.
func TestKilled(t *testing.T) {
	t.Parallel()
	const objects, versions, kills = 20, 100, 4
	s := newServer(t)
	newStream(t, client(t, s), jetstream.StreamConfig{})
	r, _ := newReceiver(t, s.Address, Options{})
	queue := deliver.New(r, deliver.Options{
		Name:       "nats",
		Encode:     func(dst []byte, e event.Event) ([]byte, error) { return append(dst, e.Object.ResourceVersion...), nil },
		Subject:    func(e event.Event) string { return e.Object.Name },
		Workers:    8,
		MaxBackoff: 200 * time.Millisecond,
		Rate:       objects * versions / 2, // two seconds, if nothing happened
	})
	var running sync.WaitGroup
	running.Go(func() { queue.Run(t.Context()) })
	for v := range versions {
		var batch []event.Event
		for o := range objects {
			batch = append(batch, podEvent(fmt.Sprintf("pod-%d", o), v+1))
		}
		if err := queue.Deliver(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	js := client(t, s)
	for k := range kills {
		eventually(t, "some are stored", func() bool {
			stream, err := js.Stream(t.Context(), "S")
			return err == nil && stream.CachedInfo().State.Msgs > uint64((k+1)*objects*versions/(kills+2))
		})
		s.Kill()
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
		js = client(t, s)
	}
	queue.Drain()
	running.Wait()
	summary, undelivered := queue.Summary()
	t.Log(summary)
	if undelivered != 0 {
		t.Errorf("%d undelivered", undelivered)
	}
	stream, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]int{}
	for _, m := range stored(t, stream) {
		version, err := strconv.Atoi(string(m.Data))
		if err != nil || version != last[m.Subject]+1 {
			t.Errorf("%s: %d after %d, %v", m.Subject, version, last[m.Subject], err)
		}
		last[m.Subject] = version
	}
	for subject, version := range last {
		if version != versions {
			t.Errorf("%s ends with %d", subject, version)
		}
	}
	if len(last) != objects {
		t.Errorf("%d objects", len(last))
	}
}

func podEvent(name string, version int) event.Event {
	id := &event.Identity{APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: fmt.Sprint(version)}
	return event.Event{Type: event.Modified, Target: pods, Object: event.NewObject(id, "{}"), Time: time.Now()}
}

var pods = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", true)}

// TestNothingLater: what failed is never sent but by another Send.
func TestNothingLater(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	newStream(t, client(t, s), jetstream.StreamConfig{})
	p := newProxy(t, s.Address)
	r, _ := newReceiver(t, p.address(), Options{})
	send := func(version int) error { return r.Send(within(t, 300*time.Millisecond), pod("a", version)) }
	if err := send(1); err != nil {
		t.Fatal(err)
	}
	p.set(true, false) // nothing reaches the server
	if err := send(2); !isDown(err) || err.Error() != "not stored within 300ms" {
		t.Errorf("%v", err)
	}
	p.drop() // nor will it
	p.set(false, false)
	if err := send(3); err != nil {
		t.Error(err)
	}
	s.Kill()
	eventually(t, "the loss is noticed", func() bool { return isDown(send(4)) })
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it works again", func() bool { return send(5) == nil })
	stream, err := client(t, s).Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range stored(t, stream) {
		got = append(got, m.Header.Get("Nats-Msg-Id"))
	}
	if want := "[uid-a/1/MODIFIED uid-a/3/MODIFIED uid-a/5/MODIFIED]"; fmt.Sprint(got) != want {
		t.Errorf("%v", got)
	}
}

// TestLostAnswer: a message that was stored, of which nobody was told, is stored once.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	stream := newStream(t, client(t, s), jetstream.StreamConfig{})
	p := newProxy(t, s.Address)
	r, _ := newReceiver(t, p.address(), Options{})
	if err := r.Send(t.Context(), pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	p.set(false, true)
	if err := r.Send(within(t, 300*time.Millisecond), pod("a", 2)); !isDown(err) {
		t.Errorf("%v", err)
	}
	eventually(t, "it is stored", func() bool { return len(stored(t, stream)) == 2 })
	p.drop()
	p.set(false, false)
	if err := r.Send(t.Context(), pod("a", 2)); err != nil {
		t.Error(err)
	}
	if got := len(stored(t, stream)); got != 2 {
		t.Errorf("%d stored", got)
	}
}

// TestWindow: a repeat that comes after the duplicate window is stored again.
func TestWindow(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	stream := newStream(t, client(t, s), jetstream.StreamConfig{Duplicates: 100 * time.Millisecond})
	r, _ := newReceiver(t, s.Address, Options{})
	eventually(t, "it is stored again", func() bool {
		if err := r.Send(t.Context(), pod("a", 1)); err != nil {
			t.Fatal(err)
		}
		return len(stored(t, stream)) == 2
	})
}

// TestSilent: a server that lives no more, without a word, is noticed without a deadline.
func TestSilent(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	newStream(t, client(t, s), jetstream.StreamConfig{})
	p := newProxy(t, s.Address)
	const silence = 2 * time.Second
	r, _ := newReceiver(t, p.address(), Options{SilenceTimeout: silence})
	if err := r.Send(t.Context(), pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	p.set(true, true)
	begun := time.Now()
	if err := r.Send(t.Context(), pod("a", 2)); !isDown(err) || time.Since(begun) > 3*silence {
		t.Errorf("%v after %s", err, time.Since(begun))
	}
	begun = time.Now()
	if err := r.Send(t.Context(), pod("a", 2)); !isDown(err) || time.Since(begun) > 2*openTimeout {
		t.Errorf("%v after %s", err, time.Since(begun))
	}
	p.drop()
	p.set(false, false)
	if err := r.Send(t.Context(), pod("a", 2)); err != nil {
		t.Error(err)
	}
}

// TestSlowConnection: to connect may take longer than a try, whose end does not end it.
func TestSlowConnection(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	newStream(t, client(t, s), jetstream.StreamConfig{})
	p := newProxy(t, s.Address)
	r, _ := newReceiver(t, p.address(), Options{})
	p.set(true, true)
	try, end := deliver.WithDeadline(t.Context(), 50*time.Millisecond)
	defer end()
	if err := r.Send(try, pod("a", 1)); !isDown(err) {
		t.Error(err)
	}
	p.set(false, false)
	eventually(t, "it is connected", func() bool { return r.conn.Load().isReady() })
}

// TestEnd: Send ends with its context: while it connects, waits for an answer, and while
// the connection takes no more.
func TestEnd(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	newStream(t, client(t, s), jetstream.StreamConfig{})
	p := newProxy(t, s.Address)
	ends := func(what string, r *Receiver, n, size int) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		var sending sync.WaitGroup
		for i := range n {
			sending.Go(func() {
				m := pod(fmt.Sprint("pod-", i), 1)
				m.Body = make([]byte, size)
				if err := r.Send(ctx, m); err == nil {
					t.Errorf("%s: sent", what)
				}
			})
		}
		done := make(chan struct{})
		go func() {
			sending.Wait()
			close(done)
		}()
		eventually(t, "all are under way", func() bool { return r.underWay() == n || r.conn.Load() == nil && p.isUsed() })
		begun := time.Now()
		cancel()
		select {
		case <-done:
			if took := time.Since(begun); took > openTimeout/2 {
				t.Errorf("%s: took %s", what, took)
			}
		case <-time.After(patience):
			t.Fatalf("%s: never", what)
		}
	}
	for what, size := range map[string]int{"waits": 10, "full": 900_000} {
		r, _ := newReceiver(t, p.address(), Options{})
		if err := r.Send(t.Context(), pod("a", 1)); err != nil {
			t.Fatal(err)
		}
		p.set(true, false)
		ends(what, r, 50, size)
		p.drop()
		p.set(false, false)
	}
	p.set(true, true)
	r, _ := newReceiver(t, p.address(), Options{})
	ends("connects", r, 1, 10)
}

// underWay is how many calls of Send wait for an answer.
func (r *Receiver) underWay() int {
	c := r.conn.Load()
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}
