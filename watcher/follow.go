package watcher

import (
	"cmp"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What the server serves changes with two resources. Of their objects only the
// metadata is asked for.
var (
	definitions = &meta.RESTMapping{
		Resource:         schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		GroupVersionKind: schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"},
		Scope:            meta.RESTScopeRoot,
	}
	apiServices = &meta.RESTMapping{
		Resource:         schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
		GroupVersionKind: schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"},
		Scope:            meta.RESTScopeRoot,
	}
)

// lookEvery is how often the server is asked what it serves while all changes of
// that can be watched: an aggregated API server may change by itself.
const lookEvery = 5 * time.Minute

// lookAfter are the waits between the looks that follow a change: a definition is
// served, and named by discovery, some time after it is written.
var lookAfter = []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}

// busy is the step to go on with when changes keep coming: a look every second.
const busy = 2

// follower decides when a roster looks.
type follower struct {
	// changed and up hold one each: an object has changed, a watch works (again).
	changed, up chan struct{}
	// deaf counts the scouts that hear nothing: until that ends, poll is how often
	// to look.
	deaf atomic.Int32
	poll time.Duration
	// step is the next wait of lookAfter; after the last, nothing has changed for long.
	step int
	due  time.Time
}

func newFollower(poll time.Duration) *follower {
	f := &follower{changed: make(chan struct{}, 1), up: make(chan struct{}, 1), poll: poll, step: len(lookAfter)}
	f.rest()
	return f
}

// followServer looks whenever the server may serve something else, until the
// roster's context ends.
func (r *roster) followServer() {
	f := newFollower(cmp.Or(r.options.Poll, 30*time.Second))
	for _, mapping := range []*meta.RESTMapping{definitions, apiServices} {
		r.running.Go(func() { r.scout(mapping, f) })
	}
	timer := time.NewTimer(time.Until(f.due))
	defer timer.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-f.changed:
			f.hurry(0)
		case <-f.up:
			f.hurry(len(lookAfter) - 2)
		case <-timer.C:
			if !r.look() {
				signal(f.changed)
			}
			f.rest()
		}
		timer.Reset(time.Until(f.due))
	}
}

// hurry makes a look come soon, and others after it from this step on. While
// looks follow a change already, there are only more of them.
func (f *follower) hurry(step int) {
	if f.step > 0 && f.step < len(lookAfter) {
		f.step = min(f.step, busy)
		return
	}
	f.step = step + 1
	f.due = time.Now().Add(lookAfter[0])
}

// rest plans the look after this one.
func (f *follower) rest() {
	wait := lookEvery
	if f.deaf.Load() > 0 {
		wait = f.poll
	}
	if f.step < len(lookAfter) {
		wait = lookAfter[f.step]
		f.step++
	}
	f.due = time.Now().Add(wait)
}

// scout watches a resource for the sake of f, with the means that all targets
// have.
func (r *roster) scout(mapping *meta.RESTMapping, f *follower) {
	options := Options{RequestTimeout: r.options.RequestTimeout, SyncSilence: r.options.SyncSilence, WatchLife: r.options.WatchLife}
	quiet := &run{options: &options, client: r.scouts, gate: newGate()}
	var deaf atomic.Bool
	quiet.emit = func(e emission) {
		quiet.gate.leave(e.held)
		f.note(e.Event, &deaf)
	}
	t := newTarget(Target{Mapping: mapping}, quiet)
	t.answered = true // so that it tries on for ever
	_ = t.live(r.ctx) // which is an error of the start only
}

func (f *follower) note(e Event, deaf *atomic.Bool) {
	switch {
	case e.Initial:
	case !e.Type.IsMark():
		signal(f.changed)
	case e.Type == Synced, e.Type == Reconnected, e.Type == Gap:
		if deaf.CompareAndSwap(true, false) {
			f.deaf.Add(-1)
		}
		signal(f.up)
	default:
		if deaf.CompareAndSwap(false, true) {
			f.deaf.Add(1)
			signal(f.up)
		}
	}
}

// signal leaves a sign in c, which holds one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
