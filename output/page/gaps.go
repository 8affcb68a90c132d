package page

import (
	"time"

	"dwatch/watcher/event"
)

// maxOutages is how many times are held in which a target was not seen, and maxUnseen how many of them are sent.
const maxOutages, maxUnseen = 1000, 50

// outage is a time in which nobody saw what changed of a target; from is zero if nobody had before.
type outage struct {
	of       event.Target
	from, to time.Time
	phase    event.Phase // at its end
}

// why it was not seen.
func (o *outage) why() string {
	switch {
	case o.phase == event.PhaseDenied:
		return "the right to watch was missing"
	case o.from.IsZero():
		return "not read yet"
	}
	return "not connected"
}

// outages are those that have ended, and since when those go on that have not.
type outages struct {
	ended []outage
	began map[event.Key]time.Time
	// forgotten is until when some are no longer held.
	forgotten time.Time
}

// sees reports whether in a phase all is seen that changes: also where there is nothing.
func sees(p event.Phase) bool { return p == event.PhaseLive || p == event.PhaseGone }

// observe takes a mark, before which its target was in a phase, and after which it is in another.
func (o *outages) observe(e *event.Event, before, after event.Phase) {
	key := e.Target.Key()
	switch {
	case e.Type == event.Left:
		delete(o.began, key)
	case sees(before) && !sees(after):
		if o.began == nil {
			o.began = map[event.Key]time.Time{}
		}
		if o.began[key] = e.Time; !e.Heard.IsZero() {
			o.began[key] = e.Heard
		}
	case !sees(before) && sees(after):
		if len(o.ended) == maxOutages {
			o.forgotten, o.ended = o.ended[0].to, o.ended[1:]
		}
		o.ended = append(o.ended, outage{e.Target, o.began[key], e.Time, before})
		delete(o.began, key)
	}
}

// unseen is a time in which not all was seen: of a resource, or for another reason.
type unseen struct {
	Resource string `json:"resource,omitempty"`
	Why      string `json:"why,omitempty"`
	From     int64  `json:"from"`
	To       int64  `json:"to"`
}

// unseenIn gathers what nobody saw in some time.
type unseenIn struct {
	from, to int64
	all      []unseen
}

func (u *unseenIn) add(resource, why string, began, ended time.Time) {
	one := unseen{resource, clip(why, maxValue), max(u.from, millis(began)), min(u.to, millis(ended))}
	if one.From < one.To {
		u.all = append(u.all, one)
	}
}

// of adds what was not seen of a cluster, or of a recording. It is called under the lock of the Hub.
func (u *unseenIn) of(h *Hub, cluster string) {
	if h.ofPast != nil {
		u.gaps(h.ofPast, cluster)
	} else {
		u.outages(&h.targets, cluster, h.clock())
	}
}

// gaps adds those of a cluster in a recording.
func (u *unseenIn) gaps(known *Coverage, cluster string) {
	for _, g := range known.Gaps {
		if g.Cluster == cluster {
			u.add("", g.Reason, g.From, g.To)
		}
	}
}

// outages adds those of a cluster's targets, which go on until now if they have not ended.
func (u *unseenIn) outages(ts *targets, cluster string, now time.Time) {
	u.add("", "when what was not seen is no longer held", time.Time{}, ts.outages.forgotten)
	for _, o := range ts.outages.ended {
		if o.of.Cluster == cluster {
			u.add(o.of.Resource().GroupResource().String(), "", o.from, o.to)
		}
	}
	for _, l := range ts.links.All() {
		if l.Target.Cluster == cluster && !sees(l.Phase()) {
			u.add(l.Target.Resource().GroupResource().String(), "", ts.outages.began[l.Target.Key()], now)
		}
	}
}
