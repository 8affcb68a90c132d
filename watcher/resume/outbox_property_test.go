package resume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"dwatch/output/deliver"
	"dwatch/watcher/event"
	"dwatch/watcher/ledger"
	"dwatch/watcher/settle"
)

// TestKilledWithOutbox simulates processes that are killed at any moment and continue with the file
// of the previous one, and receivers that fail. Each event must arrive at least once, and the
// events of one object in order. With Latest, and with events that wait to settle, the last state
// of each object must arrive.
func TestKilledWithOutbox(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 10
	}
	for seed := range rounds {
		for _, how := range []string{"all", "latest", "settled"} {
			t.Run(fmt.Sprintf("%d,%s", seed, how), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := &history{
						t: t, random: rand.New(rand.NewPCG(uint64(seed), 1)), chance: rand.New(rand.NewPCG(uint64(seed), 2)), latest: how == "latest", settled: how == "settled",
						objects: map[string]event.Identity{}, order: map[string]int{}, got: map[string]bool{},
						known: map[types.UID]string{}, new: map[string]int{},
					}
					path := newPath(t)
					for range 1 + h.random.IntN(8) {
						path = h.run(path)
					}
					h.deadly, h.quota = false, 0
					h.run(path)
					h.check()
				})
			})
			if t.Failed() {
				return
			}
		}
	}
}

// history is a cluster, and the events that a receiver gets from successive processes.
type history struct {
	t      testing.TB
	random *rand.Rand
	latest bool
	// settled makes events wait until their object settles.
	settled bool

	objects  map[string]event.Identity // existing objects by name
	versions int
	made     int
	order    map[string]int // of events by ID, in the order in which they were created
	accepted []string       // IDs of events that count as reported

	mu     sync.Mutex
	chance *rand.Rand // decides about failures and kills
	// killed is true if the process is dead. Its later actions have no effect.
	killed bool
	deadly bool // the process may be killed at random
	quota  int  // remaining failures of the receiver
	kill   func()
	// got are the IDs of received events, and known the resourceVersions of objects that exist for
	// the receiver. last is the order of the last event of each object in this process, and new
	// that of the last one received for the first time.
	got   map[string]bool
	known map[types.UID]string
	last  map[string]int
	new   map[string]int
}

// run runs one process, and returns the path of its file.
func (h *history) run(path string) (left string) {
	left = path
	f := openMine(h.t, path)
	f.db.NoSync = true // only the process is killed, not the machine
	outbox, err := f.OpenOutbox("json")
	if err != nil {
		h.t.Fatal(err)
	}
	h.kill = func() { left = copyOf(h.t, f) }
	q := deliver.New(h, deliver.Options{
		Encode:     h.encode,
		Subject:    func(e event.Event) string { return e.Object.Name },
		Workers:    1 + h.random.IntN(4),
		MaxBackoff: time.Second,
		Store:      outbox, LatestOnly: h.latest, MaxBytes: 1 << 20,
		OnStorageError: func(err error) { h.t.Error(err) },
	})
	stage := f.NewStage(q, func(err error) { h.t.Error(err) })
	stage.UpstreamBuffers = h.settled
	if _, err := q.Restore(); err != nil {
		h.t.Fatal(err)
	}
	h.last, h.killed = map[string]int{}, false
	ctx, stop := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); q.Run(ctx) }()
	if h.settled {
		waiting := settle.New(stage, settle.Options{QuietPeriod: 3 * time.Second, MaxWait: 10 * time.Second})
		h.report(f, waiting)
		if err := waiting.Flush(h.t.Context()); err != nil {
			h.t.Fatal(err)
		}
	} else {
		h.report(f, stage)
	}
	if h.random.IntN(3) > 0 && h.deadly {
		h.mu.Lock()
		h.die()
		h.mu.Unlock()
	}
	q.Drain()
	patience := time.AfterFunc(10*time.Second, stop)
	if !h.deadly {
		patience.Stop() // the last process delivers everything
	}
	<-done
	stop()
	if err := errors.Join(stage.Close(), f.Close()); err != nil {
		h.t.Fatal(err)
	}
	h.deadly, h.quota = h.random.IntN(4) > 0, h.random.IntN(60)
	return left
}

// report acts as the watcher: it reports the differences from the file, and then changes.
func (h *history) report(f *File, stage event.Sink) {
	l := ledger.New(pods.Mapping.GroupVersionKind, false)
	if _, err := f.History(pods, l.Restore); err != nil {
		h.t.Fatal(err)
	}
	l.BeginSync()
	var batch []event.Event
	for _, name := range slices.Sorted(maps.Keys(h.objects)) {
		batch = l.Observe(batch, event.Event{Object: objectOf(h.objects[name]), Listed: true, Initial: true})
		if h.random.IntN(4) == 0 {
			batch = h.deliver(stage, batch)
		}
	}
	batch = l.Sweep(batch)
	batch = append(batch, event.Event{Type: event.Synced})
	for range h.random.IntN(40) {
		batch = h.deliver(stage, batch)
		for range 1 + h.random.IntN(4) {
			batch = l.Observe(batch, h.change())
		}
		if h.random.IntN(3) == 0 {
			time.Sleep(time.Duration(h.random.IntN(2000)) * time.Millisecond) // of the synctest bubble
		}
	}
	h.deliver(stage, batch)
}

// change changes one object of the cluster.
func (h *history) change() event.Event {
	h.versions++
	name := fmt.Sprint("o", h.random.IntN(5))
	id, exists := h.objects[name]
	gone := exists && h.random.IntN(3) == 0
	if !exists {
		id = event.Identity{APIVersion: "v1", Kind: "Kind", Namespace: "a", Name: name, UID: types.UID(fmt.Sprint("uid", h.versions))}
	}
	id.ResourceVersion = fmt.Sprint(h.versions)
	if h.objects[name] = id; gone {
		delete(h.objects, name)
	}
	e := event.Event{Object: objectOf(id)}
	if gone {
		e.Type = event.Deleted
	}
	return e
}

// objectOf returns an object of the cluster. One in three has no owner, and the others one of two
// owners, independently of previous objects with the same name.
func objectOf(id event.Identity) event.Object {
	var made int
	fmt.Sscanf(string(id.UID), "uid%d", &made)
	owner := ""
	if made%3 > 0 {
		owner = fmt.Sprintf(`"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"s","uid":"s%d","controller":true}],`, made%3)
	}
	return event.NewObject(&id, fmt.Sprintf(`{"metadata":{%s"uid":%q,"resourceVersion":%q}}`, owner, id.UID, id.ResourceVersion))
}

func idOf(e *event.Event) string {
	return fmt.Sprintf("%s/%s/%s", e.Object.UID, e.Object.ResourceVersion, e.Type)
}

// deliver delivers a batch and returns an empty one.
func (h *history) deliver(stage event.Sink, batch []event.Event) []event.Event {
	h.mu.Lock()
	for i := range batch {
		batch[i].Target, batch[i].Time = pods, time.Now()
		if !batch[i].Type.IsStatus() {
			h.made++
			h.order[idOf(&batch[i])] = h.made
		}
	}
	h.mu.Unlock()
	if h.settled {
		batch = append(batch, event.Event{Type: event.Heartbeat, Time: time.Now()})
	}
	if err := stage.Deliver(h.t.Context(), batch); err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range batch {
		if !h.killed && !batch[i].Type.IsStatus() {
			h.accepted = append(h.accepted, idOf(&batch[i]))
		}
	}
	return batch[:0]
}

// die kills the process, once.
func (h *history) die() {
	if !h.killed {
		h.t.Log("dies")
		h.kill()
		h.killed = true
	}
}

// encode encodes an event. The process may be killed here, within a batch.
func (h *history) encode(dst []byte, e event.Event) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.deadly && h.chance.IntN(60) == 0 {
		h.die()
	}
	if h.order[idOf(&e)] == 0 { // merged events have no order
		h.made++
		h.order[idOf(&e)] = h.made
	}
	return fmt.Append(dst, string(e.Type), " ", e.Object.ResourceVersion, "\n"), nil
}

// Send implements deliver.Receiver.
func (h *history) Send(_ context.Context, m *deliver.Message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.deadly && h.chance.IntN(60) == 0 {
		h.die()
	}
	fails := h.quota > 0 && h.chance.IntN(3) == 0
	if h.killed || fails && h.chance.IntN(2) == 0 {
		h.quota--
		return errors.New("no")
	}
	h.take(m)
	if fails {
		h.quota--
		return errors.New("it has it, and does not say so")
	}
	return nil
}

// take processes a message at the receiver.
func (h *history) take(m *deliver.Message) {
	if body := fmt.Sprintf("%s %s\n", m.Type, m.ResourceVersion); string(m.Body) != body {
		h.t.Errorf("%s has the body %q", m.ID, m.Body)
	}
	place := h.order[m.ID]
	h.t.Logf("took %s (%s)", m.ID, m.Name)
	switch {
	case place == 0:
		h.t.Errorf("%s was never created", m.ID)
	case place < h.last[m.Name]:
		h.t.Errorf("%s arrived out of order", m.ID)
	case !h.got[m.ID] && place < h.new[m.Name]:
		h.t.Errorf("%s arrived for the first time after a later one", m.ID)
	}
	if _, known := h.known[m.UID]; m.Type == event.Modified && !known && !h.got[m.ID] {
		h.t.Errorf("%s is about an unknown object", m.ID)
	}
	h.last[m.Name] = place
	if !h.got[m.ID] {
		h.new[m.Name] = place
	}
	h.got[m.ID] = true
	if h.known[m.UID] = m.ResourceVersion; m.Type == event.Deleted {
		delete(h.known, m.UID)
	}
}

// check checks the final state of the receiver.
func (h *history) check() {
	for _, id := range h.accepted {
		if !h.latest && !h.settled && !h.got[id] {
			h.t.Errorf("%s counts as reported but did not arrive", id)
		}
	}
	want := map[types.UID]string{}
	for _, id := range h.objects {
		want[id.UID] = id.ResourceVersion
	}
	if !maps.Equal(want, h.known) {
		h.t.Errorf("the receiver has objects %v, want %v", h.known, want)
	}
}
