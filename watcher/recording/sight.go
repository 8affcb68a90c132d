package recording

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// Blind is a time of which is not known what happened to a resource.
type Blind struct {
	From, To time.Time
	Why      string
	// Late: all that happened is known, and was seen at To: it is not known when it happened.
	Late bool
}

// sights folds from the lines of a recording what is known of each target, and since when not.
type sights struct {
	all  map[event.Key]*sight
	last time.Time // of the last line
	run  bool      // a header has been observed
	next int       // the segment that is to come
	// missed is why lines before the next header are missing; empty: none are.
	missed string
}

// sight is what is known of a target.
type sight struct {
	seen time.Time // up to which all is known
	open *Blind    // since then nothing is; nil: it is
	past []Blind   // what is over
	// synced: all that there was has been recorded once.
	synced bool
}

func newSights() *sights { return &sights{all: map[event.Key]*sight{}} }

// sightState is a sight as it stands in a header.
type sightState struct {
	Resource  string `json:"resource"` // resource.group
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Seen      stamp  `json:"seen"`
	Blind     *stamp `json:"blind,omitempty"` // since then
	Why       string `json:"why,omitempty"`
	Synced    bool   `json:"synced,omitempty"`
}

const (
	notRunning = "dwatch record did not run"
	unrecorded = "it was not recorded"
	relisted   = "relisted, states between are missing"
)

// observe takes the next line.
func (s *sights) observe(l *line) {
	switch {
	case l.Type == begun:
		s.begin(l)
	case l.Type == event.Heartbeat:
		for _, one := range s.all {
			if one.open == nil {
				one.seen = l.Time
			}
		}
	case !l.own() && l.Type.IsMark():
		s.of(l.Target.Key(), l.Time).mark(l)
	}
	if s.last = later(s.last, l.Time); l.header != nil {
		s.run, s.next = true, l.header.Segment+1
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// begin takes a header: what is not known because lines before it are missing is known from here on,
// if it was recorded then.
func (s *sights) begin(l *line) {
	h := l.header
	why := s.missed
	switch {
	case why != "" || !s.run:
	case h.Segment != s.next:
		why = "a part of the recording is missing"
	case h.Begins:
		why = notRunning
	}
	s.missed = ""
	if why != "" {
		s.lose(s.last, why)
	}
	for _, state := range h.Targets {
		one := s.of(state.key(), l.Time)
		one.seen, one.synced = state.Seen.Time, state.Synced
		switch {
		case state.Blind != nil && one.open == nil:
			one.open = &Blind{From: state.Blind.Time, Why: state.Why}
		case state.Blind != nil:
			one.open.Why = cmp.Or(why, state.Why)
		case state.Blind == nil && one.open != nil:
			one.close(l.Time, "", false)
		}
	}
}

func (s sightState) key() event.Key {
	return event.Key{Resource: schema.ParseGroupResource(s.Resource), Namespace: s.Namespace, Name: s.Name}
}

// states returns what a header says.
func (s *sights) states() []sightState {
	states := []sightState{}
	for key, one := range s.all {
		state := sightState{Resource: key.Resource.String(), Namespace: key.Namespace, Name: key.Name, Seen: stamp{one.seen}, Synced: one.synced}
		if one.open != nil {
			state.Blind, state.Why = &stamp{one.open.From}, one.open.Why
		}
		states = append(states, state)
	}
	slices.SortFunc(states, func(a, b sightState) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return states
}

// lose notes that nothing is known of any target from a time on.
func (s *sights) lose(from time.Time, why string) {
	for _, one := range s.all {
		one.lose(from, why)
	}
}

// of returns the sight of a target, of which nothing was known before if it is new.
func (s *sights) of(key event.Key, now time.Time) *sight {
	one := s.all[key]
	if one == nil {
		one = &sight{past: []Blind{{To: now, Why: unrecorded}}, seen: now}
		s.all[key] = one
	}
	return one
}

func (one *sight) lose(from time.Time, why string) {
	if one.open == nil {
		one.open = &Blind{From: from, Why: why}
	}
}

// close ends what is not known, at a time, if there is something.
func (one *sight) close(at time.Time, more string, late bool) {
	if one.open == nil {
		return
	}
	b := *one.open
	if b.To, b.Late = at, late; more != "" {
		b.Why += "; " + more
	}
	one.past, one.open = append(one.past, b), nil
}

func (one *sight) mark(l *line) {
	one.synced = one.synced || l.Type == event.Synced || l.Type == event.Gap
	switch l.Type {
	case event.Synced:
		one.close(l.Time, "", false)
	case event.Gap:
		// One that was not announced is between two watches, the first of which was alive when
		// something was last heard.
		one.lose(one.seen, "the server did not have the changes any more")
		one.close(l.Time, relisted, false)
	case event.Reconnected:
		late := one.open != nil && one.open.Why != notRunning && one.open.Why != unrecorded
		one.close(l.Time, "reconnected, all that happened was seen then", late)
	case event.Disconnected:
		one.lose(heard(l), "connection lost: "+message(l))
	case event.Denied:
		one.lose(heard(l), "denied: "+message(l))
	case event.Gone:
		one.close(l.Time, "", false) // there is nothing
	case event.Arrived:
		one.lose(l.Time, "what there was when it came to be served was not known yet")
	}
	if one.open == nil {
		one.seen = l.Time
	}
}

func heard(l *line) time.Time {
	if !l.Heard.IsZero() && l.Heard.Before(l.Time) {
		return l.Heard
	}
	return l.Time
}

func message(l *line) string {
	if l.Err == nil {
		return "the server does not answer"
	}
	return strings.Join(strings.Fields(l.Err.Error()), " ")
}

// covers reports whether all objects of o are objects of k.
func covers(k, o event.Key) bool {
	return k.Resource == o.Resource && (k.Namespace == "" || k.Namespace == o.Namespace) && (k.Name == "" || k.Name == o.Name)
}

// blind returns when nothing was known of a target: of all that show its objects.
func (s *sights) blind(of event.Key, end time.Time) (common []Blind) {
	first := true
	for key, one := range s.all {
		if !covers(key, of) {
			continue
		}
		all := slices.Clone(one.past)
		if one.open != nil {
			b := *one.open
			b.To = later(end, s.last)
			all = append(all, b)
		}
		if first {
			common, first = all, false
		} else {
			common = intersect(common, all)
		}
	}
	if first {
		return []Blind{{To: later(end, s.last), Why: unrecorded}}
	}
	return common
}

func intersect(a, b []Blind) (both []Blind) {
	for _, x := range a {
		for _, y := range b {
			from, to := later(x.From, y.From), x.To
			if y.To.Before(to) {
				to = y.To
			}
			if from.Before(to) {
				both = append(both, Blind{from, to, x.Why, x.Late && y.Late})
			}
		}
	}
	return both
}
