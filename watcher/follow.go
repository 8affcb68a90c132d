package watcher

import (
	"cmp"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// Changes to these objects change which resources the server serves. If namespaces are selected,
// the namespaces are followed, too. Only metadata is requested.
var (
	definitions = metadataTarget("apiextensions.k8s.io", "customresourcedefinitions")
	apiServices = metadataTarget("apiregistration.k8s.io", "apiservices")
)

func metadataTarget(group, resource string) event.Target {
	r := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	return event.Target{Mapping: event.NewMapping(r, "PartialObjectMetadata", false)}
}

// resolveInterval is how often the targets are resolved while the trigger watches work. An
// aggregated API server may change what it serves without a change to any watched object.
const resolveInterval = 5 * time.Minute

// resolveDelays are the waits before each of the resolutions that follow a change. The server serves
// a new definition, and discovery lists it, some time after it was written.
var resolveDelays = []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}

// busyStep is the step of resolveDelays to which changes return while earlier ones are still being
// followed up. Constant changes then lead to one resolution per second.
const busyStep = 2

// follower schedules when a targetSet is resolved.
type follower struct {
	changed   chan struct{} // has a signal if an object of a trigger resource has changed
	connected chan struct{} // has a signal if a trigger watch was lost or works again
	// down is the number of trigger watches that do not work. If there are any, the targets are
	// resolved every pollInterval.
	down         atomic.Int32
	pollInterval time.Duration
	// step is the index of the next wait in resolveDelays. It is len(resolveDelays) if no change is
	// being followed up.
	step int
	due  time.Time
	// awaitsDeletions is true if a target will be removed as soon as its deletions have been
	// reported.
	awaitsDeletions bool
}

func newFollower(pollInterval time.Duration) *follower {
	f := &follower{changed: make(chan struct{}, 1), connected: make(chan struct{}, 1), pollInterval: pollInterval, step: len(resolveDelays)}
	f.scheduleNext()
	return f
}

// followServer resolves the targets whenever the server may serve other resources.
func (s *targetSet) followServer() {
	f := newFollower(cmp.Or(s.options.PollInterval, 30*time.Second))
	triggers := []event.Target{definitions, apiServices}
	if s.options.Namespaces != nil {
		triggers = append(triggers, namespaces)
	}
	for _, t := range triggers {
		s.running.Go(func() { s.watchTrigger(t, f) })
	}
	timer := time.NewTimer(time.Until(f.due))
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-f.changed:
			f.scheduleSoon(0)
		case <-s.options.ResolveAgain:
			f.scheduleSoon(0)
		case <-f.connected:
			f.scheduleSoon(len(resolveDelays) - 2)
		case <-timer.C:
			if !s.resolve() {
				source.Signal(f.changed)
			}
			f.awaitsDeletions = s.awaitsDeletions
			f.scheduleNext()
		}
		timer.Reset(time.Until(f.due))
	}
}

// scheduleSoon schedules a resolution soon, and more after it with the waits of resolveDelays after
// step. While a change is being followed up, it only extends that.
func (f *follower) scheduleSoon(step int) {
	if f.step > 0 && f.step < len(resolveDelays) {
		f.step = min(f.step, busyStep)
		return
	}
	f.step = step + 1
	f.due = time.Now().Add(resolveDelays[0])
}

// scheduleNext schedules the next resolution after one that has just been made.
func (f *follower) scheduleNext() {
	wait := resolveInterval
	if f.down.Load() > 0 {
		wait = f.pollInterval
	}
	if f.awaitsDeletions {
		wait = min(wait, resolveDelays[len(resolveDelays)-1])
	}
	if f.step < len(resolveDelays) {
		wait = resolveDelays[f.step]
		f.step++
	}
	f.due = time.Now().Add(wait)
}

// watchTrigger watches t until the set's context ends, and signals changes to f. It uses a source
// because client-go's metadata informer waits for up to a minute after an outage.
func (s *targetSet) watchTrigger(t event.Target, f *follower) {
	shared := *s.runState
	shared.options.Resolver = nil
	shared.source.Client, shared.source.Budget = s.metadata, source.NewByteBudget()
	shared.source.LabelSelector, shared.source.FieldSelector, shared.source.Shard = "", "", event.Shard{} // they select targets only
	var down atomic.Bool
	shared.send = func(m message) {
		shared.source.Budget.Release(m.ReservedBytes)
		switch {
		case m.Kind == source.Changed, m.Kind == source.Unreadable:
			source.Signal(f.changed)
		case m.Kind == source.SyncEnded, m.Kind == source.Connected && m.ResourceVersion != "":
			if down.CompareAndSwap(true, false) {
				f.down.Add(-1)
			}
			source.Signal(f.connected)
		case m.Kind == source.Lost:
			if down.CompareAndSwap(false, true) {
				f.down.Add(1)
				source.Signal(f.connected)
			}
		}
	}
	r := shared.newRunner(newTarget(t, false))
	r.source.AssumeServerResponded() // so that it retries forever
	_ = r.runSessions(s.ctx, r.source.Run)
}
