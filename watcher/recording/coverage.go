package recording

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// GapInterval is a period for which the recording does not prove what happened to a target.
type GapInterval struct {
	From, To time.Time
	Reason   string
	// TimesUnknown means that the recording contains all events of the period, but their times may be too late. All of
	// them were recorded by the time of the next covered period.
	TimesUnknown bool
}

// coverage derives from the lines of a recording for which periods the recording of each target is complete. A target
// is covered from the time at which its watch caught up to the last time that the server confirmed, or to the last event
// soon after that.
//
// After a list or a reconnect it is unknown how far the watch lags behind. A BOOKMARK line ends this: it confirms that
// all events up to a time have been recorded. If the latest event of the target is not after that time, the target is
// covered from that event on, and if the latest event was before the connection was lost, nothing was missed.
type coverage struct {
	// compareSelection returns why a run with a selection lacks some of the requested objects, or an empty string. nil means
	// that no run lacks any.
	compareSelection func(event.Selection) string
	// withheld maps the numbers of segments that the server withholds to the reason.
	withheld map[int]string

	// definitions tracks when resources did not exist. nil disables that.
	definitions *definitions

	all    map[event.Key]*targetCoverage
	latest time.Time // of all lines
	// backUntil is the latest time that the clock may have shown twice. Confirmations of earlier times prove nothing.
	backUntil     time.Time
	lineTime      time.Time // of the previous line
	segmentNumber int       // of the latest segment; zero before the first
	run           string    // header.Run of the latest segment
	segmentEnded  bool      // the latest segment was read to its end without damage
	selectionGap  string    // why the current run lacks some of the requested objects, or empty
	// unusableReason is why the rest of the current segment proves nothing, or empty.
	unusableReason string
}

// targetCoverage is the coverage of a target.
type targetCoverage struct {
	spans []span // completed, in order
	// current is the covered period that has not ended. If since is zero there is none, and current has the reason of the
	// gap that has not ended.
	current span
	since   time.Time
	// confirmed is the latest time for which the server has confirmed that all earlier events were recorded. current.to may
	// be later. lastEvent is the time of the latest event while covered.
	confirmed, lastEvent time.Time
	// lagUnknown means that the watch is connected, and that it is unknown how far it lags behind.
	lagUnknown bool
	// resumesFrom is the time of the latest recorded list or event while not covered. If resumable is true, all later events
	// will be recorded. If contiguous is true, none is missing since the latest completed span.
	resumesFrom           time.Time
	resumable, contiguous bool
	// earliest is the time of the header from which the coverage was restored. Earlier times are not covered.
	earliest time.Time
	// synced means that a complete list was recorded, hasObjects that an event of an object was.
	synced, hasObjects bool
}

// span is a covered period. reason and timesUnknown describe the gap before it.
type span struct {
	from, to     time.Time
	reason       string
	timesUnknown bool
}

func newCoverage() *coverage { return &coverage{all: map[event.Key]*targetCoverage{}} }

const (
	reasonNotRunning = "dwatch record did not run"
	reasonUnrecorded = "not recorded"
	reasonDamaged    = "the recording is damaged there"
	reasonMissing    = "a part of the recording is missing"
	reasonRelisted   = "relisted, states in between are missing"
	reasonSeenLater  = "changes were recorded later than they happened"
	reasonDelayed    = "dwatch record was delayed"
	reasonClockBack  = "the clock was put back"
)

// reasonUnconfirmed applies after the latest confirmation.
const reasonUnconfirmed = "not confirmed by the server"

// clockSlack is by how much the time of a line may precede the latest time of the lines before it. The reason is that object
// events have the time of their delivery, and status events the time when they occurred.
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

// observeObject extends the coverage of targets to the time of an event. This is valid only if the latest confirmation
// is recent: see confirmationGrace.
func (s *coverage) observeObject(l *line, now time.Time) {
	of := objectEventKey(&l.Event)
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

// objectEventKey returns the key of the target that is only the object of an event.
func objectEventKey(e *event.Event) event.Key {
	return event.Key{Resource: e.Target.Resource().GroupResource(), Namespace: e.Object.Namespace, Name: e.Object.Name}
}

// continues reports whether h follows the previous segment without missing lines.
func (s *coverage) continues(h *header) bool {
	return s.segmentNumber > 0 && s.unusableReason == "" && !h.StartsRun && h.SegmentNumber == s.segmentNumber+1 && h.Run == s.run && s.segmentEnded
}

// isCovered reports whether a target is covered at the latest line.
func (s *coverage) isCovered(of event.Key) bool {
	for key, t := range s.all {
		if covers(key, of) && !t.since.IsZero() {
			return true
		}
	}
	return s.definitions.isAbsent(of.Resource) && s.isCovered(definitionKey)
}

// isListing reports whether the latest events of an object come from a list that is not complete yet, or whether it is
// unknown where they come from.
func (s *coverage) isListing(of event.Key) bool {
	for key, t := range s.all {
		if covers(key, of) && (!t.since.IsZero() || t.lagUnknown) {
			return false
		}
	}
	return true
}

// isSynced reports whether a complete list of a target has been recorded.
func (s *coverage) isSynced(of event.Key) bool {
	for key, t := range s.all {
		if covers(key, of) && t.synced {
			return true
		}
	}
	return false
}

// skipSegment takes a segment whose lines are not read.
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

// beginSegment takes the header of the next segment. If the segment does not follow the previous one, coverage is restored from
// the header.
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

// withheldReason returns why the segment before h is withheld, or an empty string.
func (s *coverage) withheldReason(h *header) string {
	if why := s.withheld[h.SegmentNumber-1]; why != "" && h.SegmentNumber-1 > s.segmentNumber {
		return withheldPrefix + why
	}
	return ""
}

const withheldPrefix = "withheld: "

// reasonIncompleteStart applies until all objects that existed at the start of the segment have been read.
const reasonIncompleteStart = "dwatch record was ended while it began"

// complete marks the list of objects at the start of the segment as complete.
func (s *coverage) complete() {
	if s.unusableReason == reasonIncompleteStart {
		s.unusableReason = ""
	}
}

// restore takes the coverage that a header states, because earlier lines are missing or belong to another run. Targets that
// are covered according to the header are covered from now on. why is the reason of the gap before that.
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

// fail ends all coverage, because lines of the segment are damaged, until a segment begins.
func (s *coverage) fail(why string) {
	s.endAll(why)
	s.unusableReason = why
}

// endAll ends the coverage of all targets at their latest confirmation or event.
func (s *coverage) endAll(why string) {
	for _, t := range s.all {
		t.end(why)
	}
}

// delayAll notes that the recorder was delayed: events may have happened earlier than recorded.
func (s *coverage) delayAll() {
	for _, t := range s.all {
		if !t.since.IsZero() {
			t.closeSpan(reasonDelayed, true)
			t.lagUnknown = true
		}
	}
}

// clockPutBack ends all coverage at time to, to which the clock was put back. Times between that and the latest line are
// ambiguous.
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

// target returns the coverage of a target, and adds it if it is new. A new target ends the coverage of the targets that it
// includes.
func (s *coverage) target(key event.Key) *targetCoverage {
	if t := s.all[key]; t != nil {
		return t
	}
	for other, t := range s.all {
		if covers(key, other) {
			t.end("watched as part of another target")
		}
	}
	t := &targetCoverage{current: span{reason: cmp.Or(s.selectionGap, reasonUnrecorded)}}
	s.all[key] = t
	return t
}

// open begins a covered period that is confirmed up to time to.
func (t *targetCoverage) open(from, to time.Time) {
	t.since, t.current.from, t.current.to, t.confirmed = from, from, to, to
	t.lagUnknown, t.resumable, t.contiguous = false, true, false
}

// confirmationGrace is how long after a confirmation events extend the coverage. If an event was delayed after all, the
// next confirmation reveals that.
const confirmationGrace = event.ProbeInterval + event.ProbeTimeout

// confirm notes that all events up to a time have been recorded.
func (t *targetCoverage) confirm(to time.Time) {
	t.confirmed = later(t.confirmed, to)
	t.current.to = later(t.current.to, t.confirmed)
	t.extend()
}

// extend extends the current period to the latest event, if the latest confirmation is recent.
func (t *targetCoverage) extend() {
	if t.lastEvent.Sub(t.confirmed) <= confirmationGrace {
		t.current.to = later(t.current.to, t.lastEvent)
	}
}

// bookmark takes a BOOKMARK line. It confirms that all events up to l.Heard were recorded before it. If l.Heard is zero,
// events since the latest confirmation may have been recorded later than they happened.
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
	case !t.since.IsZero(): // the watch has caught up before
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

// closeSpan ends the current period. timesUnknown means that later events will be recorded, with unreliable times. If no
// period is open, closeSpan adds reason to the reason of the current gap.
func (t *targetCoverage) closeSpan(reason string, timesUnknown bool) {
	if t.since.IsZero() {
		if t.current.timesUnknown = t.current.timesUnknown && timesUnknown; !strings.Contains(t.current.reason, reason) && (len(t.spans) > 0 || t.lagUnknown) {
			t.current.reason = appendReason(t.current.reason, reason)
		}
		return
	}
	if timesUnknown && t.confirmed.Before(t.current.to) {
		t.current.to = t.confirmed
	}
	t.resumesFrom, t.resumable, t.contiguous = later(later(t.current.to, t.since), t.lastEvent), true, false
	if !t.current.to.Before(t.current.from) {
		t.spans = append(t.spans, t.current)
		t.current, t.contiguous = span{}, true
	} else { // nothing was confirmed: drop the period
		reason, timesUnknown = appendReason(t.current.reason, reason), t.current.timesUnknown && timesUnknown
	}
	t.since, t.current = time.Time{}, span{reason: reason, timesUnknown: timesUnknown}
}

// observeStatus takes a status event of the target. If counts is false, the run lacks some of the requested objects, and no
// coverage can begin.
func (t *targetCoverage) observeStatus(l *line, now time.Time, counts bool) {
	switch l.Type {
	case event.Synced, event.Gap:
		if !t.since.IsZero() { // no LISTING precedes
			t.end(reasonRelisted)
		}
		if t.current.timesUnknown = false; l.Type == event.Gap && !strings.Contains(t.current.reason, reasonRelisted) {
			t.current.reason = appendReason(t.current.reason, reasonRelisted)
		}
		t.synced, t.lagUnknown, t.resumable, t.contiguous, t.resumesFrom = true, counts, counts, false, now
	case event.Reconnected:
		if !t.since.IsZero() { // no DISCONNECTED precedes
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
		if t.interrupt(why); !strings.Contains(t.current.reason, why) { // the target has never been covered
			t.current.reason = why
		}
	case event.Gone:
		t.end("not served by the server")
	case event.Arrived:
		t.end("newly served, existing objects were not listed yet")
		t.synced = false
	default: // LEFT, JOINED (the target may have left before), or a type that this version does not know
		t.end("no longer recorded")
		t.synced = false
	}
}

// maxReasonBytes limits the combined reasons of a gap. Each server message may be different.
const maxReasonBytes = 400

// appendReason appends a reason, or "and more" if the result would be too long.
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

// trim drops all completed spans except the latest of each target. A Recorder needs no more.
func (s *coverage) trim() {
	for _, t := range s.all {
		if n := len(t.spans); n > 1 {
			t.spans = append(t.spans[:0], t.spans[n-1])
		}
	}
}

// interrupt notes that the watch was interrupted and may resume without missing events.
func (t *targetCoverage) interrupt(why string) {
	t.closeSpan(why, true)
	t.lagUnknown = false
}

// end notes that later events will not be recorded.
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

// covers reports whether target k includes all objects of target o.
func covers(k, o event.Key) bool {
	return k.Resource == o.Resource && (k.Namespace == "" || k.Namespace == o.Namespace) && (k.Name == "" || k.Name == o.Name)
}

// coveredUntil returns the time up to which a target is covered, or zero if it is not covered at the latest line.
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

// isDecided reports whether later lines can no longer change whether a target is covered at a time.
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

// gaps returns the periods up to end in which none of the recorded targets that include a target was covered.
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

// gaps returns the periods up to end that are not covered. The first one starts at the zero time.
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

// coverageState is a targetCoverage in a header or an index.
type coverageState struct {
	Resource  string `json:"resource"` // resource.group
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// CoveredSince and CoveredUntil are the current covered period. If CoveredSince is nil, there is none.
	CoveredSince *event.Timestamp `json:"since,omitempty"`
	CoveredUntil event.Timestamp  `json:"seen"`
	// LagUnknown means that the watch is connected, and that it is unknown how far it lags behind. All events after
	// ResumesFrom will be recorded. nil means that events may be missing, or that the target is covered.
	LagUnknown  bool             `json:"trails,omitempty"`
	ResumesFrom *event.Timestamp `json:"still,omitempty"`
	Reason      string           `json:"why,omitempty"` // of the current gap, or of the one before the current period
	Synced      bool             `json:"synced,omitempty"`
	// HasObjects means that an event of an object was recorded. Later segments may begin with such objects.
	HasObjects bool `json:"listed,omitempty"`
}

func (s coverageState) key() event.Key {
	return event.Key{Resource: schema.ParseGroupResource(s.Resource), Namespace: s.Namespace, Name: s.Name}
}

// states returns the state of all targets for a header or an index, sorted.
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
