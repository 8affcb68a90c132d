package watcher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"dwatch/watcher/shallow"
)

// Options says what to watch. Config, HTTP and Resolver must be set, and Targets
// unless Follow is.
type Options struct {
	// Config and HTTP lead to the server. A timeout of either would cut every
	// watch: there must be none.
	Config   *rest.Config
	HTTP     *http.Client
	Resolver Resolver
	// Targets are watched side by side. No two may have the same Key.
	Targets []Target
	// Follow makes Run watch what the server serves: each target that Resolver
	// finds joins within seconds. Without it that begins when the server no longer
	// has one of the targets.
	Follow bool
	// LabelSelector and FieldSelector narrow each target; empty means all.
	LabelSelector string
	FieldSelector string
	// ManagedFields keeps metadata.managedFields, which are dropped otherwise.
	ManagedFields bool
	// KeepContent keeps the content of every object, for Event.Old. Without it
	// an object costs about a kilobyte once it has been emitted, whatever its size.
	KeepContent bool
	// RequestTimeout bounds each list request, and the wait for the answer to a
	// watch request; 0 means one minute. It never cuts a watch.
	RequestTimeout time.Duration
	// SyncSilence is how long the server may say nothing while it streams the
	// initial events, before it is asked for a list instead: proxies and old
	// servers accept the request, and never end it. 0 means 10 seconds.
	SyncSilence time.Duration
	// WatchLife is how long a watch lives at least before it is renewed, where it
	// stopped; at most it is half as long again. A right that is taken away, or a
	// connection that died without a sign, is noticed by then. 0 means 90 seconds;
	// fractions of a second do not count.
	WatchLife time.Duration
	// Poll is how often the server is asked what it serves, to follow that, where
	// the changes can't be watched. 0 means 30 seconds.
	Poll time.Duration
	// Heartbeat is how often Run emits a Heartbeat; 0 means never. It is late
	// while emit blocks.
	Heartbeat time.Duration
	// Past, if not nil, is asked once for each of Targets, before it is watched,
	// what its reader has been told. Run then emits only what is different from that.
	Past Past
	// Idle, if not nil, is called by Run's loop after an emit that no other
	// event is waiting behind: the time to flush.
	Idle func() error
}

// Watcher watches the targets of its options. It keeps no state between runs.
type Watcher struct {
	options Options
	client  dynamic.Interface
	scouts  dynamic.Interface
}

// New returns a Watcher; it does not talk to the server.
func New(options Options) (*Watcher, error) {
	client, err := shallow.NewClient(options.Config, options.HTTP, options.ManagedFields)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	scouts, err := shallow.NewClient(options.Config, shallow.MetadataOnly(options.HTTP), false)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &Watcher{options, client, scouts}, nil
}

// run is what the targets of one Run or List share.
type run struct {
	options *Options
	client  dynamic.Interface
	// scouts reads metadata only.
	scouts dynamic.Interface
	gate   gate
	// emit takes an event; it may block.
	emit func(emission)
}

func (w *Watcher) newRun(emit func(emission)) *run {
	return &run{&w.options, w.client, w.scouts, newGate(), emit}
}

// queue is how many events may wait for emit: enough for large writes, too few
// to matter in memory.
const queue = 128

// Run emits the events of all targets until ctx ends, emit returns an error, or
// the watch could not be started. See the package comment for the contract.
func (w *Watcher) Run(ctx context.Context, emit func(Event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	events := make(chan emission, queue)
	// The loop below receives until the channel is closed, so a send can't hang.
	r := w.newRun(func(e emission) { events <- e })
	roster := newRoster(ctx, r, cancel)
	if err := roster.begin(); err != nil {
		return err
	}
	go func() {
		roster.running.Wait()
		close(events)
	}()
	p := pump{run: r, emit: emit, cancel: cancel, pulse: newPulse(w.options.Targets)}
	if err := p.emitAll(events); err != nil {
		return err
	}
	var failed *startError
	if errors.As(context.Cause(ctx), &failed) {
		return failed.err
	}
	return nil
}
