package watcher

import (
	"cmp"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// What the server serves changes with two resources, and with chosen namespaces there is a third. Of their objects only the metadata is asked
// for.
var (
	definitions = metadataOf("apiextensions.k8s.io", "customresourcedefinitions")
	apiServices = metadataOf("apiregistration.k8s.io", "apiservices")
)

func metadataOf(group, resource string) event.Target {
	r := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	return event.Target{Mapping: event.NewMapping(r, "PartialObjectMetadata", false)}
}

// lookEvery is how often the server is asked what it serves while the changes of that are watched:
// an aggregated API server may change by itself.
const lookEvery = 5 * time.Minute

// lookAfter are the waits between the looks that follow a change: a definition is served, and named
// by discovery, some time after it is written.
var lookAfter = []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}

// busyStep is the step to go on with when changes keep coming: a look every second.
const busyStep = 2

// follower decides when a targetSet looks.
type follower struct {
	// changed and up hold one signal each: an object has changed, a watch works (again).
	changed, up chan struct{}
	// blind counts the watches of definitions that are down: while one is, poll is how often to
	// look.
	blind atomic.Int32
	poll  time.Duration
	// step is the next wait of lookAfter; after the last, nothing has changed for long.
	step int
	due  time.Time
	// lingers: something is to leave as soon as the rest of it has been reported.
	lingers bool
}

func newFollower(poll time.Duration) *follower {
	f := &follower{changed: make(chan struct{}, 1), up: make(chan struct{}, 1), poll: poll, step: len(lookAfter)}
	f.planNext()
	return f
}

// followServer looks whenever the server may serve something else.
func (s *targetSet) followServer() {
	f := newFollower(cmp.Or(s.options.PollInterval, 30*time.Second))
	watched := []event.Target{definitions, apiServices}
	if s.options.Namespaces != nil {
		watched = append(watched, namespaces)
	}
	for _, t := range watched {
		s.running.Go(func() { s.watchDefinitions(t, f) })
	}
	timer := time.NewTimer(time.Until(f.due))
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-f.changed:
			f.lookSoon(0)
		case <-s.options.ResolveAgain:
			f.lookSoon(0)
		case <-f.up:
			f.lookSoon(len(lookAfter) - 2)
		case <-timer.C:
			if !s.look() {
				source.Signal(f.changed)
			}
			f.lingers = s.lingers
			f.planNext()
		}
		timer.Reset(time.Until(f.due))
	}
}

// lookSoon plans a look for soon, and others after it from this step on. While looks already follow
// a change, it only adds to them.
func (f *follower) lookSoon(step int) {
	if f.step > 0 && f.step < len(lookAfter) {
		f.step = min(f.step, busyStep)
		return
	}
	f.step = step + 1
	f.due = time.Now().Add(lookAfter[0])
}

// planNext plans the look after this one.
func (f *follower) planNext() {
	wait := lookEvery
	if f.blind.Load() > 0 {
		wait = f.poll
	}
	if f.lingers {
		wait = min(wait, lookAfter[len(lookAfter)-1])
	}
	if f.step < len(lookAfter) {
		wait = lookAfter[f.step]
		f.step++
	}
	f.due = time.Now().Add(wait)
}

// watchDefinitions watches t for the sake of f, until the set's context ends. It is built on a
// source, and not on client-go's metadata informer: that waits for up to a minute after an outage.
func (s *targetSet) watchDefinitions(t event.Target, f *follower) {
	r := *s.run
	r.options.Resolver = nil
	r.source.Client, r.source.Budget = s.metadata, source.NewByteBudget()
	r.source.LabelSelector, r.source.FieldSelector, r.source.Shard = "", "", event.Shard{} // not those of the targets
	var blind atomic.Bool
	r.note = func(n note) {
		r.source.Budget.Release(n.ReservedBytes)
		switch {
		case n.Kind == source.Changed:
			source.Signal(f.changed)
		case n.Kind == source.SyncEnded, n.Kind == source.Connected && n.ResourceVersion != "":
			if blind.CompareAndSwap(true, false) {
				f.blind.Add(-1)
			}
			source.Signal(f.up)
		case n.Kind == source.Lost:
			if blind.CompareAndSwap(false, true) {
				f.blind.Add(1)
				source.Signal(f.up)
			}
		}
	}
	l := r.newLife(newTarget(t, false))
	l.source.AssumeServerResponded() // so that it retries for ever
	_ = l.live(s.ctx, l.source.Run)
}
