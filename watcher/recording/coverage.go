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
type coverage struct {
	// covers says why a run has not recorded all that is asked for; nil, or empty: it has.
	compareSelection func(event.Selection) string
	// withheld says of segments, by number, why they can't be read.
	withheld map[int]string

	// definitions knows when resources did not exist; nil if that does not matter.
	definitions *definitions

	all    map[event.Key]*targetCoverage
	latest time.Time // the latest of all lines
	// backUntil is the last time that the clock showed twice. What a server confirms of times up to then proves nothing.
	backUntil     time.Time
	lineTime      time.Time // the line before
	segmentNumber int       // the number of the last one; 0: none has been read
	run           string    // which run wrote it
	segmentEnded  bool      // it has its end
	selectionGap  string    // why the present run does not count; empty: it does
	// lost is why the present segment says nothing more; empty: it does.
	unusableReason string
}

// sight is what is known of a target.
type targetCoverage struct {
	spans []span // that are over, in order
	// present is the one that goes on, if since is not zero. Its time before is what is not known
	// now, if since is zero.
	current span
	since   time.Time
	// proven is up to when all is known that the server has said, be it that a later end of present
	// is taken for known, too; moved is when something came last.
	confirmed, lastEvent time.Time
	// trails: the watch goes on, and it is not known how far behind it is.
	lagUnknown bool
	// still is the time of the last line that says what is there, if whole: all that happened since
	// then comes. joins: so did all since the last span.
	resumesFrom           time.Time
	resumable, contiguous bool
	// floor is the time before which nothing is known by the lines that were read.
	earliest time.Time
	// synced: all that there was has been recorded once; listed: some object has.
	synced, hasObjects bool
}

// span is a time of which all is known, and why the time before it is not.
type span struct {
	from, to     time.Time
	reason       string
	timesUnknown bool
}

func newCoverage() *coverage { return &coverage{all: map[event.Key]*targetCoverage{}} }

const (
	reasonNotRunning = "dwatch record did not run"
	reasonUnrecorded = "it was not recorded"
	reasonDamaged    = "the recording is damaged there"
	reasonMissing    = "a part of the recording is missing"
	reasonRelisted   = "relisted, states between are missing"
	reasonSeenLater  = "all that happened was seen later"
	reasonDelayed    = "dwatch record was held up"
	reasonClockBack  = "the clock was put back"
)

// silentWhy: it is not known whether something came that has not been seen.
const reasonUnconfirmed = "nothing was heard of the server since"

// clockSlack is by how much lines may be out of order: those of a batch have the time at which
// it was delivered, its marks their own.
const clockSlack = time.Second

// observe takes the next line.
func (s *coverage) observe(l *line) {
	if s.definitions != nil {
		s.definitions.observe(l)
	}
	if l.Type == recordingLine {
		s.beginSegment(l.header)
		return
	}
	if l.Type == lateLine && !l.last.IsZero() {
		s.lineTime, s.latest = l.Time, later(s.latest, l.last)
		s.clockPutBack(l.Time)
		return
	}
	now := later(s.latest, l.Time)
	switch {
	case s.latest.Sub(l.Time) > clockSlack:
		s.clockPutBack(l.Time)
	case l.Time.Sub(s.lineTime) > maxSilence:
		s.delayAll()
	}
	if s.lineTime, s.latest = l.Time, now; s.unusableReason != "" {
		return
	}
	switch {
	case l.Type == lateLine:
		s.delayAll()
	case l.Type == listingLine:
		s.target(l.Target.Key()).end(reasonRelisted)
	case l.Type == event.Bookmark && !l.Heard.IsZero() && l.Heard.Before(s.backUntil):
	case l.Type == event.Bookmark:
		s.target(l.Target.Key()).bookmark(l, now)
	case l.Type == event.Heartbeat, l.isInternal():
	case l.Type.IsStatus():
		s.target(l.Target.Key()).observeStatus(l, now, s.selectionGap == "")
	default:
		s.observeObject(l, now)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// event: what comes by a watch that is known to have been alive a moment ago is of now.
func (s *coverage) observeObject(l *line, now time.Time) {
	of := event.Key{Resource: l.Target.Resource().GroupResource(), Namespace: l.Object.Namespace, Name: l.Object.Name}
	for key, t := range s.all {
		if !covers(key, of) {
			continue
		}
		if t.hasObjects = true; t.since.IsZero() {
			t.resumesFrom = later(t.resumesFrom, now)
		} else {
			t.lastEvent = now
			t.extend()
		}
	}
}

// goesOn reports whether a segment goes on from the one before, of which nothing is missing.
func (s *coverage) continues(h *header) bool {
	return s.segmentNumber > 0 && s.unusableReason == "" && !h.StartsRun && h.SegmentNumber == s.segmentNumber+1 && h.Run == s.run && s.segmentEnded
}

// isLive reports whether all is known of a target now.
func (s *coverage) isCovered(of event.Key) bool {
	for key, t := range s.all {
		if covers(key, of) && !t.since.IsZero() {
			return true
		}
	}
	return s.definitions.isAbsent(of.Resource) && s.isCovered(definitionKey)
}

// isSynced reports whether all that there was of a target has been recorded once.
func (s *coverage) isSynced(of event.Key) bool {
	for key, t := range s.all {
		if covers(key, of) && t.synced {
			return true
		}
	}
	return false
}

// skip goes on behind a segment that is not read.
func (s *coverage) skipSegment(h *header, i *index) {
	s.beginSegment(h)
	s.complete()
	for _, state := range i.Targets {
		if t := s.all[state.key()]; t != nil && state.CoveredSince != nil && !t.since.IsZero() {
			t.confirm(state.CoveredUntil.Time)
		}
	}
	s.latest, s.segmentEnded = later(s.latest, i.To.Time), true
	s.lineTime = s.latest
}

// begin takes a header.
func (s *coverage) beginSegment(h *header) {
	next := s.continues(h)
	now := later(s.latest, later(h.Time.Time, h.LastTime.Time))
	switch {
	case next:
	case s.segmentNumber == 0:
		s.restore(h, now, cmp.Or(s.withheldReason(h), reasonUnrecorded))
	default:
		why := reasonMissing
		if h.StartsRun && h.SegmentNumber == s.segmentNumber+1 && s.unusableReason == "" {
			why = reasonNotRunning
		}
		s.restore(h, now, cmp.Or(s.unusableReason, s.withheldReason(h), why))
	}
	if s.latest = now; h.LastTime.After(h.Time.Time) {
		s.clockPutBack(h.Time.Time)
	}
	s.lineTime, s.segmentNumber, s.run, s.segmentEnded, s.unusableReason = h.Time.Time, h.SegmentNumber, h.Run, false, reasonIncompleteStart
	if s.selectionGap = ""; s.compareSelection != nil {
		s.selectionGap = s.compareSelection(h.Selection)
	}
	if s.selectionGap == "" {
		return
	}
	for _, t := range s.all {
		t.end(s.selectionGap)
		t.current.reason = s.selectionGap
	}
}

// whyWithheld says why the segment before one can't be read; empty: it is not withheld.
func (s *coverage) withheldReason(h *header) string {
	if why := s.withheld[h.SegmentNumber-1]; why != "" && h.SegmentNumber-1 > s.segmentNumber {
		return withheldPrefix + why
	}
	return ""
}

const withheldPrefix = "withheld: "

// partialWhy: what was there when the segment began has not been read to its end.
const reasonIncompleteStart = "dwatch record was ended while it began"

// complete takes the line that ends what was there when the segment began.
func (s *coverage) complete() {
	if s.unusableReason == reasonIncompleteStart {
		s.unusableReason = ""
	}
}

// adopt goes on with what a header says, where lines before it are missing or of another run: what
// was known then is known from here on.
func (s *coverage) restore(h *header, now time.Time, why string) {
	s.endAll(why)
	for _, state := range h.Targets {
		t := s.target(state.key())
		t.synced, t.hasObjects, t.earliest = state.Synced, state.HasObjects, now
		t.lagUnknown, t.resumable = state.LagUnknown, state.ResumesFrom != nil
		if state.ResumesFrom != nil {
			t.resumesFrom = state.ResumesFrom.Time
		}
		if state.CoveredSince != nil {
			t.open(now, state.CoveredUntil.Time)
		}
		if t.since.IsZero() && len(t.spans) == 0 {
			t.current.reason = cmp.Or(state.Reason, why)
		}
	}
}

// fail notes that lines of the present segment can't be read: nothing more is known of it.
func (s *coverage) fail(why string) {
	s.endAll(why)
	s.unusableReason = why
}

// endAll notes that from what was heard last on nothing is known of any target.
func (s *coverage) endAll(why string) {
	for _, t := range s.all {
		t.end(why)
	}
}

// resumeAll: for a time the recorder heard of nothing, and goes on.
func (s *coverage) delayAll() {
	for _, t := range s.all {
		if !t.since.IsZero() {
			t.closeSpan(reasonDelayed, true)
			t.lagUnknown = true
		}
	}
}

// back: the clock goes on at a time that was before. What was seen since then by the clock of
// before is not told from what follows.
func (s *coverage) clockPutBack(to time.Time) {
	s.backUntil = s.latest
	for _, t := range s.all {
		trails := !t.since.IsZero() || t.lagUnknown
		t.closeSpan(reasonClockBack, false)
		t.spans = slices.DeleteFunc(t.spans, func(p span) bool { return !p.from.Before(to) })
		if n := len(t.spans); n > 0 && t.spans[n-1].to.After(to) {
			t.spans[n-1].to = to
		}
		t.current.reason, t.current.timesUnknown = reasonClockBack, false
		t.lagUnknown, t.contiguous, t.resumesFrom, t.lastEvent = trails, false, s.latest, time.Time{}
	}
}

// of returns the sight of a target. It takes the place of those that it covers.
func (s *coverage) target(key event.Key) *targetCoverage {
	if t := s.all[key]; t != nil {
		return t
	}
	for other, t := range s.all {
		if covers(key, other) {
			t.end("it is watched with others")
		}
	}
	t := &targetCoverage{current: span{reason: cmp.Or(s.selectionGap, reasonUnrecorded)}}
	s.all[key] = t
	return t
}

// open: from a time on all is known, so far up to another one.
func (t *targetCoverage) open(from, to time.Time) {
	t.since, t.current.from, t.current.to, t.confirmed = from, from, to, to
	t.lagUnknown, t.resumable, t.contiguous = false, true, false
}

// sureFor is for how long after a time up to which all is proven what comes is taken to have come when
// it happened: it can't be later by more, and if it was later at all the next proof says that.
const confirmationGrace = event.ProbeInterval + event.ProbeTimeout

// prove: all is known up to a time.
func (t *targetCoverage) confirm(to time.Time) {
	t.confirmed = later(t.confirmed, to)
	t.current.to = later(t.current.to, t.confirmed)
	t.extend()
}

func (t *targetCoverage) extend() {
	if t.lastEvent.Sub(t.confirmed) <= confirmationGrace {
		t.current.to = later(t.current.to, t.lastEvent)
	}
}

// bookmark takes a line by which all that happened up to Heard is among those before it, or, without
// Heard, some that happened since what was proven last has come later than it did.
func (t *targetCoverage) bookmark(l *line, now time.Time) {
	heard := l.Heard
	if heard.After(l.Time) { // the clock was put back
		heard = l.Time
	}
	last := len(t.spans) - 1
	switch {
	case !t.since.IsZero() && heard.IsZero():
		t.closeSpan(reasonUnconfirmed, true)
		t.lagUnknown = true
	case !t.since.IsZero(): // it has caught up before
		t.confirm(heard)
	case !t.lagUnknown || heard.IsZero():
	case !t.resumesFrom.After(heard):
		isPrompt := event.IsCaughtUp(heard, t.resumesFrom, now)
		if t.contiguous && last >= 0 && t.spans[last].to.Equal(t.resumesFrom) { // nothing was missed
			t.current, t.spans = t.spans[last], t.spans[:last]
			t.open(t.current.from, heard)
		} else {
			t.open(later(t.resumesFrom, t.earliest), heard)
		}
		if !isPrompt {
			t.closeSpan(reasonUnconfirmed, true)
			t.lagUnknown = true
		}
	case event.IsCaughtUp(heard, t.resumesFrom, now) && !now.Before(t.resumesFrom):
		t.open(now, now)
	}
}

// lose: from what is confirmed on it is not known when what happens does. late: what does will be
// seen.
func (t *targetCoverage) closeSpan(why string, late bool) {
	if t.since.IsZero() {
		if t.current.timesUnknown = t.current.timesUnknown && late; !strings.Contains(t.current.reason, why) && (len(t.spans) > 0 || t.lagUnknown) {
			t.current.reason = appendReason(t.current.reason, why)
		}
		return
	}
	if late && t.confirmed.Before(t.current.to) {
		t.current.to = t.confirmed
	}
	t.resumesFrom, t.resumable, t.contiguous = later(later(t.current.to, t.since), t.lastEvent), true, false
	if !t.current.to.Before(t.current.from) {
		t.spans = append(t.spans, t.current)
		t.current, t.contiguous = span{}, true
	} else { // nothing was ever confirmed: it is as if that had never begun
		why, late = appendReason(t.current.reason, why), t.current.timesUnknown && late
	}
	t.since, t.current = time.Time{}, span{reason: why, timesUnknown: late}
}

// mark takes a mark about the target. counts: it can prove something.
func (t *targetCoverage) observeStatus(l *line, now time.Time, counts bool) {
	switch l.Type {
	case event.Synced, event.Gap:
		if !t.since.IsZero() { // it was relisted, which was not announced
			t.end(reasonRelisted)
		}
		if t.current.timesUnknown = false; l.Type == event.Gap && !strings.Contains(t.current.reason, reasonRelisted) {
			t.current.reason = appendReason(t.current.reason, reasonRelisted)
		}
		t.synced, t.lagUnknown, t.resumable, t.contiguous, t.resumesFrom = true, counts, counts, false, now
	case event.Reconnected:
		if !t.since.IsZero() { // the loss was not announced
			t.closeSpan("connection lost", true)
		}
		if t.current.timesUnknown && !strings.Contains(t.current.reason, reasonSeenLater) {
			t.current.reason = appendReason(t.current.reason, reasonSeenLater)
		}
		t.lagUnknown = t.synced && t.resumable && counts
	case event.Disconnected:
		t.interrupt("connection lost: " + message(l))
	case event.Denied:
		why := "denied: " + message(l)
		if t.interrupt(why); !strings.Contains(t.current.reason, why) { // it never was known
			t.current.reason = why
		}
	case event.Gone:
		t.end("the server did not serve it")
	case event.Arrived:
		t.end("what there was when it came to be served was not known yet")
		t.synced = false
	default: // it has left what is recorded, or it says something that is not known here
		t.end("it was not recorded any more")
		t.synced = false
	}
}

// whyBytes bounds the reasons of one time: each message of a server may be another one.
const maxReasonBytes = 400

// also adds a reason to others, as long as there is room.
func appendReason(all, why string) string {
	const more = "; and more"
	switch {
	case strings.HasSuffix(all, more):
		return all
	case len(all)+len(why) > maxReasonBytes && all != "":
		return all + more
	}
	return all + "; " + why
}

// trim forgets all that was known but the last: who writes needs no more.
func (s *coverage) trim() {
	for _, t := range s.all {
		if n := len(t.spans); n > 1 {
			t.spans = append(t.spans[:0], t.spans[n-1])
		}
	}
}

// interrupt: the watch has ended, and may go on where it was.
func (t *targetCoverage) interrupt(why string) {
	t.closeSpan(why, true)
	t.lagUnknown = false
}

// end: what happens from now on is not among the lines to come.
func (t *targetCoverage) end(why string) {
	t.closeSpan(why, false)
	t.lagUnknown, t.resumable, t.contiguous = false, false, false
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
func (s *coverage) coveredUntil(of event.Key) (to time.Time) {
	for key, t := range s.all {
		if covers(key, of) && !t.since.IsZero() && !t.current.to.Before(t.current.from) {
			to = later(to, t.current.to)
		}
	}
	if s.definitions.isAbsent(of.Resource) {
		to = later(to, s.coveredUntil(definitionKey))
	}
	return to
}

// isDecided reports whether no line to come can add anything to what is known of a target at a
// time, or take it back.
func (s *coverage) isDecided(of event.Key, at time.Time) bool {
	if s.definitions.tracks(of.Resource) && !s.isDecided(definitionKey, at) {
		return false
	}
	for key, t := range s.all {
		live := !t.since.IsZero() && t.since.Before(at) && t.confirmed.Before(at)
		if covers(key, of) && (live || t.since.IsZero() && t.resumable && !t.resumesFrom.After(at)) {
			return false
		}
	}
	return true
}

// blind returns when nothing was known of a target, up to end: of all that show its objects.
func (s *coverage) gaps(of event.Key, end time.Time) (common []GapInterval) {
	first := true
	for key, t := range s.all {
		if !covers(key, of) {
			continue
		}
		all := t.gaps(end)
		if first {
			common, first = all, false
		} else {
			common = intersect(common, all)
		}
	}
	if first {
		common = []GapInterval{{To: end, Reason: cmp.Or(s.selectionGap, reasonUnrecorded)}}
	}
	if s.definitions.tracks(of.Resource) {
		common = intersect(common, s.definitions.mayHaveObjects(s, of.Resource, end))
	}
	return common
}

// blind returns what is not known, from the begin of time to end.
func (t *targetCoverage) gaps(end time.Time) (all []GapInterval) {
	var at time.Time
	spans := t.spans
	if !t.since.IsZero() && !t.current.to.Before(t.current.from) {
		spans = append(slices.Clone(spans), t.current)
	}
	for _, p := range spans {
		all = append(all, GapInterval{at, p.from, p.reason, p.timesUnknown && !at.IsZero()})
		at = p.to
	}
	if at.Before(end) {
		why := cmp.Or(t.current.reason, reasonUnrecorded)
		switch {
		case !t.since.IsZero(), t.lagUnknown && t.resumesFrom.Equal(at):
			why = reasonUnconfirmed
		case t.lagUnknown && end.After(t.resumesFrom) && !strings.Contains(why, reasonUnconfirmed):
			why += "; " + reasonUnconfirmed
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
type coverageState struct {
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

func (s coverageState) key() event.Key {
	return event.Key{Resource: schema.ParseGroupResource(s.Resource), Namespace: s.Namespace, Name: s.Name}
}

// states returns what a header says.
func (s *coverage) states() []coverageState {
	states := []coverageState{}
	for key, t := range s.all {
		state := coverageState{
			Resource: key.Resource.String(), Namespace: key.Namespace, Name: key.Name,
			CoveredUntil: event.Timestamp{Time: t.current.to}, Reason: t.current.reason, Synced: t.synced, HasObjects: t.hasObjects,
		}
		if !t.since.IsZero() {
			state.CoveredSince, state.CoveredUntil = &event.Timestamp{Time: t.since}, event.Timestamp{Time: t.confirmed}
		}
		if state.LagUnknown = t.lagUnknown; t.since.IsZero() && t.resumable {
			state.ResumesFrom = &event.Timestamp{Time: t.resumesFrom}
		}
		states = append(states, state)
	}
	slices.SortFunc(states, func(a, b coverageState) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return states
}
