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

// target is what has been reported of one event.Target, and where it stands. It belongs to the
// loop.
type target struct {
	event.Target
	index    int   // among those of the start
	refusal  error // the first answer of the server, if that was no
	progress progress
	ledger   *ledger.Ledger
	// initial: what the first sync names existed at the start. It did not where the target came
	// later, or an earlier run has reported all that existed. existed, if not nil, says of which
	// object it is true.
	initial bool
	existed func(event.Object) bool
	// idle: nothing that was reported is left, or the right to hear of it is missing. When its
	// namespace is deleted, that is all there is to wait for. Anybody may ask.
	idle atomic.Bool
	// verified gets what comes of verifications; nil: there are none. checking is the one for which
	// the watch is to come to where the server was, if there is one, and reached where it has come to.
	// relisted: all is listed anew since one began.
	verified func(Verification)
	checking *verification
	reached  string
	relisted bool
}

func newTarget(t event.Target, keepContent bool) *target {
	return &target{Target: t, ledger: ledger.New(t.Mapping.GroupVersionKind, keepContent), initial: true}
}

func (o *Options) newTarget(t event.Target) *target {
	target := newTarget(t, o.KeepContent)
	if o.VerifyInterval > 0 {
		target.verified = o.OnVerified
	}
	return target
}

// restore fills the ledger with what was reported in earlier runs.
func (t *target) restore(past event.HistoryFunc) error {
	if past == nil {
		return nil
	}
	complete, err := past(t.Target, t.ledger.Restore)
	if err != nil {
		return fmt.Errorf("read what was reported of %s: %w", t.Resource().GroupResource(), err)
	}
	t.initial = !complete
	return nil
}

func (t *target) observe(dst []event.Event, o source.Observation) []event.Event {
	from := len(dst)
	switch o.Kind {
	case source.SessionBegan:
		t.progress.begin()
	case source.Connected:
		dst = mark(dst, t.progress.answer(o.ResourceVersion != ""), o.Event)
	case source.Lost:
		dst = mark(dst, t.progress.fail(lossOf(o.Err)), o.Event)
	case source.SyncBegan:
		t.abandonVerification()
		t.ledger.BeginSync()
	case source.SyncEnded:
		dst = t.endSync(dst, o.Event)
	case source.Proved:
		dst = mark(dst, event.Bookmark, o.Event)
	case source.Listed, source.Changed:
		o.Listed = o.Kind == source.Listed
		o.Initial = o.Listed && o.Type == event.Added && t.initial && (t.existed == nil || t.existed(o.Object))
		dst = t.ledger.Observe(dst, o.Event)
	}
	t.noteReached(&o)
	return t.setTarget(dst, from)
}

// endSync: the server has named all that there was. What was not among it is gone.
func (t *target) endSync(dst []event.Event, e event.Event) []event.Event {
	dst = t.ledger.Sweep(dst)
	t.initial = false
	if e.From != "" {
		dst = mark(dst, event.Gap, e)
	}
	return mark(dst, t.progress.sync(), event.Event{Count: t.ledger.Len(), ResourceVersion: e.ResourceVersion})
}

// vanish reports that the resource, and with it all its objects, is gone.
func (t *target) vanish(dst []event.Event) []event.Event {
	from := len(dst)
	t.ledger.BeginSync()
	dst = mark(t.ledger.Sweep(dst), t.progress.vanish(), event.Event{})
	return t.setTarget(dst, from)
}

// join reports that the server has a target that it did not have at the start. It takes over what
// narrower ones have reported whose place it takes.
func (t *target) join(dst []event.Event, n *note) []event.Event {
	from := len(dst)
	t.progress, t.initial = progress{phase: waiting}, n.existing
	for _, n := range n.narrower {
		t.ledger.Merge(n.ledger)
	}
	return t.setTarget(mark(dst, n.mark, event.Event{}), from)
}

// leave reports that nothing more is reported of the target. That says nothing of its objects, unless
// their namespace was deleted: then they are, too.
func (t *target) leave(dst []event.Event, why error) []event.Event {
	from := len(dst)
	if errors.Is(why, errDeleted) {
		t.ledger.BeginSync()
		dst = t.ledger.Sweep(dst)
	}
	return t.setTarget(mark(dst, event.Left, event.Event{Err: why}), from)
}

// note makes known what others may ask.
func (t *target) note() { t.idle.Store(t.ledger.Len() == 0 || t.progress.loss == event.Denied) }

// reportRefusal reports that the target was refused at the start, if that has not turned into
// something else since.
func (t *target) reportRefusal(dst []event.Event) []event.Event {
	if t.progress != (progress{rejected, lossOf(t.refusal)}) {
		return dst
	}
	t.progress.phase = waiting
	return t.setTarget(mark(dst, t.progress.loss, event.Event{Err: t.refusal}), len(dst))
}

// switchTo goes on with another version of the resource, or another scope.
func (t *target) switchTo(now event.Target) {
	t.Target = now
	t.ledger.SetKind(now.Mapping.GroupVersionKind)
}

func (t *target) setTarget(events []event.Event, from int) []event.Event {
	for i := range events[from:] {
		events[from+i].Target = t.Target
	}
	return events
}

// mark appends a mark of a type, with the members of e; nothing if the type is empty.
func mark(dst []event.Event, kind event.Type, e event.Event) []event.Event {
	if kind == "" {
		return dst
	}
	e.Type = kind
	return append(dst, e)
}

// phase is how far a target has come.
type phase uint8

const (
	connecting phase = iota // nothing has been heard of the server
	// rejected: the server's first answer was no, which has not been reported: if it is no to all
	// targets, that is an error.
	rejected
	waiting // the server is asked again and again for what it does not serve yet, or refuses
	syncing // the server names what there is
	live    // all that there was has been reported
	ended   // the server no longer has the resource
)

// progress is how far a target has come. Its methods take what the target's source has met, and
// return the mark that reports it; empty if there is none.
type progress struct {
	phase phase
	loss  event.Type // the mark that reported that the server does not answer; empty while it does
}

// begin: a session begins, whose informer knows nothing.
func (p *progress) begin() {
	if p.phase == live {
		p.phase = syncing
	}
}

// answer: the server answers. resumed: the watch goes on where it stopped. After a loss that is
// worth a mark; where a sync comes first, that says more.
func (p *progress) answer(resumed bool) event.Type {
	again := p.loss != ""
	p.loss = ""
	if p.phase < syncing {
		p.phase = syncing
	}
	if again && resumed {
		return event.Reconnected
	}
	return ""
}

// reject: the first answer is no, which is not reported yet.
func (p *progress) reject(loss event.Type) {
	if p.phase == connecting {
		*p = progress{rejected, loss}
	}
}

// sync: the server has named all that there is.
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

// fail: the connection is lost, or denied. That is reported once, unless it turns into another
// loss.
func (p *progress) fail(loss event.Type) event.Type {
	if p.loss == loss {
		return ""
	}
	p.loss = loss
	if p.phase == rejected {
		p.phase = waiting
	}
	return loss
}

// isServed: the server has served the target once.
func (p *progress) isServed() bool { return p.phase == syncing || p.phase == live }

// lossOf is the mark with which a failure is reported.
func lossOf(err error) event.Type {
	if apierrors.IsForbidden(err) {
		return event.Denied
	}
	return event.Disconnected
}
