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

// Options says what to watch. Config, HTTP and Resolver are required, and Targets unless Follow is set. Its fields are
// the settings of Run and the functions that it calls.
type Options struct {
	// Config and HTTP lead to the server. They must not have a timeout, because it would end every
	// watch.
	Config   *rest.Config
	HTTP     *http.Client
	Resolver Resolver
	Targets  []event.Target // no two may have the same Key
	// Follow makes Run follow what the server serves: each new target that Resolver finds joins
	// within seconds. Without it, Run starts to follow when one of Targets has ended.
	Follow bool
	// Namespaces are the namespaces that Resolver found for Targets. If Namespaces is not nil, the
	// targets of a namespace join when it is selected, and leave when it is not selected any more.
	// Requires Follow.
	Namespaces map[string]event.Namespace
	// ResolveAgain receives a signal when Resolver may find more objects by name. Their targets then
	// join, and the objects may have existed before. nil disables it. Requires Follow.
	ResolveAgain <-chan struct{}
	// RequestsChanged receives a signal when IsRequested may have become false for a target. That
	// target then leaves. nil disables it.
	RequestsChanged <-chan struct{}
	IsRequested     func(event.Key) bool
	// StartTime is when the watch began that Run continues. Objects of targets that join are new if
	// they were created after it. Zero means now.
	StartTime time.Time
	// Request says what to request for each target, and how long that may take.
	source.Request
	IgnoreMissing     bool // List returns no error if a named object does not exist
	KeepManagedFields bool // keeps metadata.managedFields, which are otherwise removed
	// Tables requests from the server what kubectl would show of each object, as Object.Row, if the
	// server supports that. The object is then only a PartialObjectMetadata, unless FullObjects is
	// set.
	Tables, FullObjects bool
	// KeepContent retains the content of every object, compressed, for Event.Old. Without it, a
	// delivered object takes less than a kilobyte.
	KeepContent bool
	// PollInterval is how often Run checks what the server serves if it can't watch for changes. Zero
	// means 30 seconds.
	PollInterval time.Duration
	// HeartbeatInterval is the time between two Heartbeat events. Zero disables them. A Sink that
	// blocks delays them.
	HeartbeatInterval time.Duration
	// VerifyInterval is how often Run compares each target with a fresh list from the server. Zero
	// disables it. OnVerified receives each result, in the goroutine that calls the Sink. It must not
	// block.
	VerifyInterval time.Duration
	OnVerified     func(Verification)
	// Recheck receives a signal when all watches should be renewed. nil disables it.
	Recheck <-chan struct{}
	// BeforeEnd, if not nil, is called when the context of Run ends, in its own goroutine. The watches continue until it
	// returns. Its context ends if they end earlier.
	BeforeEnd func(context.Context)
	// History returns what earlier runs reported about a target. Run calls it once for each of
	// Targets before it watches any of them, and then reports only the differences. It may be nil.
	History event.HistoryFunc
}

// Watcher watches the targets of its Options. It keeps no state between runs.
type Watcher struct {
	options          Options
	client, metadata dynamic.Interface
	clock            *serverClock
}

// New returns a Watcher. It makes no request.
func New(options Options) (*Watcher, error) {
	var clock *serverClock
	clock, options.HTTP = newServerClock(options.HTTP)
	read := codec.Options{KeepManagedFields: options.KeepManagedFields, Shard: options.Shard}
	client, err := codec.NewClient(options.Config, options.HTTP, read)
	if options.Tables {
		client, err = codec.NewTableClient(options.Config, options.HTTP, read, options.FullObjects)
	}
	// The metadata client has no shard, because it also reads objects that belong to none, such as namespaces.
	metadata, metadataErr := codec.NewClient(options.Config, codec.MetadataOnlyClient(options.HTTP), codec.Options{})
	if err = cmp.Or(err, metadataErr); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &Watcher{options, client, metadata, clock}, nil
}

// runState is the state that all targets of one Run or List share.
type runState struct {
	options   Options
	source    source.Options    // of each target's source
	metadata  dynamic.Interface // reads only metadata
	send      func(message)     // receives the observations and changes of each target; does not block
	clock     *serverClock
	startTime time.Time
	// verifying is a semaphore of size one: only one target at a time lists objects to verify them.
	verifying chan struct{}
}

func (w *Watcher) newRunState() *runState {
	o := w.options
	o.ReportProgress = o.VerifyInterval > 0
	if o.StartTime.IsZero() {
		o.StartTime = time.Now()
	}
	return &runState{
		options:   o,
		source:    source.Options{Client: w.client, Budget: source.NewByteBudget(), Request: o.Request},
		metadata:  w.metadata,
		clock:     w.clock,
		startTime: o.StartTime,
		verifying: make(chan struct{}, 1),
	}
}

// Run delivers the events of all targets to sink until ctx ends, sink returns an error, or the watch
// fails to start. The package comment describes the contract.
func (w *Watcher) Run(ctx context.Context, sink event.Sink) error {
	ctx, cancel := w.runContext(ctx)
	defer cancel(nil)
	shared, q := w.newRunState(), newQueue()
	shared.send = q.put
	l := &loop{
		sink: sink, queue: q, budget: shared.source.Budget, cancel: cancel,
		starting: len(w.options.Targets), states: event.NewWatchStates(w.options.Targets),
	}
	set := newTargetSet(ctx, shared, cancel)
	l.recheckAll = set.recheckAll
	if err := set.start(); err != nil {
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

// runContext returns a context that ends with ctx, or when Options.BeforeEnd has returned after that.
func (w *Watcher) runContext(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	if w.options.BeforeEnd == nil {
		return context.WithCancelCause(ctx)
	}
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		w.options.BeforeEnd(run)
		cancel(context.Cause(ctx))
	})
	context.AfterFunc(run, func() { stop() })
	return run, cancel
}
