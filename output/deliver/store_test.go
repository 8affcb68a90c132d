package deliver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dwatch/watcher/event"
)

// disk is a Store.
type disk struct {
	mu      sync.Mutex
	last    uint64
	records map[uint64][]byte
	adds    int
	broken  error         // the error of Add
	lost    error         // the error of Record
	busy    chan struct{} // if not nil, Add waits for an element
	takes   time.Duration // the duration of Add
}

func (d *disk) Add(records [][]byte, forget []uint64) (uint64, error) {
	if d.busy != nil {
		<-d.busy
	}
	time.Sleep(d.takes)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return 0, d.broken
	}
	if d.records == nil {
		d.records = map[uint64][]byte{}
	}
	for _, number := range forget {
		delete(d.records, number)
	}
	d.adds++
	first := d.last + 1
	for _, record := range records {
		d.last++
		d.records[d.last] = bytes.Clone(record)
	}
	return first, nil
}

func (d *disk) Record(number uint64) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.records[number], d.lost
}

func (d *disk) Remove(number uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.records, number)
}

func (d *disk) Each(take func(uint64, []byte) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, number := range slices.Sorted(maps.Keys(d.records)) {
		if err := take(number, d.records[number]); err != nil {
			return err
		}
	}
	return nil
}

func (d *disk) len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.records)
}

// TestRecord checks that decoding a record returns the encoded message, and that damage is detected.
func TestRecord(t *testing.T) {
	q := New(nil, Options{Store: &disk{}})
	for _, e := range []event.Event{of("a", 7), of("b\x00\xff\n\x1b", 8), {
		Type: event.Added, Initial: true, Target: configMaps, Object: event.NewObject(&event.Identity{Name: "c", ResourceVersion: "9"}, ""), Time: time.Unix(1, 2),
	}} {
		m := newMessage(&e, []byte(strings.Repeat("body of "+e.Object.Name, 1000)), "cm/x")
		m.queued = time.Now()
		record := q.codec.encode(m)
		got, err := q.codec.decode(record)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Time.Equal(m.Time) || !got.queued.Equal(m.queued) {
			t.Errorf("got times %v and %v, want %v and %v", got.Time, got.queued, m.Time, m.queued)
		}
		got.Time, got.queued = m.Time, m.queued
		if diff := cmp.Diff(m, got, cmp.AllowUnexported(Message{})); diff != "" {
			t.Error(diff)
		}
		if len(record) > 500 {
			t.Errorf("the record has %d bytes, want at most 500", len(record))
		}
		for cut := range record {
			if _, err := q.codec.decode(record[:cut]); !errors.Is(err, errRecord) {
				t.Errorf("truncated to %d bytes: got %v, want %v", cut, err, errRecord)
			}
			damaged := bytes.Clone(record)
			damaged[cut] ^= 0x55
			if got, err := q.codec.decode(damaged); err == nil && bytes.Equal(got.Body, m.Body) && cmp.Equal(got.Identity, m.Identity) &&
				got.Type == m.Type && got.Resource == m.Resource && got.Subject == m.Subject && got.Time.Equal(m.Time) && got.queued.Equal(m.queued) && got.initial == m.initial {
				t.Errorf("damage at %d is not detected", cut)
			}
		}
	}
}

// TestStored checks that a batch is stored as a whole before any of its messages is sent, and that delivered messages are removed.
func TestStored(t *testing.T) {
	store := &disk{}
	inBubble(t, Options{Store: store, Workers: 3}, always, func(t *testing.T, r *running) {
		store.busy = make(chan struct{})
		done := make(chan error)
		go func() {
			done <- r.Deliver(t.Context(), []event.Event{of("a", 1), {Type: event.Synced}, of("b", 1), of("a", 2)})
		}()
		synctest.Wait()
		if n := len(r.all()); n != 0 {
			t.Errorf("%d messages were sent before they were stored", n)
		}
		store.busy <- struct{}{}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := r.taken(); len(got) != 3 || slices.Index(got, "a=1") > slices.Index(got, "a=2") {
			t.Errorf("accepted %q, want three messages in order", got)
		}
		if store.len() != 0 || store.adds != 1 {
			t.Errorf("%d records are left after %d commits, want none after one", store.len(), store.adds)
		}
		go func() { done <- r.Deliver(t.Context(), []event.Event{{Type: event.Synced}}) }()
		if err := <-done; err != nil || store.adds != 1 {
			t.Errorf("status event: got %v and %d commits, want no further commit", err, store.adds)
		}
		if text, undelivered := r.Summary(); text != "fake: 3 delivered, 0 repeated, 0 given up, 0 waiting" || undelivered != 0 || r.Stats().Waiting != 0 {
			t.Errorf("got summary %q, %d undelivered, %d waiting", text, undelivered, r.Stats().Waiting)
		}
	})
}

// TestNotStored checks that events that can't be stored are not sent, and that Deliver returns the error.
func TestNotStored(t *testing.T) {
	for _, latest := range []bool{false, true} {
		store := &disk{}
		inBubble(t, Options{Store: store, LatestOnly: latest}, never, func(t *testing.T, r *running) {
			r.deliver(t, of("a", 1))
			store.broken = errors.New("no space left")
			if err := r.Deliver(t.Context(), []event.Event{of("a", 2)}); !errors.Is(err, store.broken) {
				t.Errorf("got %v, want %v", err, store.broken)
			}
			r.recovers()
			await(time.Minute)
			if got := r.taken(); !slices.Equal(got, []string{"a=1"}) {
				t.Errorf("accepted %q, want a=1", got)
			}
		})
	}
}

// restart ends a run and begins the next one, and returns the number of restored messages.
func (r *running) restart(t *testing.T, o Options) int {
	t.Helper()
	r.stop()
	r.Queue = New(r.fake, o)
	n, err := r.Restore()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	r.stop = func() { stop(); <-done }
	return n
}

// TestRestored checks that messages that wait at the end of a run wait in the next run, before new ones, with the same times and IDs.
func TestRestored(t *testing.T) {
	store := &disk{}
	bodies := map[string]string{}
	var down atomic.Bool
	down.Store(true)
	answer := func(m *Message, _ int) error {
		if down.Load() {
			return errNo
		}
		bodies[m.ID] = string(m.Body)
		return nil
	}
	inBubble(t, Options{Store: store}, answer, func(t *testing.T, r *running) {
		r.deliver(t, of("a", 1), of("b", 1), of("a", 2), of("c", 1))
		await(time.Hour)
		r.Drain()
		synctest.Wait()
		if _, open := r.schedule.work.Get(); !open {
			t.Error("Run does not return although the receiver is down")
		}
		text, undelivered := r.Summary()
		if !strings.HasSuffix(text, "0 given up, 4 waiting; the last failure: no") || undelivered != 0 || r.Stats().Waiting != 4 {
			t.Errorf("got summary %q, %d undelivered, %d waiting", text, undelivered, r.Stats().Waiting)
		}
		if n := r.restart(t, r.Options); n != 4 {
			t.Errorf("%d messages were restored, want 4", n)
		}
		r.deliver(t, of("a", 3))
		if s := r.Status(); !strings.Contains(s, "5 waiting, oldest 60 min") {
			t.Errorf("got status %q", s)
		}
		down.Store(false)
		await(10 * time.Minute)
		if got := r.taken(); !slices.Equal(slices.DeleteFunc(got, func(s string) bool { return s[0] != 'a' }), []string{"a=1", "a=2", "a=3"}) {
			t.Errorf("accepted %q, want a=1, a=2 and a=3 in order", got)
		}
		want := map[string]string{"uid-a/1/MODIFIED": "{}\n", "uid-a/2/MODIFIED": "{}\n", "uid-a/3/MODIFIED": "{}\n", "uid-b/1/MODIFIED": "{}\n", "uid-c/1/MODIFIED": "{}\n"}
		if diff := cmp.Diff(want, bodies); diff != "" {
			t.Error(diff)
		}
		if store.len() != 0 {
			t.Errorf("%d records are left in the Store", store.len())
		}
	})
}

// TestRestoredGivenUp checks that restored messages expire at their original age.
func TestRestoredGivenUp(t *testing.T) {
	store := &disk{}
	inBubble(t, Options{Store: store, GiveUpAfter: time.Hour}, never, func(t *testing.T, r *running) {
		r.deliver(t, of("a", 1))
		await(40 * time.Minute)
		r.deliver(t, of("b", 1))
		r.restart(t, r.Options)
		await(19 * time.Minute)
		if w := list(r.warnings()); w != "" {
			t.Errorf("before the message expired: got warnings %s", w)
		}
		await(3 * time.Minute)
		if w := list(r.warnings()); w != "gave up MODIFIED of cm/a (uid-a/1/MODIFIED): no" {
			t.Errorf("got warnings %s", w)
		}
		r.recovers()
		await(3 * time.Minute)
		if got := r.taken(); !slices.Equal(got, []string{"b=1"}) || store.len() != 0 {
			t.Errorf("accepted %q, %d records left, want b=1 and none", got, store.len())
		}
	})
}

// TestRestoredFromLater checks that a message from the future, after the clock was set back, counts as old as the run.
func TestRestoredFromLater(t *testing.T) {
	store := &disk{}
	inBubble(t, Options{Store: store, GiveUpAfter: time.Minute}, never, func(t *testing.T, r *running) {
		e := of("a", 1)
		m := newMessage(&e, []byte("{}\n"), "cm/a")
		m.queued = time.Now().Add(time.Hour)
		if _, err := store.Add([][]byte{r.codec.encode(m)}, nil); err != nil {
			t.Fatal(err)
		}
		r.restart(t, r.Options)
		await(2 * time.Minute)
		if n := len(r.warnings()); n != 1 {
			t.Errorf("%d messages were given up, want 1: %s", n, r.Status())
		}
	})
}

// TestUnreadable checks that a Store that can't be read ends the delivery.
func TestUnreadable(t *testing.T) {
	for name, spoil := range map[string]func(*disk){
		"lost":    func(d *disk) { d.lost = errors.New("input/output error") },
		"damaged": func(d *disk) { d.records[1] = d.records[1][:len(d.records[1])-3] },
	} {
		store := &disk{}
		var failed []error
		o := Options{Store: store, OnStorageError: func(err error) { failed = append(failed, err) }}
		answer := func(*Message, int) error { spoil(store); return errNo }
		inBubble(t, o, answer, func(t *testing.T, r *running) {
			r.deliver(t, of("a", 1))
			await(time.Minute)
			if len(failed) != 1 || r.Err() != failed[0] || len(r.all()) != 1 {
				t.Errorf("%s: got errors %v, Err %v, %d attempts, want one error and one attempt", name, failed, r.Err(), len(r.all()))
			}
		})
	}
	store := &disk{records: map[uint64][]byte{1: []byte("nonsense")}}
	if _, err := New(nil, Options{Store: store}).Restore(); !errors.Is(err, errRecord) {
		t.Errorf("Restore: got %v, want %v", err, errRecord)
	}
}

// TestFullStore checks that a batch is accepted as a whole while there is any room, and that Deliver then blocks until there is room
// again.
func TestFullStore(t *testing.T) {
	store := &disk{}
	inBubble(t, Options{Store: store, MaxBytes: 150}, never, func(t *testing.T, r *running) {
		var batch []event.Event
		for i := range 5 {
			batch = append(batch, of(fmt.Sprint("o", i), 1))
		}
		if err := r.Deliver(t.Context(), batch); err != nil || store.len() != 5 {
			t.Errorf("first batch: got %v and %d records, want 5", err, store.len())
		}
		returned := make(chan error, 1)
		go func() { returned <- r.Deliver(t.Context(), []event.Event{of("late", 1)}) }()
		await(time.Hour)
		if s := r.Status(); len(returned) > 0 || !strings.Contains(s, "outbox full: reading is paused") {
			t.Errorf("the second batch did not block, status %q", s)
		}
		r.recovers()
		if err := <-returned; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := r.taken(); len(got) != 6 {
			t.Errorf("accepted %q, want 6 messages", got)
		}
	})
}

// counter is a Store that only counts its records.
type counter struct{ disk }

func (c *counter) Add(records [][]byte, _ []uint64) (uint64, error) {
	first := c.last + 1
	c.last += uint64(len(records))
	return first, nil
}

// TestStoredMemory checks how much memory a stored message takes.
func TestStoredMemory(t *testing.T) {
	const events = 50_000
	for _, test := range []struct{ objects, most int }{{100, 100}, {events, 250}} { // bytes for each event
		q := New(nil, Options{
			Encode:  func(dst []byte, e event.Event) ([]byte, error) { return append(dst, e.Object.Raw()...), nil },
			Subject: func(e event.Event) string { return "cm/" + e.Object.Name },
			Store:   &counter{},
		})
		before := inUse()
		var batch []event.Event
		for i := range events {
			if batch = append(batch, of(fmt.Sprint("object", i%test.objects), i)); len(batch) == 100 {
				if err := q.Deliver(t.Context(), batch); err != nil {
					t.Fatal(err)
				}
				batch = batch[:0]
			}
		}
		clear(batch[:cap(batch)])
		if got := (inUse() - before) / events; got > test.most {
			t.Errorf("with %d objects, an event takes %d bytes of memory, want at most %d", test.objects, got, test.most)
		}
		q.Drain()
		q.schedule.work.ShutDown()
	}
}

// inUse returns the size of the used heap.
func inUse() int {
	runtime.GC()
	runtime.GC() // what the first one has found to be dead
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
