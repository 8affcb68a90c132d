package recording

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// Blind is a time of which is not known what happened to a target.
type GapInterval struct {
	From, To time.Time
	Reason   string
	// Late: all that happened is known, and was seen after To at the latest: it is not known when it
	// happened.
	TimesUnknown bool
}

// sights folds from the lines of a recording what is known of each target. Nothing is known but
// what lines prove: a target is known from when its watch has caught up, up to the last line that
// shows that it was alive. What may follow that line is not known.
//
// A watch goes on from what was listed, or from where it was when its connection was lost, and it
// is not known then how far behind it is: it trails. A BOOKMARK says up to when all that happened is
// among the lines before it. If nothing came since that time, what was there when the last thing
// came was there until then; and if nothing came since the loss, nothing was missed by it.
type sights struct {
	// covers says why a run has not recorded all that is asked for; nil, or empty: it has.
	covers func(event.Selection) string
	// withheld says of segments, by number, why they can't be read.
	withheld map[int]string

	// definitions knows when resources did not exist; nil if that does not matter.
	definitions *definitions

	all  map[event.Key]*sight
	last time.Time // the latest of all lines
	// backUntil is the last time that the clock showed twice. What a server confirms of times up to then proves nothing.
	backUntil time.Time
	heard     time.Time // the line before
	segment   int       // the number of the last one; 0: none has been read
	run       string    // which run wrote it
	ended     bool      // it has its end
	lacking   string    // why the present run does not count; empty: it does
	// lost is why the present segment says nothing more; empty: it does.
	lost string
}

// sight is what is known of a target.
type sight struct {
	spans []span // that are over, in order
	// present is the one that goes on, if since is not zero. Its time before is what is not known
	// now, if since is zero.
	present span
	since   time.Time
	// proven is up to when all is known that the server has said, be it that a later end of present
	// is taken for known, too; moved is when something came last.
	proven, moved time.Time
	// trails: the watch goes on, and it is not known how far behind it is.
	trails bool
	// still is the time of the last line that says what is there, if whole: all that happened since
	// then comes. joins: so did all since the last span.
	still        time.Time
	whole, joins bool
	// floor is the time before which nothing is known by the lines that were read.
	floor time.Time
	// synced: all that there was has been recorded once; listed: some object has.
	synced, listed bool
}

// span is a time of which all is known, and why the time before it is not.
type span struct {
	from, to time.Time
	why      string
	late     bool
}

func newSights() *sights { return &sights{all: map[event.Key]*sight{}} }

const (
	notRunning = "dwatch record did not run"
	unrecorded = "it was not recorded"
	damagedWhy = "the recording is damaged there"
	missingWhy = "a part of the recording is missing"
	relisted   = "relisted, states between are missing"
	caughtUp   = "all that happened was seen later"
	heldUp     = "dwatch record was held up"
	clockBack  = "the clock was put back"
)

// silentWhy: it is not known whether something came that has not been seen.
const silentWhy = "nothing was heard of the server since"

// clockSlack is by how much lines may be out of order: those of a batch have the time at which
// it was delivered, its marks their own.
const clockSlack = time.Second

// observe takes the next line.
func (s *sights) observe(l *line) {
	if s.definitions != nil {
		s.definitions.observe(l)
	}
	if l.Type == begun {
		s.begin(l.header)
		return
	}
	if l.Type == late && !l.last.IsZero() {
		s.heard, s.last = l.Time, later(s.last, l.last)
		s.back(l.Time)
		return
	}
	now := later(s.last, l.Time)
	switch {
	case s.last.Sub(l.Time) > clockSlack:
		s.back(l.Time)
	case l.Time.Sub(s.heard) > maxSilence:
		s.resumeAll()
	}
	if s.heard, s.last = l.Time, now; s.lost != "" {
		return
	}
	switch {
	case l.Type == late:
		s.resumeAll()
	case l.Type == listing:
		s.of(l.Target.Key()).end(relisted)
	case l.Type == event.Bookmark && !l.Heard.IsZero() && l.Heard.Before(s.backUntil):
	case l.Type == event.Bookmark:
		s.of(l.Target.Key()).bookmark(l, now)
	case l.Type == event.Heartbeat, l.own():
	case l.Type.IsStatus():
		s.of(l.Target.Key()).mark(l, now, s.lacking == "")
	default:
		s.event(l, now)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// event: what comes by a watch that is known to have been alive a moment ago is of now.
func (s *sights) event(l *line, now time.Time) {
	of := event.Key{Resource: l.Target.Resource().GroupResource(), Namespace: l.Object.Namespace, Name: l.Object.Name}
	for key, one := range s.all {
		if !covers(key, of) {
			continue
		}
		if one.listed = true; one.since.IsZero() {
			one.still = later(one.still, now)
		} else {
			one.moved = now
			one.extend()
		}
	}
}

// goesOn reports whether a segment goes on from the one before, of which nothing is missing.
func (s *sights) goesOn(h *header) bool {
	return s.segment > 0 && s.lost == "" && !h.StartsRun && h.SegmentNumber == s.segment+1 && h.Run == s.run && s.ended
}

// isLive reports whether all is known of a target now.
func (s *sights) isLive(of event.Key) bool {
	for key, one := range s.all {
		if covers(key, of) && !one.since.IsZero() {
			return true
		}
	}
	return s.definitions.isAbsent(of.Resource) && s.isLive(definitionKey)
}

// isSynced reports whether all that there was of a target has been recorded once.
func (s *sights) isSynced(of event.Key) bool {
	for key, one := range s.all {
		if covers(key, of) && one.synced {
			return true
		}
	}
	return false
}

// skip goes on behind a segment that is not read.
func (s *sights) skip(h *header, i *index) {
	s.begin(h)
	s.complete()
	for _, state := range i.Targets {
		if one := s.all[state.key()]; one != nil && state.CoveredSince != nil && !one.since.IsZero() {
			one.prove(state.CoveredUntil.Time)
		}
	}
	s.last, s.ended = later(s.last, i.To.Time), true
	s.heard = s.last
}

// begin takes a header.
func (s *sights) begin(h *header) {
	next := s.goesOn(h)
	now := later(s.last, later(h.Time.Time, h.LastTime.Time))
	switch {
	case next:
	case s.segment == 0:
		s.adopt(h, now, cmp.Or(s.whyWithheld(h), unrecorded))
	default:
		why := missingWhy
		if h.StartsRun && h.SegmentNumber == s.segment+1 && s.lost == "" {
			why = notRunning
		}
		s.adopt(h, now, cmp.Or(s.lost, s.whyWithheld(h), why))
	}
	if s.last = now; h.LastTime.After(h.Time.Time) {
		s.back(h.Time.Time)
	}
	s.heard, s.segment, s.run, s.ended, s.lost = h.Time.Time, h.SegmentNumber, h.Run, false, partialWhy
	if s.lacking = ""; s.covers != nil {
		s.lacking = s.covers(h.Selection)
	}
	if s.lacking == "" {
		return
	}
	for _, one := range s.all {
		one.end(s.lacking)
		one.present.why = s.lacking
	}
}

// whyWithheld says why the segment before one can't be read; empty: it is not withheld.
func (s *sights) whyWithheld(h *header) string {
	if why := s.withheld[h.SegmentNumber-1]; why != "" && h.SegmentNumber-1 > s.segment {
		return withheldWhy + why
	}
	return ""
}

const withheldWhy = "withheld: "

// partialWhy: what was there when the segment began has not been read to its end.
const partialWhy = "dwatch record was ended while it began"

// complete takes the line that ends what was there when the segment began.
func (s *sights) complete() {
	if s.lost == partialWhy {
		s.lost = ""
	}
}

// adopt goes on with what a header says, where lines before it are missing or of another run: what
// was known then is known from here on.
func (s *sights) adopt(h *header, now time.Time, why string) {
	s.endAll(why)
	for _, state := range h.Targets {
		one := s.of(state.key())
		one.synced, one.listed, one.floor = state.Synced, state.HasObjects, now
		one.trails, one.whole = state.LagUnknown, state.ResumesFrom != nil
		if state.ResumesFrom != nil {
			one.still = state.ResumesFrom.Time
		}
		if state.CoveredSince != nil {
			one.open(now, state.CoveredUntil.Time)
		}
		if one.since.IsZero() && len(one.spans) == 0 {
			one.present.why = cmp.Or(state.Reason, why)
		}
	}
}

// fail notes that lines of the present segment can't be read: nothing more is known of it.
func (s *sights) fail(why string) {
	s.endAll(why)
	s.lost = why
}

// endAll notes that from what was heard last on nothing is known of any target.
func (s *sights) endAll(why string) {
	for _, one := range s.all {
		one.end(why)
	}
}

// resumeAll: for a time the recorder heard of nothing, and goes on.
func (s *sights) resumeAll() {
	for _, one := range s.all {
		if !one.since.IsZero() {
			one.lose(heldUp, true)
			one.trails = true
		}
	}
}

// back: the clock goes on at a time that was before. What was seen since then by the clock of
// before is not told from what follows.
func (s *sights) back(to time.Time) {
	s.backUntil = s.last
	for _, one := range s.all {
		trails := !one.since.IsZero() || one.trails
		one.lose(clockBack, false)
		one.spans = slices.DeleteFunc(one.spans, func(p span) bool { return !p.from.Before(to) })
		if n := len(one.spans); n > 0 && one.spans[n-1].to.After(to) {
			one.spans[n-1].to = to
		}
		one.present.why, one.present.late = clockBack, false
		one.trails, one.joins, one.still, one.moved = trails, false, s.last, time.Time{}
	}
}

// of returns the sight of a target. It takes the place of those that it covers.
func (s *sights) of(key event.Key) *sight {
	if one := s.all[key]; one != nil {
		return one
	}
	for other, one := range s.all {
		if covers(key, other) {
			one.end("it is watched with others")
		}
	}
	one := &sight{present: span{why: cmp.Or(s.lacking, unrecorded)}}
	s.all[key] = one
	return one
}

// open: from a time on all is known, so far up to another one.
func (one *sight) open(from, to time.Time) {
	one.since, one.present.from, one.present.to, one.proven = from, from, to, to
	one.trails, one.whole, one.joins = false, true, false
}

// sureFor is for how long after a time up to which all is proven what comes is taken to have come when
// it happened: it can't be later by more, and if it was later at all the next proof says that.
const sureFor = event.ProbeInterval + event.ProbeTimeout

// prove: all is known up to a time.
func (one *sight) prove(to time.Time) {
	one.proven = later(one.proven, to)
	one.present.to = later(one.present.to, one.proven)
	one.extend()
}

func (one *sight) extend() {
	if one.moved.Sub(one.proven) <= sureFor {
		one.present.to = later(one.present.to, one.moved)
	}
}

// bookmark takes a line by which all that happened up to Heard is among those before it, or, without
// Heard, some that happened since what was proven last has come later than it did.
func (one *sight) bookmark(l *line, now time.Time) {
	heard := l.Heard
	if heard.After(l.Time) { // the clock was put back
		heard = l.Time
	}
	last := len(one.spans) - 1
	switch {
	case !one.since.IsZero() && heard.IsZero():
		one.lose(silentWhy, true)
		one.trails = true
	case !one.since.IsZero(): // it has caught up before
		one.prove(heard)
	case !one.trails || heard.IsZero():
	case !one.still.After(heard):
		isPrompt := event.IsCaughtUp(heard, one.still, now)
		if one.joins && last >= 0 && one.spans[last].to.Equal(one.still) { // nothing was missed
			one.present, one.spans = one.spans[last], one.spans[:last]
			one.open(one.present.from, heard)
		} else {
			one.open(later(one.still, one.floor), heard)
		}
		if !isPrompt {
			one.lose(silentWhy, true)
			one.trails = true
		}
	case event.IsCaughtUp(heard, one.still, now) && !now.Before(one.still):
		one.open(now, now)
	}
}

// lose: from what is confirmed on it is not known when what happens does. late: what does will be
// seen.
func (one *sight) lose(why string, late bool) {
	if one.since.IsZero() {
		if one.present.late = one.present.late && late; !strings.Contains(one.present.why, why) && (len(one.spans) > 0 || one.trails) {
			one.present.why = also(one.present.why, why)
		}
		return
	}
	if late && one.proven.Before(one.present.to) {
		one.present.to = one.proven
	}
	one.still, one.whole, one.joins = later(later(one.present.to, one.since), one.moved), true, false
	if !one.present.to.Before(one.present.from) {
		one.spans = append(one.spans, one.present)
		one.present, one.joins = span{}, true
	} else { // nothing was ever confirmed: it is as if that had never begun
		why, late = also(one.present.why, why), one.present.late && late
	}
	one.since, one.present = time.Time{}, span{why: why, late: late}
}

// mark takes a mark about the target. counts: it can prove something.
func (one *sight) mark(l *line, now time.Time, counts bool) {
	switch l.Type {
	case event.Synced, event.Gap:
		if !one.since.IsZero() { // it was relisted, which was not announced
			one.end(relisted)
		}
		if one.present.late = false; l.Type == event.Gap && !strings.Contains(one.present.why, relisted) {
			one.present.why = also(one.present.why, relisted)
		}
		one.synced, one.trails, one.whole, one.joins, one.still = true, counts, counts, false, now
	case event.Reconnected:
		if !one.since.IsZero() { // the loss was not announced
			one.lose("connection lost", true)
		}
		if one.present.late && !strings.Contains(one.present.why, caughtUp) {
			one.present.why = also(one.present.why, caughtUp)
		}
		one.trails = one.synced && one.whole && counts
	case event.Disconnected:
		one.interrupt("connection lost: " + message(l))
	case event.Denied:
		why := "denied: " + message(l)
		if one.interrupt(why); !strings.Contains(one.present.why, why) { // it never was known
			one.present.why = why
		}
	case event.Gone:
		one.end("the server did not serve it")
	case event.Arrived:
		one.end("what there was when it came to be served was not known yet")
		one.synced = false
	default: // it has left what is recorded, or it says something that is not known here
		one.end("it was not recorded any more")
		one.synced = false
	}
}

// whyBytes bounds the reasons of one time: each message of a server may be another one.
const whyBytes = 400

// also adds a reason to others, as long as there is room.
func also(all, why string) string {
	const more = "; and more"
	switch {
	case strings.HasSuffix(all, more):
		return all
	case len(all)+len(why) > whyBytes && all != "":
		return all + more
	}
	return all + "; " + why
}

// trim forgets all that was known but the last: who writes needs no more.
func (s *sights) trim() {
	for _, one := range s.all {
		if n := len(one.spans); n > 1 {
			one.spans = append(one.spans[:0], one.spans[n-1])
		}
	}
}

// interrupt: the watch has ended, and may go on where it was.
func (one *sight) interrupt(why string) {
	one.lose(why, true)
	one.trails = false
}

// end: what happens from now on is not among the lines to come.
func (one *sight) end(why string) {
	one.lose(why, false)
	one.trails, one.whole, one.joins = false, false, false
}

func message(l *line) string {
	if l.Err == nil {
		return ""
	}
	return strings.Join(strings.Fields(l.Err.Error()), " ")
}

// covers reports whether all objects of o are objects of k.
func covers(k, o event.Key) bool {
	return k.Resource == o.Resource && (k.Namespace == "" || k.Namespace == o.Namespace) && (k.Name == "" || k.Name == o.Name)
}

// known returns up to when all is known of a target whose watch goes on; zero if it does not.
func (s *sights) known(of event.Key) (to time.Time) {
	for key, one := range s.all {
		if covers(key, of) && !one.since.IsZero() && !one.present.to.Before(one.present.from) {
			to = later(to, one.present.to)
		}
	}
	if s.definitions.isAbsent(of.Resource) {
		to = later(to, s.known(definitionKey))
	}
	return to
}

// isDecided reports whether no line to come can add anything to what is known of a target at a
// time, or take it back.
func (s *sights) isDecided(of event.Key, at time.Time) bool {
	if s.definitions.tracks(of.Resource) && !s.isDecided(definitionKey, at) {
		return false
	}
	for key, one := range s.all {
		live := !one.since.IsZero() && one.since.Before(at) && one.proven.Before(at)
		if covers(key, of) && (live || one.since.IsZero() && one.whole && !one.still.After(at)) {
			return false
		}
	}
	return true
}

// blind returns when nothing was known of a target, up to end: of all that show its objects.
func (s *sights) blind(of event.Key, end time.Time) (common []GapInterval) {
	first := true
	for key, one := range s.all {
		if !covers(key, of) {
			continue
		}
		all := one.blind(end)
		if first {
			common, first = all, false
		} else {
			common = intersect(common, all)
		}
	}
	if first {
		common = []GapInterval{{To: end, Reason: cmp.Or(s.lacking, unrecorded)}}
	}
	if s.definitions.tracks(of.Resource) {
		common = intersect(common, s.definitions.mayHaveObjects(s, of.Resource, end))
	}
	return common
}

// blind returns what is not known, from the begin of time to end.
func (one *sight) blind(end time.Time) (all []GapInterval) {
	var at time.Time
	spans := one.spans
	if !one.since.IsZero() && !one.present.to.Before(one.present.from) {
		spans = append(slices.Clone(spans), one.present)
	}
	for _, p := range spans {
		all = append(all, GapInterval{at, p.from, p.why, p.late && !at.IsZero()})
		at = p.to
	}
	if at.Before(end) {
		why := cmp.Or(one.present.why, unrecorded)
		switch {
		case !one.since.IsZero(), one.trails && one.still.Equal(at):
			why = silentWhy
		case one.trails && end.After(one.still) && !strings.Contains(why, silentWhy):
			why += "; " + silentWhy
		}
		all = append(all, GapInterval{at, end, why, false})
	}
	return all
}

func intersect(a, b []GapInterval) (both []GapInterval) {
	for _, x := range a {
		for _, y := range b {
			from, to := later(x.From, y.From), x.To
			if y.To.Before(to) {
				to = y.To
			}
			if from.Before(to) {
				both = append(both, GapInterval{from, to, x.Reason, x.TimesUnknown && y.TimesUnknown})
			}
		}
	}
	return both
}

// sightState is a sight as it stands in a header and in an index.
type sightState struct {
	Resource  string `json:"resource"` // resource.group
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Since is from when on all is known, up to Seen; nil: it is not.
	CoveredSince *event.Timestamp `json:"since,omitempty"`
	CoveredUntil event.Timestamp  `json:"seen"`
	// Trails: its watch goes on, and it is not known how far behind it is. All that happened since
	// Still comes; nil: that is not so.
	LagUnknown  bool             `json:"trails,omitempty"`
	ResumesFrom *event.Timestamp `json:"still,omitempty"`
	Reason      string           `json:"why,omitempty"` // it is not known, or was not before
	Synced      bool             `json:"synced,omitempty"`
	// Listed: objects of it were recorded, which are there at the begin of segments to come, too.
	HasObjects bool `json:"listed,omitempty"`
}

func (s sightState) key() event.Key {
	return event.Key{Resource: schema.ParseGroupResource(s.Resource), Namespace: s.Namespace, Name: s.Name}
}

// states returns what a header says.
func (s *sights) states() []sightState {
	states := []sightState{}
	for key, one := range s.all {
		state := sightState{
			Resource: key.Resource.String(), Namespace: key.Namespace, Name: key.Name,
			CoveredUntil: event.Timestamp{Time: one.present.to}, Reason: one.present.why, Synced: one.synced, HasObjects: one.listed,
		}
		if !one.since.IsZero() {
			state.CoveredSince, state.CoveredUntil = &event.Timestamp{Time: one.since}, event.Timestamp{Time: one.proven}
		}
		if state.LagUnknown = one.trails; one.since.IsZero() && one.whole {
			state.ResumesFrom = &event.Timestamp{Time: one.still}
		}
		states = append(states, state)
	}
	slices.SortFunc(states, func(a, b sightState) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return states
}
