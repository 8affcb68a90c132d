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

// TestKilled kills and restarts the server several times during delivery. In the end, the stream must have each event once, and the
// events of an object in order.
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
		Rate:       objects * versions / 2, // two seconds without outages
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
		eventually(t, "some events are stored", func() bool {
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
		t.Errorf("%d events undelivered, want none", undelivered)
	}
	stream, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]int{}
	for _, m := range stored(t, stream) {
		version, err := strconv.Atoi(string(m.Data))
		if err != nil || version != last[m.Subject]+1 {
			t.Errorf("%s: version %d follows %d, %v", m.Subject, version, last[m.Subject], err)
		}
		last[m.Subject] = version
	}
	for subject, version := range last {
		if version != versions {
			t.Errorf("%s ends with version %d, want %d", subject, version, versions)
		}
	}
	if len(last) != objects {
		t.Errorf("got events of %d objects, want %d", len(last), objects)
	}
}

// podEvent returns an event of a pod.
func podEvent(name string, version int) event.Event {
	id := &event.Identity{APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: fmt.Sprint(version)}
	return event.Event{Type: event.Modified, Target: pods, Object: event.NewObject(id, "{}"), Time: time.Now()}
}

var pods = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", true)}

// TestNotSentLater checks that a message whose Send failed is not sent later, except by another Send.
func TestNotSentLater(t *testing.T) {
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
		t.Errorf("without a connection: got %v", err)
	}
	p.drop() // discards the message
	p.set(false, false)
	if err := send(3); err != nil {
		t.Error(err)
	}
	s.Kill()
	eventually(t, "the Receiver notices the loss", func() bool { return isDown(send(4)) })
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Receiver has reconnected", func() bool { return send(5) == nil })
	stream, err := client(t, s).Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range stored(t, stream) {
		got = append(got, m.Header.Get("Nats-Msg-Id"))
	}
	if want := "[uid-a/1/MODIFIED uid-a/3/MODIFIED uid-a/5/MODIFIED]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestLostConfirmation checks that a message is stored once if its confirmation was lost and it is sent again.
func TestLostConfirmation(t *testing.T) {
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
		t.Errorf("without a confirmation: got %v, want a DownError", err)
	}
	eventually(t, "the message is stored", func() bool { return len(stored(t, stream)) == 2 })
	p.drop()
	p.set(false, false)
	if err := r.Send(t.Context(), pod("a", 2)); err != nil {
		t.Error(err)
	}
	if got := len(stored(t, stream)); got != 2 {
		t.Errorf("%d messages stored, want 2", got)
	}
}

// TestDuplicateWindow checks that a repeated message is stored again after the duplicate window.
func TestDuplicateWindow(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	stream := newStream(t, client(t, s), jetstream.StreamConfig{Duplicates: 100 * time.Millisecond})
	r, _ := newReceiver(t, s.Address, Options{})
	eventually(t, "the message is stored again", func() bool {
		if err := r.Send(t.Context(), pod("a", 1)); err != nil {
			t.Fatal(err)
		}
		return len(stored(t, stream)) == 2
	})
}

// TestSilent checks that a server that stops responding counts as down, even without a deadline.
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
		t.Errorf("got %v after %s, want a DownError within %s", err, time.Since(begun), 3*silence)
	}
	begun = time.Now()
	if err := r.Send(t.Context(), pod("a", 2)); !isDown(err) || time.Since(begun) > 2*openTimeout {
		t.Errorf("new connection: got %v after %s, want a DownError within %s", err, time.Since(begun), 2*openTimeout)
	}
	p.drop()
	p.set(false, false)
	if err := r.Send(t.Context(), pod("a", 2)); err != nil {
		t.Error(err)
	}
}

// TestSlowConnection checks that connecting may take longer than an attempt, and continues after the attempt has ended.
func TestSlowConnection(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	newStream(t, client(t, s), jetstream.StreamConfig{})
	p := newProxy(t, s.Address)
	r, _ := newReceiver(t, p.address(), Options{})
	p.set(true, true)
	attempt, end := deliver.WithDeadline(t.Context(), 50*time.Millisecond)
	defer end()
	if err := r.Send(attempt, pod("a", 1)); !isDown(err) {
		t.Errorf("got %v, want a DownError", err)
	}
	p.set(false, false)
	eventually(t, "the Receiver is connected", func() bool { return r.conn.Load().isReady() })
}

// TestCancelled checks that Send returns when its context is cancelled: while it connects, while it waits for a confirmation, and
// while the connection accepts no more data.
func TestCancelled(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	newStream(t, client(t, s), jetstream.StreamConfig{})
	p := newProxy(t, s.Address)
	checkCancel := func(what string, r *Receiver, n, size int) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		var sending sync.WaitGroup
		for i := range n {
			sending.Go(func() {
				m := pod(fmt.Sprint("pod-", i), 1)
				m.Body = make([]byte, size)
				if err := r.Send(ctx, m); err == nil {
					t.Errorf("%s: Send returned no error", what)
				}
			})
		}
		done := make(chan struct{})
		go func() {
			sending.Wait()
			close(done)
		}()
		eventually(t, "all messages are being sent", func() bool { return r.pending() == n || r.conn.Load() == nil && p.isUsed() })
		begun := time.Now()
		cancel()
		select {
		case <-done:
			if took := time.Since(begun); took > openTimeout/2 {
				t.Errorf("%s: Send took %s to return, want at most %s", what, took, openTimeout/2)
			}
		case <-time.After(patience):
			t.Fatalf("%s: Send did not return", what)
		}
	}
	for what, size := range map[string]int{"waiting for confirmations": 10, "full connection": 900_000} {
		r, _ := newReceiver(t, p.address(), Options{})
		if err := r.Send(t.Context(), pod("a", 1)); err != nil {
			t.Fatal(err)
		}
		p.set(true, false)
		checkCancel(what, r, 50, size)
		p.drop()
		p.set(false, false)
	}
	p.set(true, true)
	r, _ := newReceiver(t, p.address(), Options{})
	checkCancel("connecting", r, 1, 10)
}

// pending returns the number of calls of Send that wait for a confirmation.
func (r *Receiver) pending() int {
	c := r.conn.Load()
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}
