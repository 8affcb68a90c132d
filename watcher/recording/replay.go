package recording

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"dwatch/watcher/event"
)

// Query selects events or objects of a recording.
type Query struct {
	Targets       []event.Target
	LabelSelector labels.Selector // nil means all
	FieldSelector fields.Selector // on metadata.name and metadata.namespace; nil means all
	Shard         event.Shard
	// CoverageGap returns why a run with a selection lacks some of the requested objects, or an empty string. It need not
	// compare targets. nil means that no run lacks any.
	CoverageGap func(event.Selection) string
	// From is inclusive, To is exclusive. Zero values stand for the start and the end of the recording.
	From, To time.Time
	// IncludeOld sets Old of Modified events.
	IncludeOld bool
	// ReconcileGaps adds events for changes that happened during a gap, derived from the objects after it. A receiver that
	// applies all events then has the right objects at each time at which they are known.
	ReconcileGaps bool
	// BatchSize is the maximum number of events per delivery. Zero means 256.
	BatchSize int
}

// lookahead is how long after Query.To a confirmation of the state at that time may follow. Servers confirm about once
// a minute.
const lookahead = 10 * time.Minute

// player executes a query. It embeds the walker that reads the lines and the Query because handling a line depends on both.
type player struct {
	*walker
	Query
	objects *objectSet
	// previous has the objects before the current segment that have not been found in it yet, if ReconcileGaps is set. It is
	// nil after the SNAPSHOT line.
	previous    map[objectKey]storedObject
	begin       time.Time // of the recording
	changeCount int
	// deliver receives the events. nil means that the query is for the objects at To.
	deliver func(context.Context, []event.Event) error
	batch   []event.Event
	// started means that the objects at From have been emitted.
	started bool
	// deliverErr is the error that ended delivery. Lines are still read for the proof.
	deliverErr error
}

// Replay delivers the objects at From as initial events, and then the object and status events up to To. Events have the
// targets of the query. If sink returns an error, Replay returns it with a proof for the delivered events. The proof is nil if
// no time was covered yet.
func (r *Recording) Replay(ctx context.Context, q Query, sink event.Sink) (*Proof, error) {
	p, err := r.newPlayer(q)
	if err != nil {
		return nil, err
	}
	defer p.close()
	p.deliver = sink.Deliver
	p.onFrameEnd = func() error { return p.flush(ctx) }
	if err := r.walkFor(ctx, p, q.From); err != nil {
		return nil, err
	}
	if p.deliverErr == nil {
		p.start()
	}
	if err := p.flush(ctx); err != nil {
		return nil, err
	}
	if p.deliverErr != nil && q.From.IsZero() && !p.To.After(p.coverage.firstCovered(p.Targets)) {
		return nil, p.deliverErr // the targets were not covered yet
	}
	return r.newProof(p), p.deliverErr
}

// ObjectsAt returns the objects that existed at a time, sorted by target, namespace and name. Zero stands for the last time
// at which all targets are covered.
func (r *Recording) ObjectsAt(ctx context.Context, q Query, at time.Time) ([]event.Object, *Proof, error) {
	there, proof, err := r.objectsAt(ctx, q, at)
	objects := make([]event.Object, len(there))
	for i, o := range there {
		objects[i] = o.Object
	}
	return objects, proof, err
}

// objectsAt is ObjectsAt with the query target of each object.
func (r *Recording) objectsAt(ctx context.Context, q Query, at time.Time) (there []storedObject, _ *Proof, err error) {
	var after []string
	if at.IsZero() {
		if at, after, err = r.lastKnown(ctx, q); err != nil {
			return nil, nil, err
		}
	}
	q.From, q.To, q.IncludeOld = at, at, true
	p, err := r.newPlayer(q)
	if err != nil {
		return nil, nil, err
	}
	defer p.close()
	if err := r.walkFor(ctx, p, at); err != nil {
		return nil, nil, err
	}
	there = p.objects.all()
	index := func(o storedObject) int {
		return slices.IndexFunc(q.Targets, func(t event.Target) bool { return t == o.target })
	}
	slices.SortStableFunc(there, func(a, b storedObject) int { return index(a) - index(b) })
	proof := r.newProof(p)
	proof.addDamage(after)
	return there, proof, nil
}

// lastKnown returns the last time at which all targets of a query are covered. damage describes unreadable parts if the end
// of the recording is unreadable, and is nil otherwise.
func (r *Recording) lastKnown(ctx context.Context, q Query) (_ time.Time, damage []string, _ error) {
	w, err := newWalker(q.CoverageGap)
	if err != nil {
		return time.Time{}, nil, err
	}
	defer w.close()
	w.coverage.withheld = r.withheld
	w.take = func(*line) error { return nil }
	err = w.walk(ctx, r.segmentsFrom(r.endTime))
	if w.coverage.unusableReason == reasonDamaged {
		damage = w.damageMessages()
	}
	return w.coverage.lastCovered(q.Targets), damage, err
}

func (r *Recording) newPlayer(q Query) (*player, error) {
	w, err := newWalker(q.CoverageGap)
	p := &player{walker: w, Query: q, objects: newObjectSet(), begin: r.startTime}
	w.take, w.targets, w.coverage.withheld = p.handleLine, q.Targets, r.withheld
	return p, err
}

// walkFor reads the segments with the events since a time.
func (r *Recording) walkFor(ctx context.Context, p *player, from time.Time) error {
	files := r.segmentsFrom(from)
	if err := r.trackDefinitions(ctx, p.walker, files, p.Targets); err != nil {
		return err
	}
	return p.walk(ctx, files)
}

func (r *Recording) newProof(p *player) *Proof {
	proof := newProof(p.coverage, p.Targets, p.From, p.To, r.ambiguous)
	proof.ChangeCount, proof.Damage, proof.IsInstant = p.changeCount, p.damageMessages(), p.deliver == nil
	if p.From.IsZero() && len(p.damaged) > 0 && len(proof.Gaps) == 0 { // the query is for the whole recording
		proof.Gaps = []Gap{{GapInterval: GapInterval{From: proof.From, To: proof.From, Reason: "the recording is damaged before that"}}}
	}
	if p.Query.To.IsZero() && p.coverage.unusableReason == reasonDamaged {
		proof.addDamage(proof.Damage)
	}
	return proof
}

// isAfterEnd reports whether a line is after p.To, or is at p.To and not needed. The start of a segment at p.To is not needed,
// because it only repeats existing objects.
func (p *player) isAfterEnd(l *line) bool {
	if p.To.IsZero() {
		return false
	}
	begins := l.Type == recordingLine || l.Type == resourceLine || l.Type == presentLine || l.Type == snapshotLine
	return l.Time.After(p.To) || l.Time.Equal(p.To) && (p.deliver != nil || begins)
}

// handleLine takes the next line.
func (p *player) handleLine(l *line) error {
	if p.isAfterEnd(l) {
		return p.handleLineAfterEnd(l)
	}
	if p.deliverErr != nil {
		return nil
	}
	happened := p.From.IsZero() || !l.Time.Before(p.From) && !p.isListedBefore(l)
	switch {
	case l.header != nil:
		if happened && len(p.objects.byKey) > 0 {
			p.start()
		}
		if p.ReconcileGaps && p.started {
			if p.previous == nil {
				p.previous = map[objectKey]storedObject{}
			}
			maps.Copy(p.previous, p.objects.byKey)
		}
		clear(p.objects.byKey) // PRESENT lines follow
	case l.Type == presentLine:
		e := l.Event
		e.Type = event.Added
		p.handleObject(&e, false)
		p.reconcile(e)
	case l.Type == snapshotLine:
		p.reconcileMissing(l.Time)
	case l.isInternal():
	default:
		if happened {
			p.start()
		}
		if l.Type.IsStatus() {
			p.emitStatus(&l.Event, happened)
		} else {
			p.handleObject(&l.Event, happened)
		}
	}
	return nil
}

// isListedBefore reports whether a line at p.From belongs to a list, so that its change happened before p.From.
func (p *player) isListedBefore(l *line) bool {
	return !p.started && l.Time.Equal(p.From) && l.hasObject() && p.coverage.isListing(objectEventKey(&l.Event))
}

// handleLineAfterEnd takes a line after p.To, which may confirm that all events up to p.To were recorded. It returns errEnd
// if later lines can't change the proof, or after lookahead.
func (p *player) handleLineAfterEnd(l *line) error {
	if !l.Time.After(p.To) {
		return nil // more lines of that time may follow
	}
	decided := func(t event.Target) bool { return p.coverage.isDecided(t.Key(), p.To) }
	if l.Time.Sub(p.To) <= clockSlack {
		return nil // the clock may be put back to before p.To
	}
	if l.Time.Sub(p.To) > lookahead || !slices.ContainsFunc(p.Targets, func(t event.Target) bool { return !decided(t) }) {
		return errEnd
	}
	return nil
}

// emit adds an event to the batch. The object of the event may share the buffer of a frame, which is reused after flush.
func (p *player) emit(e event.Event) {
	if p.deliver != nil {
		p.batch = append(p.batch, e)
	}
}

// flush delivers the emitted events.
func (p *player) flush(ctx context.Context) error {
	size := cmp.Or(p.BatchSize, 256)
	for part := range slices.Chunk(p.batch, size) {
		if p.deliverErr != nil {
			break
		}
		for i := range part {
			part[i] = cloneEvent(part[i])
		}
		if p.deliverErr = p.deliver(ctx, part); p.deliverErr != nil {
			p.To = part[len(part)-1].Time
		}
	}
	clear(p.batch)
	p.batch = p.batch[:0]
	return ctx.Err()
}

// start emits the objects at From, and a SYNCED event for each target that is complete.
func (p *player) start() {
	if p.started || p.deliver == nil {
		return
	}
	p.started = true
	from := p.From
	if from.IsZero() {
		from = p.begin
	}
	for _, o := range p.objects.all() {
		p.emit(event.Event{Type: event.Added, Target: o.target, Object: o.Object, Initial: true, Time: from})
	}
	for _, t := range p.Targets {
		if p.coverage.isSynced(t.Key()) { // otherwise the recording has the SYNCED event later
			p.emit(event.Event{Type: event.Synced, Target: t, Count: p.count(t), Time: from})
		}
	}
}

// count returns the number of objects of a target.
func (p *player) count(t event.Target) (n int) {
	for _, o := range p.objects.byKey {
		if o.target == t {
			n++
		}
	}
	return n
}

// emitStatus emits a status event for each target of the query that it includes.
func (p *player) emitStatus(e *event.Event, happened bool) {
	if !happened || e.Type.IsKeepalive() {
		return
	}
	for _, t := range p.Targets {
		if covers(e.Target.Key(), t.Key()) {
			of := *e
			if of.Target = t; of.Type == event.Synced {
				of.Count = p.count(t)
			}
			p.emit(of)
		}
	}
}

// handleObject applies an object event, and emits it if it matches the query. As with a server, an object that begins or
// ceases to match the selectors is added or deleted.
func (p *player) handleObject(e *event.Event, happened bool) {
	of := objectEventKey(e)
	i := slices.IndexFunc(p.Targets, func(t event.Target) bool { return covers(t.Key(), of) })
	if i < 0 {
		return
	}
	e.Target = p.Targets[i]
	_, was := p.objects.byKey[keyOf(e.Target, e.Object)]
	is := e.Type != event.Deleted && p.matches(e.Object)
	switch {
	case !was && !is && e.Type != event.Deleted, !was && e.Type == event.Deleted && p.hasSelector():
		return
	case was && !is:
		e.Type = event.Deleted
	case !was && is && p.hasSelector():
		e.Type = event.Added
	}
	before := p.objects.observe(e, p.IncludeOld || !p.started)
	if !happened || p.deliver == nil {
		return
	}
	e.Listed = p.coverage.isListing(of)
	// Two versions of a resource represent an unchanged object differently.
	if e.Type == event.Modified && p.IncludeOld && !before.IsZero() && before.APIVersion == e.Object.APIVersion {
		e.Old = before
	}
	if !e.Initial {
		p.changeCount++
	}
	delete(p.previous, keyOf(e.Target, e.Object))
	p.emit(*e)
}

// reconcile emits the difference between an object at the start of a segment and its previous state.
func (p *player) reconcile(e event.Event) {
	key := keyOf(e.Target, e.Object)
	if p.previous == nil || p.objects.byKey[key].IsZero() {
		return
	}
	was, wasThere := p.previous[key]
	switch delete(p.previous, key); {
	case !wasThere:
	case was.UID == e.Object.UID && was.ResourceVersion == e.Object.ResourceVersion:
		return
	case was.UID == e.Object.UID:
		e.Type = event.Modified
	default:
		p.emitDeleted(was, e.Time)
	}
	e.Listed = true
	p.emit(e)
}

// reconcileMissing emits deletions of the objects that did not exist any more when the segment began.
func (p *player) reconcileMissing(at time.Time) {
	for _, was := range p.previous {
		p.emitDeleted(was, at)
	}
	p.previous = nil
}

func (p *player) emitDeleted(was storedObject, at time.Time) {
	p.emit(event.Event{Type: event.Deleted, Target: was.target, Object: event.NewObject(was.Identity, was.Raw()), FinalStateUnknown: true, Time: at})
}

func (p *player) hasSelector() bool {
	return p.LabelSelector != nil && !p.LabelSelector.Empty() || p.FieldSelector != nil && !p.FieldSelector.Empty() || !p.Shard.IsAll()
}

func (p *player) matches(o event.Object) bool {
	if p.FieldSelector != nil && !p.FieldSelector.Matches(fields.Set{"metadata.name": o.Name, "metadata.namespace": o.Namespace}) {
		return false
	}
	if !p.Shard.Has(o.UID) {
		return false
	}
	if p.LabelSelector == nil || p.LabelSelector.Empty() {
		return true
	}
	set := labels.Set{}
	gjson.Get(o.Raw(), "metadata.labels").ForEach(func(name, value gjson.Result) bool {
		set[name.String()] = value.String()
		return true
	})
	return p.LabelSelector.Matches(set)
}

// cloneEvent returns an event whose object does not share memory with the buffer of a frame.
func cloneEvent(e event.Event) event.Event {
	if !e.Type.IsStatus() {
		e.Object = event.NewObject(e.Object.Identity, strings.Clone(e.Object.Raw()))
	}
	return e
}
