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

// Options say how to watch. Client and Gate must be set.
type Options struct {
	// Client reads shallow objects, and has no timeout: it would cut every watch.
	Client dynamic.Interface
	Budget *ByteBudget
	// Objects makes the informer's store keep whole objects, for Source.List, which are not bounded
	// by the Gate.
	KeepObjects bool
	Request
}

// Request says what is asked for of a target, and how long that may take.
type Request struct {
	// LabelSelector and FieldSelector narrow the target; empty means all.
	LabelSelector, FieldSelector string
	// Shard narrows it, too. The server is asked for that, and what it sends besides is left out: most servers know
	// nothing of shards, and send all.
	Shard event.Shard
	// RequestTimeout bounds each list request, and the wait for the answer to a watch request; 0
	// means one minute. It never cuts a watch.
	RequestTimeout time.Duration
	// SyncSilence is how long the server may say nothing while it streams the initial events,
	// before it is asked for a list instead: proxies and old servers accept the request, and never
	// end it. 0 means 10 seconds.
	SyncSilenceTimeout time.Duration
	// WatchLife is how long a watch lives at least before it is renewed, where it stopped; at most
	// it is half as long again. A right that is taken away, or a connection that died without a
	// sign, is noticed by then. 0 means 90 seconds; fractions of a second do not count.
	MinWatchTimeout time.Duration
	// Bookmarks makes the source observe up to when all that happened has been observed, at the end
	// of each sync, when a connection has caught up, and about once in the
	// life of a watch. It costs a small list for each watch request, and a watch of some seconds after each sync and loss.
	Bookmarks bool
	// Positions makes the source observe by Reached where a watch has come to of which nothing comes.
	ReportProgress bool
}

// Source asks the server for the objects of one target, and reports what comes to its Observer. One
// session runs at a time.
type Source struct {
	target   event.Target // may change between two sessions
	options  Options
	observer Observer
	// recheck holds one: the server is to be asked whether it has the resource.
	recheck chan struct{}
	// relist holds one: all is to be listed.
	relist chan struct{}

	// answered: the server has answered once, be it with a no. Before that nothing is retried.
	// connected: since the last loss it has.
	answered, connected atomic.Bool
	// synced: in the present session, or the last one, a sync has ended.
	synced atomic.Bool
	heard  atomic.Int64 // when the server was last heard of, in nanoseconds since the epoch; 0: never
	// cursor is the resourceVersion that the informer has been taken to; nil before the first sync.
	cursor atomic.Pointer[string]
}

// New returns a Source of t. It makes no request.
func New(t event.Target, options Options, observer Observer) *Source {
	options.RequestTimeout = cmp.Or(options.RequestTimeout, time.Minute)
	options.SyncSilenceTimeout = cmp.Or(options.SyncSilenceTimeout, 10*time.Second)
	options.MinWatchTimeout = cmp.Or(options.MinWatchTimeout, 90*time.Second)
	return &Source{target: t, options: options, observer: observer, recheck: make(chan struct{}, 1), relist: make(chan struct{}, 1)}
}

// SetTarget goes on with another version of the resource, or scope. No session may run.
func (s *Source) SetTarget(t event.Target) { s.target = t }

// Recheck makes a session whose watch is live ask the server again. It does not wait.
func (s *Source) Recheck() { Signal(s.recheck) }

// Relist makes a session whose watch is live list all anew. It does not wait.
func (s *Source) Relist() { Signal(s.relist) }

// Signal sends to c, which holds one signal, unless one is waiting there.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// HasAnswer reports whether the server has answered, be it with a no.
func (s *Source) HasServerResponded() bool { return s.answered.Load() }

// SetAnswered makes what failed be retried from the first request on.
func (s *Source) AssumeServerResponded() { s.answered.Store(true) }

// HasSynced reports whether in the present session, or the last one, a sync has ended.
func (s *Source) HasSynced() bool { return s.synced.Load() }

// Lost observes that the connection is down, or denied.
func (s *Source) ReportLoss(err error) {
	s.connected.Store(false)
	loss := event.Event{Err: err}
	if heard := s.heard.Load(); heard > 0 {
		loss.Heard = time.Unix(0, heard)
	}
	s.observer.Observe(Observation{Kind: Lost, Event: loss})
}

// hear notes that the server is there.
func (s *Source) hear() { s.heard.Store(time.Now().UnixNano()) }

// noteAnswer observes that the server is there (again).
func (s *Source) noteAnswer(resourceVersion string) {
	s.answered.Store(true)
	if !s.connected.Swap(true) {
		s.observer.Observe(Observation{Kind: Connected, Event: event.Event{ResourceVersion: resourceVersion}})
	}
}

// Named returns what the server names of t, as it is when it is asked, and at which resourceVersion
// that is. client asks for nothing but metadata.
func (o *Options) ListIdentities(ctx context.Context, client dynamic.Interface, t event.Target) (named []*event.Identity, resourceVersion string, err error) {
	page := metav1.ListOptions{Limit: pageSize}
	o.narrowTo(t)(&page)
	for {
		bounded, cancel := context.WithTimeoutCause(ctx, cmp.Or(o.RequestTimeout, time.Minute), errNoAnswer)
		list, err := client.Resource(t.Resource()).Namespace(t.Namespace).List(bounded, page)
		cancel()
		if err != nil {
			return nil, "", err
		}
		for i := range list.Items {
			if one := &list.Items[i]; o.Shard.Has(one.GetUID()) {
				named = append(named, codec.IdentityOf(one))
			}
		}
		if page.Continue = list.GetContinue(); page.Continue == "" {
			return named, list.GetResourceVersion(), nil
		}
	}
}

// narrowTo returns what makes a request ask for t and no more.
func (o *Options) narrowTo(t event.Target) func(*metav1.ListOptions) {
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

// Observer takes what a Source meets, in order. Observe is called by several goroutines, and must
// not block: what bounds it is the Gate.
type Observer interface{ Observe(o Observation) }

// Kind says what an Observation is.
type ObservationKind uint8

const (
	// Began: a session has begun, whose informer knows nothing.
	SessionBegan ObservationKind = iota
	// SyncBegan: the server names all that there is, from here on.
	SyncBegan
	// Listed: an object of a sync, right off the wire.
	Listed
	// SyncEnded: the server has named all that there was at ResourceVersion. From is where the
	// informer had been taken to before; empty at first.
	SyncEnded
	// Changed: an object that changed after the sync, as the informer passed it on.
	Changed
	// Answered: the server answers (again). ResourceVersion is where the watch goes on; empty where
	// a sync comes first.
	Connected
	// Proved: all that happened up to Heard has been observed, the last of it at ResourceVersion.
	Proved
	// Reached: all that happened up to ResourceVersion has been observed, of a watch that goes on.
	Progressed
	// Lost: the connection is down, or a right is missing; Err says how, and Heard when something
	// was last heard of the server. Each failed try is observed.
	Lost
)

// Observation is one thing that a Source has observed.
type Observation struct {
	Kind ObservationKind
	// Of Listed and Changed, Object is what was seen, which of a deletion is the last that is
	// known, and Type what the server calls it.
	event.Event
	ReservedBytes int64 // is to leave the Gate when the observation has been dealt with
}
