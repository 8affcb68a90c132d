package watcher

import (
	"errors"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/watcher/event"
	"dwatch/watcher/ledger"
	"dwatch/watcher/source"
)

// target tracks what has been reported about one event.Target. Only the loop uses it, except for
// idle.
type target struct {
	event.Target
	index    int   // position in Options.Targets
	refusal  error // the server's first answer, if it was a refusal
	progress progress
	ledger   *ledger.Ledger
	// initial is true if the objects of the next list existed when the run started. It is false for
	// targets that joined later, and if an earlier run reported every object that existed then.
	// If existed is not nil, it decides for each object.
	initial bool
	existed func(event.Object) bool
	// idle is true if every reported object has been deleted, or if the watch is denied. If the
	// target's namespace is deleted, no more events are expected then. Any goroutine may read it.
	idle atomic.Bool
	// onVerified receives the results of verifications. nil disables them.
	onVerified func(Verification)
	// pending is the verification whose list the watch has not caught up with, or nil. reached is the
	// resourceVersion that the watch has reached.
	pending *verification
	reached string
	// relisted is true if all objects have been listed again since the last verification began.
	relisted bool
}

func newTarget(t event.Target, keepContent bool) *target {
	return &target{Target: t, ledger: ledger.New(t.Mapping.GroupVersionKind, keepContent), initial: true}
}

func (o *Options) newTarget(t event.Target) *target {
	target := newTarget(t, o.KeepContent)
	if o.VerifyInterval > 0 {
		target.onVerified = o.OnVerified
	}
	return target
}

// restore fills the ledger with what earlier runs reported.
func (t *target) restore(history event.HistoryFunc) error {
	if history == nil {
		return nil
	}
	complete, err := history(t.Target, t.ledger.Restore)
	if err != nil {
		return fmt.Errorf("read what was reported of %s: %w", t.Resource().GroupResource(), err)
	}
	t.initial = !complete
	return nil
}

// observe appends the events that an observation causes to dst.
func (t *target) observe(dst []event.Event, o source.Observation) []event.Event {
	from := len(dst)
	switch o.Kind {
	case source.SessionBegan:
		t.progress.beginSession()
	case source.Connected:
		dst = appendStatus(dst, t.progress.connect(o.ResourceVersion != ""), o.Event)
	case source.Lost:
		dst = appendStatus(dst, t.progress.lose(lossType(o.Err), errors.Is(o.Err, event.ErrSilentSync)), o.Event)
	case source.SyncBegan:
		t.abandonVerification()
		t.ledger.BeginSync()
	case source.SyncEnded:
		dst = t.endSync(dst, o.Event)
	case source.Proved:
		dst = appendStatus(dst, event.Bookmark, o.Event)
	case source.Unreadable:
		dst = t.observeUnreadable(dst, &o)
	case source.Listed, source.Changed:
		o.Listed = o.Kind == source.Listed
		o.Initial = o.Listed && o.Type == event.Added && t.initial && (t.existed == nil || t.existed(o.Object))
		dst = t.ledger.Observe(dst, o.Event)
	}
	t.noteProgress(&o)
	return t.setTarget(dst, from)
}

// observeUnreadable reports the deletion of an object whose content is not valid JSON. Otherwise, it
// only records that the object exists. The codec has logged its name.
func (t *target) observeUnreadable(dst []event.Event, o *source.Observation) []event.Event {
	if o.Type == event.Deleted {
		return t.ledger.Observe(dst, event.Event{Type: event.Deleted, Object: o.Object, FinalStateUnknown: true})
	}
	t.ledger.Retain(o.Object.Namespace, o.Object.Name)
	return dst
}

// endSync reports the objects that are missing from a complete list as deleted, and then the status.
func (t *target) endSync(dst []event.Event, e event.Event) []event.Event {
	dst = t.ledger.Sweep(dst)
	t.initial = false
	if e.From != "" {
		dst = appendStatus(dst, event.Gap, e)
	}
	return appendStatus(dst, t.progress.sync(), event.Event{Count: t.ledger.Len(), ResourceVersion: e.ResourceVersion})
}

// vanish reports all objects as deleted and the target as Gone.
func (t *target) vanish(dst []event.Event) []event.Event {
	from := len(dst)
	t.ledger.BeginSync()
	dst = appendStatus(t.ledger.Sweep(dst), t.progress.vanish(), event.Event{})
	return t.setTarget(dst, from)
}

// join reports a target that joined after the start. It takes over the ledgers of the targets that
// it replaces.
func (t *target) join(dst []event.Event, m *message) []event.Event {
	from := len(dst)
	t.progress, t.initial = progress{phase: waiting}, m.mayHaveExisted
	for _, narrower := range m.narrower {
		t.ledger.Merge(narrower.ledger)
	}
	return t.setTarget(appendStatus(dst, m.status, event.Event{}), from)
}

// leave reports that the target is no longer watched. If its namespace was deleted, leave first
// reports its objects as deleted. Otherwise they may still exist.
func (t *target) leave(dst []event.Event, reason error) []event.Event {
	from := len(dst)
	if errors.Is(reason, errNamespaceDeleted) {
		t.ledger.BeginSync()
		dst = t.ledger.Sweep(dst)
	}
	return t.setTarget(appendStatus(dst, event.Left, event.Event{Err: reason}), from)
}

func (t *target) updateIdle() { t.idle.Store(t.ledger.Len() == 0 || t.progress.loss == event.Denied) }

// reportRefusal reports that the server refused the target at the start, unless its progress has
// changed after the refusal.
func (t *target) reportRefusal(dst []event.Event) []event.Event {
	if t.progress != (progress{phase: refused, loss: lossType(t.refusal)}) {
		return dst
	}
	t.progress.phase = waiting
	return t.setTarget(appendStatus(dst, t.progress.loss, event.Event{Err: t.refusal}), len(dst))
}

// switchTo continues with another version or scope of the resource.
func (t *target) switchTo(current event.Target) {
	t.Target = current
	t.ledger.SetKind(current.Mapping.GroupVersionKind)
}

// setTarget sets the Target of all events after the first from.
func (t *target) setTarget(events []event.Event, from int) []event.Event {
	for i := range events[from:] {
		events[from+i].Target = t.Target
	}
	return events
}

// appendStatus appends a status event of type kind with the fields of e. If kind is empty, it appends
// nothing.
func appendStatus(dst []event.Event, kind event.Type, e event.Event) []event.Event {
	if kind == "" {
		return dst
	}
	e.Type = kind
	return append(dst, e)
}

// phase is the phase of a target's watch.
type phase uint8

const (
	connecting phase = iota // the server has not been heard from
	// refused means that the server's first answer was a refusal, which has not been reported. If it
	// refuses all targets, Run ends with an error instead.
	refused
	waiting // dwatch retries until the server serves and allows the resource
	syncing // the server is sending the existing objects
	live    // all existing objects have been reported
	ended   // the server no longer serves the resource
)

// progress is a state machine for a target's watch. Each method applies an observation and returns
// the type of the status event that reports it, or an empty type.
type progress struct {
	phase phase
	loss  event.Type // Disconnected or Denied if that was reported and the server has not answered since
	vague bool       // the reported loss was without a cause
}

// beginSession applies the start of a session, whose informer is empty.
func (p *progress) beginSession() {
	if p.phase == live {
		p.phase = syncing
	}
}

// connect applies that the server answers. resumed is true if the watch resumes where it stopped. The
// end of a loss is reported only then, because otherwise a list follows, whose end is reported.
func (p *progress) connect(resumed bool) event.Type {
	wasLost := p.loss != ""
	p.loss, p.vague = "", false
	if p.phase < syncing {
		p.phase = syncing
	}
	if wasLost && resumed {
		return event.Reconnected
	}
	return ""
}

// refuse applies that the server's first answer is a refusal, which is not reported yet.
func (p *progress) refuse(loss event.Type) {
	if p.phase == connecting {
		*p = progress{phase: refused, loss: loss}
	}
}

// sync applies that the server has sent all existing objects.
func (p *progress) sync() event.Type {
	if p.phase == live {
		return ""
	}
	p.phase = live
	return event.Synced
}

func (p *progress) vanish() event.Type {
	*p = progress{phase: ended}
	return event.Gone
}

// lose applies a failed request or a lost connection. vague means that the cause is unknown. A loss is reported once per type, and again
// when its cause is known.
func (p *progress) lose(loss event.Type, vague bool) event.Type {
	if p.loss == loss && (vague || !p.vague) {
		return ""
	}
	p.loss, p.vague = loss, vague
	if p.phase == refused {
		p.phase = waiting
	}
	return loss
}

// hasBeenServed reports whether the server serves the target, or did before a loss.
func (p *progress) hasBeenServed() bool { return p.phase == syncing || p.phase == live }

// lossType returns the type of the status event that reports err.
func lossType(err error) event.Type {
	if apierrors.IsForbidden(err) {
		return event.Denied
	}
	return event.Disconnected
}
