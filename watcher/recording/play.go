package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"dwatch/watcher/event"
)

// Query says what is asked of a recording.
type Query struct {
	Targets []event.Target
	Labels  labels.Selector // nil: all
	Fields  fields.Selector // of metadata.name and metadata.namespace; nil: all
	// From and To are from when on events are asked for, and before when; zero: from the begin, to
	// the end.
	From, To time.Time
	// Old has the state before with each Modified.
	Old bool
	// Batch is how many events are delivered at once at most; 0: some hundreds.
	Batch int
}

// lookahead is for how long after a time it may still be said that something was not known then: a
// connection that died in silence is noticed within two minutes.
const lookahead = 5 * time.Minute

// player is one answer in the making.
type player struct {
	*Recording
	Query
	held   *held
	sights *sights
	reader *reader
	proof  *Proof
	sink   func(event.Event) error // nil: what is there at To is all that is asked for
	// started: what was there at From has been passed on.
	started bool
	damaged []string
}

// Play delivers to sink what was there at From, as initial, and then what happened from then on,
// with the marks, to To. What it delivers has the targets of the query.
func (r *Recording) Play(ctx context.Context, q Query, sink event.Sink) (*Proof, error) {
	var batch []event.Event
	deliver := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := sink.Deliver(ctx, batch)
		batch = batch[:0]
		return err
	}
	p := r.newPlayer(q, func(e event.Event) error {
		if batch = append(batch, e); len(batch) < cmp.Or(q.Batch, 256) {
			return nil
		}
		return deliver()
	})
	err := p.run(ctx)
	return p.proof, cmp.Or(err, deliver())
}

// At returns what was there at a time, by target, namespace and name.
func (r *Recording) At(ctx context.Context, q Query, at time.Time) ([]event.Object, *Proof, error) {
	q.From, q.To, q.Old = at, at, true
	p := r.newPlayer(q, nil)
	if err := p.run(ctx); err != nil {
		return nil, nil, err
	}
	byTarget := make([][]event.Object, len(q.Targets))
	for _, o := range p.held.all() {
		i := slices.IndexFunc(q.Targets, func(t event.Target) bool { return t == o.target })
		byTarget[i] = append(byTarget[i], o.Object)
	}
	return slices.Concat(byTarget...), p.proof, nil
}

func (r *Recording) newPlayer(q Query, sink func(event.Event) error) *player {
	return &player{Recording: r, Query: q, held: newHeld(), sights: newSights(), reader: newReader(), proof: &Proof{}, sink: sink}
}

// run reads the segments, beginning with the last that begins before From.
func (p *player) run(ctx context.Context) error {
	u, err := newUnpacker()
	if err != nil {
		return err
	}
	defer u.close()
	first, err := p.first(u)
	if err != nil {
		return err
	}
	for _, f := range p.files[first:] {
		err := p.segment(ctx, f, u)
		if errors.Is(err, errEnd) {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := p.start(); err != nil {
		return err
	}
	p.prove()
	return nil
}

// first returns the segment to begin with.
func (p *player) first(u *unpacker) (int, error) {
	for i := len(p.files) - 1; i > 0 && !p.From.IsZero(); i-- {
		s, err := peek(p.files[i])
		if err == nil {
			h, err := (&Recording{}).skim(&segment{s.file, s.data, &index{}}, u)
			if err == nil && h != nil && !h.Time.After(p.From) {
				return i, nil
			}
		}
	}
	return 0, nil
}

// segment plays one segment.
func (p *player) segment(ctx context.Context, f file, u *unpacker) error {
	s, err := load(f)
	switch {
	case errors.Is(err, fs.ErrNotExist): // dropped, or repaired, meanwhile
		return nil
	case err != nil:
		return err
	}
	p.reader = newReader()
	lost := func(d *damage) {
		p.damaged = append(p.damaged, d.Error())
		p.sights.missed = "the recording is damaged there"
		p.sights.lose(p.sights.last, p.sights.missed)
	}
	return s.lines(u, func(text string) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l, err := p.reader.read(text)
		if err != nil {
			lost(&damage{f.path, err.Error()})
			return nil
		}
		return p.line(&l)
	}, lost)
}

// line takes the next line.
func (p *player) line(l *line) error {
	past := !p.To.IsZero() && (l.Time.After(p.To) || p.sink != nil && l.Time.Equal(p.To))
	if past && l.Time.Sub(p.To) > lookahead {
		p.sights.last = l.Time
		return errEnd
	}
	if l.header != nil && !past {
		clear(p.held.objects) // what is there follows
	}
	p.sights.observe(l)
	switch {
	case past:
		return nil
	case l.Type == present:
		e := l.Event
		e.Type = event.Added
		return p.object(&e, false)
	case l.own():
		return nil
	}
	happened := p.From.IsZero() || !l.Time.Before(p.From)
	if happened && !p.started && p.sink != nil {
		if err := p.start(); err != nil {
			return err
		}
	}
	if l.Type.IsMark() {
		return p.mark(&l.Event, happened)
	}
	return p.object(&l.Event, happened)
}

// start passes on what was there at From.
func (p *player) start() error {
	if p.started || p.sink == nil {
		return nil
	}
	p.started = true
	from := p.From
	if from.IsZero() {
		from = p.begin
	}
	for _, o := range p.held.all() {
		if err := p.sink(event.Event{Type: event.Added, Target: o.target, Object: o.Object, Initial: true, Time: from}); err != nil {
			return err
		}
	}
	for _, t := range p.Targets {
		if err := p.sink(event.Event{Type: event.Synced, Target: t, Count: p.count(t), Time: from}); err != nil {
			return err
		}
	}
	return nil
}

// count is how many objects of a target are there.
func (p *player) count(t event.Target) (n int) {
	for _, o := range p.held.objects {
		if o.target == t {
			n++
		}
	}
	return n
}

// mark passes on a mark, about each target that it says something of.
func (p *player) mark(e *event.Event, happened bool) error {
	if !happened || p.sink == nil || e.Type == event.Heartbeat {
		return nil
	}
	for _, t := range p.Targets {
		if covers(e.Target.Key(), t.Key()) {
			of := *e
			if of.Target = t; of.Type == event.Synced {
				of.Count = p.count(t)
			}
			if err := p.sink(of); err != nil {
				return err
			}
		}
	}
	return nil
}

// object takes over an object, and passes it on if it is asked for. One that comes to match the
// selectors, or does no longer, comes and goes, as with a server.
func (p *player) object(e *event.Event, happened bool) error {
	of := event.Key{Resource: e.Target.Resource().GroupResource(), Namespace: e.Object.Namespace, Name: e.Object.Name}
	i := slices.IndexFunc(p.Targets, func(t event.Target) bool { return covers(t.Key(), of) })
	if i < 0 {
		return nil
	}
	e.Target = p.Targets[i]
	_, was := p.held.objects[keyOf(e.Target, e.Object)]
	is := e.Type != event.Deleted && p.selects(e.Object)
	switch {
	case !was && !is && e.Type != event.Deleted, !was && e.Type == event.Deleted && p.narrow():
		return nil
	case was && !is:
		e.Type = event.Deleted
	case !was && is:
		e.Type = event.Added
	}
	before := p.held.observe(e, p.Old || !p.started)
	if !happened || p.sink == nil {
		return nil
	}
	if e.Type == event.Modified && p.Old {
		e.Old = before
	}
	p.proof.Changes++
	return p.sink(*e)
}

func (p *player) narrow() bool {
	return p.Labels != nil && !p.Labels.Empty() || p.Fields != nil && !p.Fields.Empty()
}

func (p *player) selects(o event.Object) bool {
	if p.Fields != nil && !p.Fields.Matches(fields.Set{"metadata.name": o.Name, "metadata.namespace": o.Namespace}) {
		return false
	}
	if p.Labels == nil || p.Labels.Empty() {
		return true
	}
	set := labels.Set{}
	gjson.Get(o.Raw(), "metadata.labels").ForEach(func(name, value gjson.Result) bool {
		set[name.String()] = value.String()
		return true
	})
	return p.Labels.Matches(set)
}

// Proof is what an answer rests on.
type Proof struct {
	From, To time.Time
	// Changes is how many events of objects there were, before any other filter.
	Changes int
	// Gaps are when something was not known, in order; none: the answer is complete.
	Gaps []Gap
	// Damage is what could not be read, a line each.
	Damage []string
}

// Gap is a time of which not all is known.
type Gap struct {
	Blind
	// Of are the resources that it is about; nil: all that were asked for.
	Of []string
}

// Complete reports whether nothing can be missing.
func (p *Proof) Complete() bool { return len(p.Gaps) == 0 }

// prove derives the proof from what was read.
func (p *player) prove() {
	p.proof.Damage = p.damaged
	p.proof.From, p.proof.To = p.From, p.To
	if p.From.IsZero() {
		p.proof.From = p.known()
	}
	if p.To.IsZero() {
		p.proof.To = p.sights.last
	}
	if p.proof.To.Before(p.proof.From) { // there is nothing from then on
		p.proof.To = p.proof.From
	}
	var all []Gap
	for _, t := range p.Targets {
		for _, b := range p.sights.blind(t.Key(), p.proof.To) {
			all = append(all, p.clip(b, t)...)
		}
		if p.sights.last.Before(p.proof.To) {
			all = append(all, p.clip(Blind{From: p.sights.last, To: p.proof.To.Add(1), Why: "the recording ends there"}, t)...)
		}
	}
	p.proof.Gaps = merge(all, len(p.Targets))
}

// together is how far apart what a run begins to watch may become known.
const together = time.Minute

// known returns since when something is known of the targets that a recording began with.
func (p *player) known() time.Time {
	var all []time.Time
	for _, t := range p.Targets {
		for _, b := range p.sights.blind(t.Key(), p.sights.last) {
			if b.From.IsZero() {
				all = append(all, b.To)
			}
		}
	}
	from := p.begin
	if slices.SortFunc(all, time.Time.Compare); len(all) > 0 {
		for _, at := range all {
			if at.Sub(all[0]) < together {
				from = later(from, at)
			}
		}
	}
	return from
}

// clip returns what of a blind time is between the times that were asked for.
func (p *player) clip(b Blind, t event.Target) []Gap {
	from, to := p.proof.From, p.proof.To
	inside := !b.From.Before(from) && !b.To.After(to) && from.Before(to)
	if !b.From.Before(to) && from.Before(to) || !b.To.After(from) || b.From.After(to) || b.Late && inside {
		return nil
	}
	b.From = later(b.From, from)
	if b.To.After(to) {
		b.To = to
	}
	return []Gap{{b, []string{t.Resource().GroupResource().String()}}}
}

// merge makes one gap of those that overlap.
func merge(all []Gap, targets int) (merged []Gap) {
	slices.SortStableFunc(all, func(a, b Gap) int { return a.From.Compare(b.From) })
	counts := []int{}
	for _, g := range all {
		last := len(merged) - 1
		if last < 0 || g.From.After(merged[last].To) {
			merged, counts = append(merged, g), append(counts, 1)
			continue
		}
		m := &merged[last]
		m.To = later(m.To, g.To)
		if !strings.Contains(m.Why, g.Why) {
			m.Why += "; " + g.Why
		}
		if !slices.Contains(m.Of, g.Of[0]) {
			m.Of = append(m.Of, g.Of[0])
		}
		counts[last]++
	}
	for i := range merged {
		if counts[i] >= targets {
			merged[i].Of = nil
		}
	}
	return merged
}

// String says it as people do, with the times as clock writes them.
func (g Gap) String(clock func(time.Time) string) string {
	text := fmt.Sprintf("not known: %s to %s", clock(g.From), clock(g.To))
	if g.From.Equal(g.To) {
		text = "not known: " + clock(g.From)
	}
	if g.Of != nil {
		text += ", " + strings.Join(g.Of, ", ")
	}
	return text + " (" + g.Why + ")"
}
