package watcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"dwatch/watcher/codec"
	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// Options says what to watch. Config, HTTP and Resolver must be set, and Targets unless Follow is.
type Options struct {
	// Config and HTTP lead to the server. A timeout of either would cut every watch.
	Config   *rest.Config
	HTTP     *http.Client
	Resolver Resolver
	Targets  []event.Target // watched side by side; no two may have the same Key
	// Follow makes Run watch what the server serves: each target that Resolver finds joins
	// within seconds. Without it that begins when one of the targets has left.
	Follow bool
	// Namespaces, if not nil, are those that Resolver found for Targets. The targets of those that
	// come to be chosen join then, and leave when they no longer are; Follow has to be set.
	Namespaces map[string]event.Namespace
	// Look, if not nil, has a signal when Resolver may find more objects by name, which join then: they
	// may have existed before. Follow has to be set.
	ResolveAgain <-chan struct{}
	// Drop, if not nil, has a signal when Asked may be false of a target, which leaves then.
	RequestsChanged <-chan struct{}
	IsRequested     func(event.Key) bool
	// Began is when the watch began that Run goes on with: of what joins, that is new which was created since.
	// Zero: now.
	StartTime time.Time
	// Request says what is asked for of each target, and how long that may take.
	source.Request
	IgnoreMissing     bool // it is no error of List that a named object is not there
	KeepManagedFields bool // keeps metadata.managedFields, which are dropped otherwise
	// Tables asks the server for what it shows of each object in a table, as Object.Row, where it
	// can. Of the object there is then only the metadata, as a PartialObjectMetadata, unless
	// WholeObjects is set.
	Tables, FullObjects bool
	// KeepContent keeps the content of every object, compressed, for Event.Old. Without it an
	// object costs less than a kilobyte once it has been delivered.
	KeepContent bool
	// Poll is how often the server is asked what it serves, to follow that, where the changes can't
	// be watched. 0 means 30 seconds.
	PollInterval time.Duration
	// Heartbeat is how often Run reports one; 0 means never. It is late while the sink blocks.
	HeartbeatInterval time.Duration
	// Verify is how often each target is compared with a fresh list of the server, 0 means never, and
	// Verified gets what comes of that, by the goroutine that calls the sink. It must not block.
	VerifyInterval time.Duration
	OnVerified     func(Verification)
	// Recheck, if not nil, has a signal when all watches are to be renewed.
	Recheck <-chan struct{}
	// Past, if not nil, is asked once for each of Targets, before it is watched, what was reported
	// in earlier runs. Run then reports only what is different.
	History event.HistoryFunc
}

// Watcher watches the targets of its options. It keeps no state between runs.
type Watcher struct {
	options          Options
	client, metadata dynamic.Interface
	clock            *serverClock
}

// New returns a Watcher; it makes no request.
func New(options Options) (*Watcher, error) {
	var clock *serverClock
	clock, options.HTTP = newServerClock(options.HTTP)
	read := codec.Options{KeepManagedFields: options.KeepManagedFields, Shard: options.Shard}
	client, err := codec.NewClient(options.Config, options.HTTP, read)
	if options.Tables {
		client, err = codec.NewTableClient(options.Config, options.HTTP, read, options.FullObjects)
	}
	metadata, metadataErr := codec.NewClient(options.Config, codec.MetadataOnlyClient(options.HTTP), codec.Options{}) // also for what is of no shard
	if err = cmp.Or(err, metadataErr); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &Watcher{options, client, metadata, clock}, nil
}

// run is what the targets of one Run or List share.
type run struct {
	options  Options
	source   source.Options    // of each target's source
	metadata dynamic.Interface // reads nothing but metadata
	note     func(note)        // takes what becomes of a target, and does not block
	clock    *serverClock
	began    time.Time
	// verifying holds one while the server names the objects of a target to be compared.
	verifying chan struct{}
}

func (w *Watcher) newRun() *run {
	o := w.options
	o.ReportProgress = o.VerifyInterval > 0
	if o.StartTime.IsZero() {
		o.StartTime = time.Now()
	}
	return &run{
		options:   o,
		source:    source.Options{Client: w.client, Budget: source.NewByteBudget(), Request: o.Request},
		metadata:  w.metadata,
		clock:     w.clock,
		began:     o.StartTime,
		verifying: make(chan struct{}, 1),
	}
}

// Run delivers the events of all targets to sink until ctx ends, sink returns an error, or the
// watch could not be started. See the package comment for the contract.
func (w *Watcher) Run(ctx context.Context, sink event.Sink) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, q := w.newRun(), newQueue()
	r.note = q.put
	l := &loop{
		sink: sink, queue: q, gate: r.source.Budget, cancel: cancel,
		targets: len(w.options.Targets), links: event.NewWatchStates(w.options.Targets),
	}
	set := newTargetSet(ctx, r, cancel)
	l.recheck = set.recheck
	if err := set.begin(); err != nil {
		return err
	}
	go func() {
		set.running.Wait()
		q.close()
	}()
	if err := l.run(ctx, time.Tick(w.options.HeartbeatInterval), w.options.Recheck); err != nil {
		return err
	}
	var failed *startError
	if errors.As(context.Cause(ctx), &failed) {
		return failed.err
	}
	return nil
}
