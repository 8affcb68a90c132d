package source

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"

	"dwatch/watcher/codec"
	"dwatch/watcher/event"
)

// Options says how to watch. Client is required, and so is Budget unless Snapshot is set.
type Options struct {
	// Client reads raw objects of package codec. It must not have a timeout, because that would
	// end every watch.
	Client dynamic.Interface
	Budget *ByteBudget
	// Snapshot is for Source.List: a session lists the objects once, without a watch, and the
	// informer's store retains whole objects. Budget does not limit them. A single named object is
	// read with a GET request, unless selectors or a shard have to be applied.
	Snapshot bool
	Request
}

// Request says what to request for a target, and how long that may take.
type Request struct {
	// LabelSelector and FieldSelector select objects. If empty, all are selected.
	LabelSelector, FieldSelector string
	// Shard selects the objects of one shard. It is part of the request, and objects of other
	// shards are also dropped here, because most servers don't support shards.
	Shard event.Shard
	// RequestTimeout limits each request for a list of objects and the wait for the response to a
	// watch request. It never ends a watch, and does not limit the probes of one. Zero means one minute.
	RequestTimeout time.Duration
	// SyncSilenceTimeout is how long the server may send nothing during the initial events. After
	// that, the objects are listed instead, because proxies and old servers accept the request and
	// never complete it. Zero means 10 seconds.
	SyncSilenceTimeout time.Duration
	// MinWatchTimeout is the minimum time after which a watch is renewed where it stopped. The
	// maximum is a third longer. If the server was asked to end the watch by then and does not,
	// dwatch ends it after at most half as long again. A revoked permission or a silently dead
	// connection is noticed by then. Zero means 90 seconds. The time is rounded to a full second.
	MinWatchTimeout time.Duration
	// Bookmarks makes the source observe Proved, which confirms that all changes before a certain
	// time have been observed. That happens after each list, and whenever a probe or a bookmark
	// shows that the watch has caught up. It costs a small list request every few seconds and for
	// each watch request, a list request for each revision for resources without bookmarks, and a
	// watch of a few seconds after each list and loss.
	Bookmarks bool
	// ReportProgress makes the source observe Progressed for the bookmarks of a watch.
	ReportProgress bool
}

// Source reads the objects of one target from the server and passes observations to its Observer.
// It runs one session at a time.
type Source struct {
	target   event.Target // may change between sessions
	options  Options
	observer Observer
	// recheck receives a signal to renew the watch.
	recheck chan struct{}
	// relist receives a signal to list all objects again.
	relist chan struct{}

	// responded is true if the server has served a request, or AssumeServerResponded was called. Before
	// that, nothing is retried. connected is true if the server has served a request since the last loss.
	responded, connected atomic.Bool
	// synced is true if a list was completed in the current or most recent session.
	synced atomic.Bool
	// missing is the server's answer that the object of a snapshot does not exist, or nil.
	missing atomic.Pointer[error]
	// unreadable are the names of the objects of the current list whose content is not valid JSON. Only the informer's goroutine
	// and, after a snapshot, Unreadable use it.
	unreadable []string
	lastHeard  atomic.Int64 // when the server was last heard from, in Unix nanoseconds; zero if never
	// cursor is the resourceVersion that the informer has reached, or nil before the first list is
	// complete.
	cursor atomic.Pointer[string]
}

// New returns a Source for t. It makes no request.
func New(t event.Target, options Options, observer Observer) *Source {
	options.RequestTimeout = cmp.Or(options.RequestTimeout, time.Minute)
	options.SyncSilenceTimeout = cmp.Or(options.SyncSilenceTimeout, 10*time.Second)
	options.MinWatchTimeout = cmp.Or(options.MinWatchTimeout, 90*time.Second)
	return &Source{target: t, options: options, observer: observer, recheck: make(chan struct{}, 1), relist: make(chan struct{}, 1)}
}

// SetTarget changes the version or scope of the target's resource. No session may be running.
func (s *Source) SetTarget(t event.Target) { s.target = t }

// Recheck makes the running session renew its watch. If it is listing, it does so after the list.
// Recheck does not block.
func (s *Source) Recheck() { Signal(s.recheck) }

// Relist makes the running session list all objects again. Initial events in progress or a list that
// begins later fulfill the request, too. Relist does not block.
func (s *Source) Relist() { Signal(s.relist) }

// Signal sends a signal to c, which has capacity one, unless one is already waiting.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// HasServerResponded reports whether the server has served a request, or AssumeServerResponded was called.
func (s *Source) HasServerResponded() bool { return s.responded.Load() }

// AssumeServerResponded enables retries for all later requests, also if the server has never served one.
func (s *Source) AssumeServerResponded() { s.responded.Store(true) }

// HasSynced reports whether a list was completed in the current or most recent session.
func (s *Source) HasSynced() bool { return s.synced.Load() }

// MissingError returns the NotFound error of the server if the object of a snapshot does not exist, or nil.
func (s *Source) MissingError() error {
	if err := s.missing.Load(); err != nil {
		return *err
	}
	return nil
}

// Unreadable returns the names of the objects that List could not read.
func (s *Source) Unreadable() []string { return s.unreadable }

// ReportLoss observes Lost: because of err, the connection is lost or the user may not watch.
func (s *Source) ReportLoss(err error) {
	s.connected.Store(false)
	loss := event.Event{Err: err}
	if heard := s.lastHeard.Load(); heard > 0 {
		loss.Heard = time.Unix(0, heard)
	}
	s.observer.Observe(Observation{Kind: Lost, Event: loss})
}

// noteHeard sets the time when the server was last heard from to the current time.
func (s *Source) noteHeard() { s.lastHeard.Store(time.Now().UnixNano()) }

// noteConnected observes Connected if the source was not connected. resourceVersion is where the
// watch resumes, or empty if a list comes first.
func (s *Source) noteConnected(resourceVersion string) {
	s.responded.Store(true)
	if !s.connected.Swap(true) {
		s.observer.Observe(Observation{Kind: Connected, Event: event.Event{ResourceVersion: resourceVersion}})
	}
}

// ListIdentities lists the identities of t's objects in their current state, and the
// resourceVersion of the list. client should request only metadata.
func (o *Options) ListIdentities(ctx context.Context, client dynamic.Interface, t event.Target) (listed []*event.Identity, resourceVersion string, err error) {
	page := metav1.ListOptions{Limit: pageSize}
	o.tweakFor(t)(&page)
	for {
		bounded, cancel := context.WithTimeoutCause(ctx, cmp.Or(o.RequestTimeout, time.Minute), errNoAnswer)
		list, err := client.Resource(t.Resource()).Namespace(t.Namespace).List(bounded, page)
		cancel()
		if err != nil {
			return nil, "", err
		}
		for i := range list.Items {
			if item := &list.Items[i]; o.Shard.Has(item.GetUID()) {
				listed = append(listed, codec.IdentityOf(item))
			}
		}
		if page.Continue = list.GetContinue(); page.Continue == "" {
			return listed, list.GetResourceVersion(), nil
		}
	}
}

// tweakFor returns a function that limits list options to t and the selectors.
func (o *Options) tweakFor(t event.Target) func(*metav1.ListOptions) {
	selector := o.FieldSelector
	if t.Name != "" {
		name := fields.OneTermEqualSelector(metav1.ObjectNameField, t.Name).String()
		selector = strings.Trim(selector+","+name, ",")
	}
	return func(options *metav1.ListOptions) {
		options.LabelSelector, options.FieldSelector = o.LabelSelector, selector
		options.ShardSelector = o.Shard.Selector()
	}
}

// Observer receives the observations of a Source in order. Observe is called from several goroutines
// and must not block. The ByteBudget limits the memory of the observations.
type Observer interface{ Observe(o Observation) }

// ObservationKind is the kind of an Observation.
type ObservationKind uint8

const (
	// SessionBegan: a session with an empty informer has begun.
	SessionBegan ObservationKind = iota
	// SyncBegan: a list of all objects begins.
	SyncBegan
	// Listed: an object of the list, directly from the server.
	Listed
	// SyncEnded: the list is complete at ResourceVersion. From is the resourceVersion that the
	// informer had reached before, or empty at first.
	SyncEnded
	// Changed: an object that changed after the list, from the informer.
	Changed
	// Unreadable: an object exists, but its content is not valid JSON. Object only has an identity,
	// and Type is the type of the server's event.
	Unreadable
	// Connected: the server responds, at first or again. ResourceVersion is where the watch
	// resumes, or empty if a list comes first.
	Connected
	// Proved: every change up to the time Heard, the last one at ResourceVersion, has been
	// observed. If Heard is zero, changes since the previous Proved may have arrived late.
	Proved
	// Progressed: every change up to ResourceVersion has been observed, because a live watch sent a
	// bookmark.
	Progressed
	// Lost: the connection is lost or a permission is missing. Err is the cause, and Heard is when
	// the server was last heard from. Each failed attempt is observed.
	Lost
)

// Observation is one observation of a Source. It embeds Event because the watcher emits most of its
// content as an event.
type Observation struct {
	Kind ObservationKind
	// In Listed and Changed, Type is the type of the server's event. Object is the observed state,
	// or the last known state if it was deleted.
	event.Event
	ReservedBytes int64 // to release to the ByteBudget when the observation has been handled
}
