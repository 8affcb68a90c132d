package page

import (
	"time"

	"dwatch/watcher/event"
)

// maxOutages is the maximum number of retained outages. maxUnseen is the maximum number of gaps in an answer.
const maxOutages, maxUnseen = 1000, 50

// outage is a period without coverage of a target. A zero from means that the target had never been covered.
type outage struct {
	target   event.Target
	from, to time.Time
	phase    event.Phase // at its end
}

// reason explains the outage.
func (o *outage) reason() string {
	switch {
	case o.phase == event.PhaseDenied:
		return "the right to watch was missing"
	case o.from.IsZero():
		return "not read yet"
	}
	return "not connected"
}

// outages has the outages that have ended and the start of each one that has not.
type outages struct {
	ended     []outage
	openSince map[event.Key]time.Time
	// forgotten is the end of the last outage that was dropped because of maxOutages. Zero means none.
	forgotten time.Time
}

// isCovered reports whether a target in phase p has full coverage. PhaseGone counts, as there is nothing to cover.
func isCovered(p event.Phase) bool { return p == event.PhaseLive || p == event.PhaseGone }

// observe takes a status event, and the phases of its target before and after it.
func (o *outages) observe(e *event.Event, before, after event.Phase) {
	key := e.Target.Key()
	switch {
	case e.Type == event.Left:
		delete(o.openSince, key)
	case isCovered(before) && !isCovered(after):
		if o.openSince == nil {
			o.openSince = map[event.Key]time.Time{}
		}
		if o.openSince[key] = e.Time; !e.Heard.IsZero() {
			o.openSince[key] = e.Heard
		}
	case !isCovered(before) && isCovered(after):
		if len(o.ended) == maxOutages {
			o.forgotten, o.ended = o.ended[0].to, o.ended[1:]
		}
		o.ended = append(o.ended, outage{e.Target, o.openSince[key], e.Time, before})
		delete(o.openSince, key)
	}
}

// coverageGap is a period without full coverage, in an API answer. Resource is empty if Why explains the gap instead.
type coverageGap struct {
	Resource string `json:"resource,omitempty"`
	Why      string `json:"why,omitempty"`
	From     int64  `json:"from"`
	To       int64  `json:"to"`
}

// gapCollector collects the coverage gaps between from and to, in ms.
type gapCollector struct {
	from, to int64
	all      []coverageGap
}

func (u *gapCollector) add(resource, why string, began, ended time.Time) {
	one := coverageGap{resource, clip(why, maxValue), max(u.from, millis(began)), min(u.to, millis(ended))}
	if one.From < one.To {
		u.all = append(u.all, one)
	}
}

// collect adds the gaps of a cluster. The Hub must be locked.
func (u *gapCollector) collect(h *Hub, cluster string) {
	if h.ofPast != nil {
		u.addRecordingGaps(h.ofPast, cluster)
	} else {
		u.addOutages(&h.targets, cluster, h.clock())
	}
}

// addRecordingGaps adds the gaps of a cluster in a recording.
func (u *gapCollector) addRecordingGaps(known *Coverage, cluster string) {
	for _, g := range known.Gaps {
		if g.Cluster == cluster {
			u.add("", g.Reason, g.From, g.To)
		}
	}
}

// addOutages adds the outages of a cluster's targets. An outage that has not ended lasts until now.
func (u *gapCollector) addOutages(ts *targets, cluster string, now time.Time) {
	u.add("", "earlier gaps are no longer known", time.Time{}, ts.outages.forgotten)
	for _, o := range ts.outages.ended {
		if o.target.Cluster == cluster {
			u.add(o.target.Resource().GroupResource().String(), "", o.from, o.to)
		}
	}
	for _, l := range ts.links.All() {
		if l.Target.Cluster == cluster && !isCovered(l.Phase()) {
			u.add(l.Target.Resource().GroupResource().String(), "", ts.outages.openSince[l.Target.Key()], now)
		}
	}
}
