package changes

import (
	"bufio"
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

	"dwatch/output"
	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/churn"
	"dwatch/watcher/object/owner"
)

// Options say how to show events. The zero value shows one namespace, without noise and colour.
type Options struct {
	// Width returns the columns of the terminal as it is now. Nil, or 0: nothing is cut.
	Width func() int
	Color bool
	// Timestamps shows the date, milliseconds and the offset of the zone.
	FullTimestamps bool
	// Full shortens nothing.
	NoTruncate bool
	// Initial shows each object that exists at the start; otherwise they are counted.
	ShowInitial bool
	// Filtered: some events may be left out before. All of them come to Count then.
	Prefiltered bool
	// Past shows, not counted, the Events of Kubernetes that exist at the start at their own times.
	InitialEvents bool
	// Namespaces shows the namespace of each object.
	ShowNamespaces bool
	// ShortName returns the name that a resource is shown by; nil means its plural.
	ShortName func(schema.GroupVersionResource) string
	// Targets are what is watched at first; of several clusters those come that their marks name.
	Targets []event.Target
	// Clusters returns those that are asked for, whether they answer or not; nil: it is one.
	Clusters func() []event.Cluster
	// Look says at the start what needs a look.
	ShowProblems bool
	// Above returns the owners of an object that is not watched, and whether they are known yet; nil: nobody can.
	// It does not wait.
	LookupOwners func(cluster string, o owner.Ref) (owners []owner.Owner, known bool)
	// Warned returns what the newest Warning about an object says, and when it was said last, as far as that is known
	// yet; nil: nobody can. It does not wait. IsAsking reports whether something is asked for that was never known.
	LookupWarning     func(cluster string, o owner.Ref) (why string, last time.Time)
	HasPendingLookups func() bool
	// SomeEvents: where Events of Kubernetes are watched, some may be left out before.
	KubeEventsFiltered bool
	// Fold, with Look, shows what followed a change that somebody meant in one line, when it has settled,
	// and of changes that repeat others of the same object only some: see Tick and End.
	Fold bool
	// Compare says which changes count and what is masked.
	Compare change.Options
}

const (
	// MinWidth is the least width for which there are lines.
	MinWidth = 40
	// endless is the width of lines that are not for a terminal.
	endless = 1 << 30
)

// View shows events, which come from one goroutine, and notes, which may come from any.
type View struct {
	Options
	mu    sync.Mutex // for all but hidden
	w     *bufio.Writer
	width int // of the present batch or note
	// hidden counts the events in which nothing but noise changed.
	hidden atomic.Int64
	// shown counts the others.
	shown int
	// gone has when the last objects were deleted, each until one of the same name takes its place.
	gone *lru.Cache
	past []event.Event // that wait for the last of them
	// churn finds fights and hot loops.
	churn *churn.Tally
	*atStart
	look    *look // nil without Options.Look
	folds   folds
	repeats repeats
	told    weak.Pointer[event.SettledGroup] // that was shown last; its objects do not stay in memory for it
	failed  error                            // to show what was held back; the next Deliver returns it
	palette output.Palette                   // of the names of clusters
}

var _ event.Sink = (*View)(nil)

// New returns a View that writes to w.
func New(w io.Writer, o Options) *View {
	if o.ShortName == nil {
		o.ShortName = func(r schema.GroupVersionResource) string { return r.Resource }
	}
	v := &View{Options: o, w: bufio.NewWriterSize(w, 64<<10), gone: lru.New(1000), churn: churn.New()}
	if o.Clusters != nil {
		v.palette = output.NewPalette(event.ClusterNames(o.Clusters())...)
	}
	v.atStart = newAtStart(v)
	if o.ShowProblems {
		v.look = newLook(v)
	}
	v.folds.View, v.repeats.View = v, v
	return v
}

// Deliver implements event.Sink.
func (v *View) Deliver(ctx context.Context, batch []event.Event) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.measure()
	for i := range batch {
		c, err := v.look.observe(ctx, batch[i:i+1])
		if err != nil {
			return err
		}
		if err := v.show(&batch[i], c); err != nil {
			return err
		}
	}
	if len(batch) > 0 {
		v.look.atStart(batch[len(batch)-1].Time)
	}
	return cmp.Or(v.failed, v.w.Flush())
}

// Note shows, at once, what somebody else has to say about the watch: on as many lines as it takes,
// so that nothing of it is cut. If it can't be written, the next Deliver returns the error.
func (v *View) Note(at time.Time, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.measure()
	for i, line := range wrap(clean(text), v.room("")) {
		if i == 0 {
			v.line(at, '!', subject{after: line}, "", "")
		} else {
			v.detail(line, "")
		}
	}
	v.w.Flush() // it keeps its error
}

// Look says what needs a look now, a line each, or that nothing does. It says nothing without
// Options.Look, and where not all objects come to the View.
func (v *View) DescribeProblems(now time.Time) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.look.lines(now)
}

// Tick shows what was held back for long enough, with Options.Fold. It is called now and then.
func (v *View) FlushDue(now time.Time) { v.late(now, false) }

// End shows all that was held back. It is called last.
func (v *View) FlushAll(now time.Time) { v.late(now, true) }

func (v *View) late(now time.Time, all bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.measure()
	v.look.late(now, all)
	v.folds.say(now, all)
	v.repeats.say(now, all)
	v.w.Flush() // it keeps its error
}

func (v *View) measure() {
	v.width = endless
	if v.Width != nil {
		v.width = cmp.Or(v.Width(), endless)
	}
}

// Hidden returns, at any time, how many events were not shown: nothing but noise changed.
func (v *View) Hidden() int { return int(v.hidden.Load()) }

// Shown returns how many events of objects were shown, when no Deliver is under way.
func (v *View) Shown() int { return v.shown }

// show shows an event; c is what it changed, nil if that is not known.
func (v *View) show(e *event.Event, c *inventory.Change) error {
	switch {
	case e.Reconstructed != nil:
		reconstruction{v}.show(e)
		return nil
	case e.Type == event.Synced:
		if err := v.countSeen(e); err != nil {
			return err
		}
		kubeEvents{v}.showPast()
		v.showCount(e)
		return nil
	case e.Initial && v.InitialEvents && e.Object.IsEvent():
		v.past = append(v.past, *e)
		return nil
	case e.Type.IsStatus():
		return nil // what becomes of the watch comes as a note
	}
	if err := v.countSeen(e); err != nil {
		return err
	}
	if e.Initial && !v.ShowInitial {
		return nil // it is counted
	}
	if e.Settled != nil {
		return (&settlement{View: v}).show(e)
	}
	if v.folds.take(e, c) || v.repeats.take(e, c) {
		return nil
	}
	return v.showOne(e, c)
}

// showOne shows an event of an object that is neither only counted nor held back.
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

// showCount says how many objects a target has at the start, and what is wrong with them.
func (v *View) showCount(e *event.Event) {
	wrong := v.counted(e.Target.Key())
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
	v.line(e.Time, '=', subject{fmt.Sprintf("%d %s%s", e.Count, what, where), clean(e.Target.Cluster), wrong.words(e.Count)}, "", "")
}

// isOneOfSeveral reports whether a target is one of several named objects of a resource in one place, whose counts would read
// the same.
func (v *View) isOneOfSeveral(t event.Target) bool {
	targets := v.Targets
	if v.look != nil { // the watch may have found more
		targets = nil
		for _, link := range v.look.links.All() {
			targets = append(targets, link.Target)
		}
	}
	return t.Name != "" && slices.ContainsFunc(targets, func(o event.Target) bool {
		return o.Name != "" && o.Name != t.Name && o.Cluster == t.Cluster && o.Namespace == t.Namespace && o.Resource() == t.Resource()
	})
}

// subject is the object by a name that kubectl takes, such as default po/web.
func (v *View) subject(e *event.Event) subject {
	return v.placed(e.Target.Cluster, e.Object.Namespace, clean(v.ShortName(e.Target.Resource())+"/"+e.Object.Name))
}

// placed puts the namespace of an object before its name, and the cluster, where there are several.
func (v *View) placed(cluster, namespace, name string) subject {
	if v.ShowNamespaces && namespace != "" {
		name = clean(namespace) + " " + name
	}
	if cluster != "" {
		name = " " + name
	}
	return subject{cluster: clean(cluster), after: name}
}
