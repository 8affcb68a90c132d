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

// problemView lists problems and finds the causes of changes. Its inventory has the current objects. A nil problemView is
// valid and does nothing. It embeds the View because its lines appear between those of the View.
type problemView struct {
	*View
	inventory     *inventory.Inventory
	links         *event.WatchStates
	lastChange    inventory.Change
	resources     map[schema.GroupResource]schema.GroupVersionResource // the versions in the events
	shownClusters map[string]bool                                      // clusters whose initial problems were shown
	waitingSince  time.Time                                            // when the initial problems began to wait for lookups, or zero
	now           time.Time                                            // of the latest event, or of the latest refresh
}

const (
	// maxEnded is the number of deleted objects that the inventory keeps, to find what followed their deletion.
	maxEnded = 1000
	// maxCauses is the number of problems for which the inventory looks for a cause.
	maxCauses = 20
)

func newProblemView(v *View) *problemView {
	l := &problemView{View: v, shownClusters: map[string]bool{}, links: event.NewWatchStates(v.Targets), resources: map[schema.GroupResource]schema.GroupVersionResource{}}
	l.inventory = inventory.New(inventory.Options{WithoutContent: true, Compare: &v.Compare, Masks: v.Compare.Masks, MaxDeleted: maxEnded, LookupOwners: v.LookupOwners, LookupWarning: v.LookupWarning, Targets: v.Targets, KubeEventsFiltered: v.KubeEventsFiltered},
		func(changes []inventory.Change) { l.lastChange = changes[0] })
	return l
}

// observe takes a batch of one event. It returns the change, or nil for a status event or a reconstructed one.
func (l *problemView) observe(ctx context.Context, one []event.Event) (*inventory.Change, error) {
	switch {
	case l == nil, one[0].Reconstructed != nil:
		return nil, nil
	case one[0].Type.IsStatus():
		l.links.Observe(&one[0])
		return nil, l.inventory.Deliver(ctx, one)
	}
	l.now = one[0].Time
	resource := one[0].Target.Resource()
	l.resources[resource.GroupResource()] = resource
	if err := l.inventory.Deliver(ctx, one); err != nil {
		return nil, err
	}
	c := l.lastChange
	return &c, nil
}

// lines returns the current problems, or a line that there are none.
func (l *problemView) lines(now time.Time) (lines []string) {
	if l == nil || l.Prefiltered {
		return nil
	}
	l.out.measure()
	l.forEachProblem(now, "", func(sign rune, s subject, text, below string) {
		lines = append(lines, string(sign)+" "+s.String()+"  "+text)
		if below != "" {
			lines = append(lines, "  "+below)
		}
	})
	if len(lines) == 0 {
		return []string{l.noProblemText()}
	}
	return lines
}

// noProblemText returns the text for an empty list of problems.
func (l *problemView) noProblemText() string {
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

// forEachProblem calls add for each problem of a cluster or, if cluster is empty, of all clusters. below is the cause of the problem
// if it does not fit into text.
func (l *problemView) forEachProblem(now time.Time, cluster string, add func(sign rune, s subject, text, below string)) {
	all := l.inventory.Problems(now, maxCauses, l.Compare)
	for n := range all {
		if cluster != "" && all[n].State.Entry.Cluster != cluster {
			continue
		}
		w := all[n].Describe(now, inventory.NameOptions{ShortName: l.short, ShowNamespaces: l.ShowNamespaces, FullTimestamps: l.FullTimestamps})
		text, when, after := w.Fit(l.out.room(""), displaywidth.String)
		for _, part := range []string{when, after} {
			if part != "" {
				text += "  " + part
			}
		}
		below := ""
		if after == "" {
			below = w.CauseLine(l.out.room(""), displaywidth.String)
		}
		add(w.Sign, subject{cluster: w.Cluster, after: w.Subject[len(w.Cluster):]}, text, below)
	}
}

// showInitialProblems shows the initial problems of each cluster whose targets have all left PhaseConnecting.
func (l *problemView) showInitialProblems(at time.Time) {
	if l == nil || l.Prefiltered {
		return
	}
	all := map[string]*clusterSummary{}
	for _, link := range l.links.All() {
		s := all[link.Target.Cluster]
		if s == nil {
			s = &clusterSummary{}
			all[link.Target.Cluster] = s
		}
		phase := link.Phase()
		s.objects += link.Count
		s.connecting = s.connecting || phase == event.PhaseConnecting
		s.unknown = s.unknown || phase != event.PhaseLive && phase != event.PhaseGone
	}
	if len(all) == 0 { // targets that are added later have no initial problems
		l.shownClusters[""] = true
	}
	for _, cluster := range slices.Sorted(maps.Keys(all)) {
		s := all[cluster]
		if l.shownClusters[cluster] || s.connecting || s.objects > 0 && l.waitsForLookups(at) {
			continue
		}
		l.shownClusters[cluster] = true
		if s.objects > 0 {
			l.showCluster(cluster, s.unknown, at)
		}
	}
}

// maxLookupWait is how long the initial problems wait for lookups.
const maxLookupWait = 2 * time.Second

// waitsForLookups reports whether the initial problems should wait for lookups.
func (l *problemView) waitsForLookups(at time.Time) bool {
	if l.HasPendingLookups == nil {
		return false
	}
	l.inventory.Problems(at, 0, l.Compare) // starts the lookups
	if !l.HasPendingLookups() || !l.waitingSince.IsZero() && at.Sub(l.waitingSince) >= maxLookupWait {
		l.waitingSince = time.Time{}
		return false
	}
	l.waitingSince = cmp.Or(l.waitingSince, at)
	return true
}

// showDelayed shows initial problems that waited for lookups if these have ended, or if flush is true.
func (l *problemView) showDelayed(now time.Time, flush bool) {
	if l == nil || l.waitingSince.IsZero() {
		return
	}
	if flush {
		l.waitingSince = now.Add(-maxLookupWait)
	}
	l.showInitialProblems(now)
}

// clusterSummary is the state of all targets of a cluster.
type clusterSummary struct {
	objects             int
	connecting, unknown bool
}

func (l *problemView) showCluster(cluster string, unknown bool, at time.Time) {
	healthy := true
	l.forEachProblem(at, cluster, func(sign rune, s subject, text, below string) {
		l.out.line(at, sign, s, text, "")
		if below != "" {
			l.out.detail(below, "")
		}
		healthy = false
	})
	if !healthy || !inventory.HasHealth(l.links.All()) {
		return
	}
	text := inventory.AllHealthy
	if unknown {
		text = inventory.HealthUnknown
	}
	if cluster != "" {
		text = ": " + text
	}
	l.out.line(at, '=', subject{cluster: clean(cluster), after: text}, "", "")
}

// short returns the short name of a resource.
func (l *problemView) short(r schema.GroupResource) string {
	if known, is := l.resources[r]; is {
		return l.ShortName(known)
	}
	return r.Resource
}

// currentState returns the current state of an object with the failures of the objects that it owns, or nil if it does not exist.
func (l *problemView) currentState(o *inventory.Entry) *inventory.State {
	for _, s := range l.inventory.ExistingByID([]string{o.ID}) {
		return l.inventory.WithOwned(s, l.now)
	}
	return nil
}

// refresh takes what became of objects without an event until now: crash loops that ended, and failures of objects that
// they own.
func (l *problemView) refresh(now time.Time) {
	if l == nil {
		return
	}
	l.now = now
	for _, s := range l.inventory.Refresh(now) {
		l.folds.markRecovered(s, now)
	}
}

// subjectOf returns an object of the inventory as the subject of a line.
func (l *problemView) subjectOf(o *inventory.Entry) subject {
	return l.subjectIn(o.Cluster, o.Namespace, clean(l.short(o.Resource)+"/"+o.Name))
}
