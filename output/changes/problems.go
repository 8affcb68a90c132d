package changes

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/clipperhouse/displaywidth"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// look knows what there is, as far as it takes to say what needs a look, and what followed what.
type look struct {
	*View
	inventory *inventory.Inventory
	links     *event.WatchStates
	last      inventory.Change
	resources map[schema.GroupResource]schema.GroupVersionResource // of which there were events
	said      map[string]bool                                      // at the start, what needs a look: by cluster
	waits     time.Time                                            // since when that waits for what is asked for; zero: it does not
}

const (
	// maxEnded is of how many deleted objects it is known what followed.
	maxEnded = 1000
	// maxCauses is for how many problems it is looked for after what they came.
	maxCauses = 20
)

func newLook(v *View) *look {
	l := &look{View: v, said: map[string]bool{}, links: event.NewWatchStates(v.Targets), resources: map[schema.GroupResource]schema.GroupVersionResource{}}
	l.inventory = inventory.New(inventory.Options{WithoutContent: true, Compare: &v.Compare, Masks: v.Compare.Masks, MaxDeleted: maxEnded, LookupOwners: v.LookupOwners, LookupWarning: v.LookupWarning, Targets: v.Targets, KubeEventsFiltered: v.KubeEventsFiltered},
		func(changes []inventory.Change) { l.last = changes[0] })
	return l
}

// observe takes the one event of a batch. It returns what it changed; nil: that is not known.
func (l *look) observe(ctx context.Context, one []event.Event) (*inventory.Change, error) {
	switch {
	case l == nil, one[0].Reconstructed != nil:
		return nil, nil
	case one[0].Type.IsStatus():
		l.links.Observe(&one[0])
		return nil, l.inventory.Deliver(ctx, one)
	}
	resource := one[0].Target.Resource()
	l.resources[resource.GroupResource()] = resource
	if err := l.inventory.Deliver(ctx, one); err != nil {
		return nil, err
	}
	c := l.last
	return &c, nil
}

// lines say what needs a look, or that nothing does.
func (l *look) lines(now time.Time) (lines []string) {
	if l == nil || l.Prefiltered {
		return nil
	}
	l.measure()
	l.problems(now, "", func(sign rune, s subject, text, below string) {
		lines = append(lines, string(sign)+" "+s.String()+"  "+text)
		if below != "" {
			lines = append(lines, "  "+below)
		}
	})
	if len(lines) == 0 {
		return []string{l.noProblem()}
	}
	return lines
}

// noProblem says that there is none, as far as that is known.
func (l *look) noProblem() string {
	if !inventory.HasHealth(l.links.All()) {
		return inventory.NoHealth
	}
	if l.Clusters == nil {
		if !l.links.Connected() {
			return inventory.HealthUnknown
		}
		return inventory.AllHealthy
	}
	all, connected := l.Clusters(), 0
	for _, m := range all {
		if l.links.ClusterState(m).Phase == event.PhaseLive {
			connected++
		}
	}
	return inventory.DescribeHealth(connected, len(all))
}

// problems calls add for each, or each of a cluster, with as much of it as has room. What after has no room there is below.
func (l *look) problems(now time.Time, cluster string, add func(sign rune, s subject, text, below string)) {
	all := l.inventory.Problems(now, maxCauses, l.Compare)
	for n := range all {
		if cluster != "" && all[n].State.Entry.Cluster != cluster {
			continue
		}
		w := all[n].Describe(now, inventory.NameOptions{ShortName: l.short, ShowNamespaces: l.ShowNamespaces, FullTimestamps: l.FullTimestamps})
		text, when, after := w.Fit(l.room(""), displaywidth.String)
		for _, part := range []string{when, after} {
			if part != "" {
				text += "  " + part
			}
		}
		below := ""
		if after == "" {
			below = w.CauseLine(l.room(""), displaywidth.String)
		}
		add(w.Sign, subject{cluster: w.Cluster, after: w.Subject[len(w.Cluster):]}, text, below)
	}
}

// atStart shows what needs a look once it is known how the watch of each target stands, of several
// clusters when that is known of one.
func (l *look) atStart(at time.Time) {
	if l == nil || l.Prefiltered {
		return
	}
	all := map[string]*standing{}
	for _, link := range l.links.All() {
		s := all[link.Target.Cluster]
		if s == nil {
			s = &standing{}
			all[link.Target.Cluster] = s
		}
		phase := link.Phase()
		s.objects += link.Count
		s.connecting = s.connecting || phase == event.PhaseConnecting
		s.unknown = s.unknown || phase != event.PhaseLive && phase != event.PhaseGone
	}
	if len(all) == 0 { // what comes later was not there at the start
		l.said[""] = true
	}
	for _, cluster := range slices.Sorted(maps.Keys(all)) {
		s := all[cluster]
		if l.said[cluster] || s.connecting || s.objects > 0 && l.isAsking(at) {
			continue
		}
		l.said[cluster] = true
		if s.objects > 0 {
			l.showAtStart(cluster, s.unknown, at)
		}
	}
}

// mostAsked is how long what needs a look waits at the start for what is asked for.
const mostAsked = 2 * time.Second

// isAsking reports whether what is wrong is still asked for, and that is worth waiting for.
func (l *look) isAsking(at time.Time) bool {
	if l.HasPendingLookups == nil {
		return false
	}
	l.inventory.Problems(at, 0, l.Compare) // has it asked for
	if !l.HasPendingLookups() || !l.waits.IsZero() && at.Sub(l.waits) >= mostAsked {
		l.waits = time.Time{}
		return false
	}
	l.waits = cmp.Or(l.waits, at)
	return true
}

// late says what waits at the start, when it is known.
func (l *look) late(now time.Time, all bool) {
	if l == nil || l.waits.IsZero() {
		return
	}
	if all {
		l.waits = now.Add(-mostAsked)
	}
	l.atStart(now)
}

// standing is how it is with all that is watched of a cluster.
type standing struct {
	objects             int
	connecting, unknown bool
}

func (l *look) showAtStart(cluster string, unknown bool, at time.Time) {
	quiet := true
	l.problems(at, cluster, func(sign rune, s subject, text, below string) {
		l.line(at, sign, s, text, "")
		if below != "" {
			l.detail(below, "")
		}
		quiet = false
	})
	if !quiet || !inventory.HasHealth(l.links.All()) {
		return
	}
	text := inventory.AllHealthy
	if unknown {
		text = inventory.HealthUnknown
	}
	if cluster != "" {
		text = ": " + text
	}
	l.line(at, '=', subject{cluster: clean(cluster), after: text}, "", "")
}

// short is the name that a resource is shown by.
func (l *look) short(r schema.GroupResource) string {
	if known, is := l.resources[r]; is {
		return l.ShortName(known)
	}
	return r.Resource
}

// present is the state of an object; nil if it is not there.
func (l *look) present(o *inventory.Entry) *inventory.State {
	for _, s := range l.inventory.ExistingByID([]string{o.ID}) {
		return s
	}
	return nil
}

// named is an object that no event is about.
func (l *look) named(o *inventory.Entry) subject {
	return l.placed(o.Cluster, o.Namespace, clean(l.short(o.Resource)+"/"+o.Name))
}
