package changes

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/churn"
	"dwatch/watcher/object/owner"
)

// Options configures a View. The zero value shows objects of one namespace, without colours. Its fields are independent
// settings.
type Options struct {
	// Width returns the current number of columns of the terminal. If it is nil or returns 0, lines are not cut.
	Width func() int
	Color bool
	// FullTimestamps adds date, milliseconds and the offset of the zone to times.
	FullTimestamps bool
	// NoTruncate shows values in full.
	NoTruncate bool
	// ShowInitial shows each initial object. Otherwise the View counts them.
	ShowInitial bool
	// Prefiltered is true if a filter upstream drops events. The caller then passes all events to Count.
	Prefiltered bool
	// InitialEvents shows the initial Kubernetes Events at their own times, instead of counting them.
	InitialEvents bool
	// ShowNamespaces shows the namespace of each object.
	ShowNamespaces bool
	// ShortName returns the short name of a resource. nil means the plural.
	ShortName func(schema.GroupVersionResource) string
	// Targets are the targets of the watch. Targets of several clusters may be missing, and come with their status events.
	Targets []event.Target
	// Clusters returns the selected clusters, whether they are connected or not. It is nil unless there are several.
	Clusters func() []event.Cluster
	// ShowProblems shows at the start which objects have problems.
	ShowProblems bool
	// LookupOwners returns the owners of an object that is not watched. known is false while the lookup is under way. It does not
	// block. nil means that owners cannot be looked up.
	LookupOwners func(cluster string, o owner.Ref) (owners []owner.Owner, known bool)
	// LookupWarning returns the message and the time of the latest Warning about an object, or zero values while that is unknown.
	// It does not block. nil means that Warnings cannot be looked up. HasPendingLookups reports whether a first lookup is under
	// way, and may be nil.
	LookupWarning     func(cluster string, o owner.Ref) (why string, last time.Time)
	HasPendingLookups func() bool
	// KubeEventsFiltered is true if Kubernetes Events may be filtered out upstream.
	KubeEventsFiltered bool
	// Fold requires ShowProblems. It shows the changes that follow an intentional change in one line once they have settled, and
	// only some of the equal changes of an object. See FlushDue and FlushAll.
	Fold bool
	// Compare selects the changes that count, and masks values.
	Compare change.Options
}

const (
	// MinWidth is the minimum width of a terminal for which lines are laid out.
	MinWidth = 40
	// endless is the width of lines that are not for a terminal.
	endless = 1 << 30
)

// View writes events as lines of text. Deliver must be called from one goroutine, other methods may be called from any, also during
// Deliver. It embeds Options because most of them decide how an event is shown.
type View struct {
	Options
	mu  sync.Mutex // guards the fields below, except hidden and initialTallies
	out *lineWriter
	// hidden counts the events that change only noise.
	hidden atomic.Int64
	// shown counts the other events of objects, also buffered ones and those that a line only counts.
	shown int
	// gone has the times of the latest deletions, until an object of the same name is created.
	gone              *lru.Cache
	initialKubeEvents []event.Event // initial Kubernetes Events before the Synced event
	// churn finds fights and hot loops.
	churn *churn.Tally
	*initialTallies
	problems    *problemView // nil without Options.ShowProblems
	folds       folds
	repeats     repeats
	lastSettled weak.Pointer[event.SettledGroup] // the last group that was shown; weak, to release its objects
	failed      error                            // error from showing buffered events; the next Deliver returns it
}

var _ event.Sink = (*View)(nil)

// New returns a View that writes to w.
func New(w io.Writer, o Options) *View {
	if o.ShortName == nil {
		o.ShortName = func(r schema.GroupVersionResource) string { return r.Resource }
	}
	v := &View{Options: o, out: newLineWriter(w, o), gone: lru.New(1000), churn: churn.New()}
	v.initialTallies = newInitialTallies(v)
	if o.ShowProblems {
		v.problems = newProblemView(v)
	}
	v.folds.View, v.repeats.View = v, v
	return v
}

// Deliver implements event.Sink.
func (v *View) Deliver(ctx context.Context, batch []event.Event) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.measure()
	for i := range batch {
		c, err := v.problems.observe(ctx, batch[i:i+1])
		if err != nil {
			return err
		}
		if err := v.show(&batch[i], c); err != nil {
			return err
		}
	}
	if len(batch) > 0 {
		v.problems.showInitialProblems(batch[len(batch)-1].Time)
	}
	return cmp.Or(v.failed, v.out.w.Flush())
}

// Note writes a message about the watch at once, on as many lines as it needs. If the write fails, the next Deliver returns the
// error.
func (v *View) Note(at time.Time, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.measure()
	for i, line := range wrap(clean(text), v.out.room("")) {
		if i == 0 {
			v.out.line(at, '!', subject{after: line}, "", "")
		} else {
			v.out.detail(line, "")
		}
	}
	v.out.w.Flush() // it keeps its error
}

// DescribeProblems returns a line for each current problem, or one that there are none. It returns nil without
// Options.ShowProblems, and with Options.Prefiltered.
func (v *View) DescribeProblems(now time.Time) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.problems.lines(now)
}

// FlushDue shows the buffered events that are due. With Options.Fold it must be called periodically.
func (v *View) FlushDue(now time.Time) { v.flush(now, false) }

// FlushAll shows all buffered events. It is called at the end.
func (v *View) FlushAll(now time.Time) { v.flush(now, true) }

func (v *View) flush(now time.Time, all bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.measure()
	v.problems.refresh(now)
	v.problems.showDelayed(now, all)
	v.folds.showDue(now, all)
	v.repeats.showDue(now, all)
	v.out.w.Flush() // it keeps its error
}

// Hidden returns the number of events that changed only noise. It may be called at any time.
func (v *View) Hidden() int { return int(v.hidden.Load()) }

// Shown returns the number of events of objects that were shown, buffered, or counted in a line. It waits for calls of Deliver,
// FlushDue and FlushAll.
func (v *View) Shown() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.shown
}

// show shows, buffers or counts an event. c is its change, or nil without a problemView.
func (v *View) show(e *event.Event, c *inventory.Change) error {
	switch {
	case e.Reconstructed != nil:
		reconstruction{v}.show(e)
		return nil
	case e.Type == event.Synced:
		if err := v.countSeen(e); err != nil {
			return err
		}
		kubeEvents{v}.showInitial()
		v.showCount(e)
		return nil
	case e.Initial && v.InitialEvents && e.Object.IsEvent():
		v.initialKubeEvents = append(v.initialKubeEvents, *e)
		return nil
	case e.Type.IsStatus():
		return nil // Note gets these messages
	}
	if err := v.countSeen(e); err != nil {
		return err
	}
	if e.Initial && !v.ShowInitial {
		return nil
	}
	if e.Settled != nil {
		return (&settlement{View: v}).show(e)
	}
	if v.folds.fold(e, c) || v.repeats.buffer(e, c) {
		return nil
	}
	return v.showOne(e, c)
}

// showOne shows an event of an object.
func (v *View) showOne(e *event.Event, c *inventory.Change) error {
	switch {
	case e.Object.IsEvent():
		kubeEvents{v}.show(e)
		return nil
	case e.Type == event.Modified:
		return v.showModified(e, c)
	}
	now, err := v.open(e.Object)
	if err != nil {
		return err
	}
	v.shown++
	if e.Type == event.Added {
		v.showAdded(e, now)
	} else {
		v.showDeleted(e, now)
	}
	return nil
}

func (v *View) open(o event.Object) (*unstructured.Unstructured, error) {
	u, err := o.Decode()
	if err != nil {
		return nil, fmt.Errorf("show %s/%s: %w", o.Namespace, clean(o.Name), err)
	}
	return u, nil
}

// showCount shows the number of initial objects of a target, and how many of them are not ready.
func (v *View) showCount(e *event.Event) {
	tally := v.takeComplete(e.Target.Key())
	if e.Count == 0 || v.ShowInitial {
		return
	}
	what := e.Target.Resource().Resource
	if e.Count == 1 {
		what = strings.ToLower(e.Target.Mapping.GroupVersionKind.Kind)
	}
	if v.isOneOfSeveral(e.Target) {
		what += " (" + clean(e.Target.Name) + ")"
	}
	where := ""
	switch {
	case e.Target.Namespace != "":
		where = " in " + e.Target.Namespace
	case e.Target.Namespaced():
		where = " in all namespaces"
	}
	if e.Target.Cluster != "" {
		where += " of "
	}
	v.out.line(e.Time, '=', subject{fmt.Sprintf("%d %s%s", e.Count, what, where), clean(e.Target.Cluster), tally.words(e.Count)}, "", "")
}

// isOneOfSeveral reports whether a target is one of several named objects of a resource in one place, whose counts would read
// the same.
func (v *View) isOneOfSeveral(t event.Target) bool {
	targets := v.Targets
	if v.problems != nil { // the watch may have found more
		targets = nil
		for _, link := range v.problems.links.All() {
			targets = append(targets, link.Target)
		}
	}
	return t.Name != "" && slices.ContainsFunc(targets, func(o event.Target) bool {
		return o.Name != "" && o.Name != t.Name && o.Cluster == t.Cluster && o.Namespace == t.Namespace && o.Resource() == t.Resource()
	})
}

// subject returns the object of an event, such as "default po/web".
func (v *View) subject(e *event.Event) subject {
	return v.subjectIn(e.Target.Cluster, e.Object.Namespace, clean(v.ShortName(e.Target.Resource())+"/"+e.Object.Name))
}

// subjectIn returns a subject with its namespace if namespaces are shown, and its cluster if there are several.
func (v *View) subjectIn(cluster, namespace, name string) subject {
	if v.ShowNamespaces && namespace != "" {
		name = clean(namespace) + " " + name
	}
	if cluster != "" {
		name = " " + name
	}
	return subject{cluster: clean(cluster), after: name}
}
