package watcher

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"dwatch/watcher/event"
	"dwatch/watcher/shallow"
)

// wire decorates the dynamic client of one session. It sees each request and
// each event before the informer does, and keeps from it all that can be dealt
// with here: a lost connection is resumed from the last resourceVersion, with
// our own backoff, and the informer's watch simply goes on. The informer is
// handed an error only where it has to act: to list anew, or to list at all
// where the server streams no initial events.
//
// During a sync it shows each object to the target at once; an informer would
// hand out nothing before the last one has arrived. Where no content is kept the
// informer gets only the identity of each object, and the content of what comes
// after the sync goes beside it, as cargo.
type wire struct {
	dynamic.Interface
	target *target

	// ctx ends with the session. It is kept here because client-go's reflector
	// lists with context.Background().
	ctx context.Context
	// fail ends the session with a cause.
	fail context.CancelCauseFunc

	// calls are the watches that were handed to the informer, and its lists.
	calls calls

	// whole: the pages of a list expired, and the informer's pager asks for all of
	// it next. It takes what it gets then for all, and follows no continue token.
	// Only List looks at it, of which there is one at a time.
	whole bool

	mu sync.Mutex
	// cuts counts the syncs in a row that broke off.
	cuts int
}

func (w *wire) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	all := w.Interface.Resource(r)
	return anyNamespace{resourceWire{all, w}, all}
}

// resourceWire is the wire of one resource in one namespace.
type resourceWire struct {
	dynamic.ResourceInterface
	wire *wire
}

// anyNamespace is what dynamic.Interface hands out: it takes a namespace or
// stands for all of them.
type anyNamespace struct {
	resourceWire
	client dynamic.NamespaceableResourceInterface
}

func (a anyNamespace) Namespace(namespace string) dynamic.ResourceInterface {
	return resourceWire{a.client.Namespace(namespace), a.wire}
}

// Watch returns at once; the stream connects by itself and reports what the
// informer has to know as an ERROR event. The stream ends when the informer
// stops it or, in mid-sync, when the connection is lost: a sync can't be
// resumed. It is not tied to ctx, which ends later than the session's.
func (r resourceWire) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if !r.wire.calls.begin() {
		return nil, context.Cause(r.wire.ctx)
	}
	s := newStream(r, options)
	go func() {
		defer r.wire.calls.end()
		s.run()
	}()
	return s, nil
}

// List asks until it has an answer or the session ends. The error is one that
// the informer has to act on, or the session's end.
//
// It asks for the present state, whatever the informer asks for. "0" would be
// answered from the server's cache, as stale as it may be, and the last
// resourceVersion that the informer saw with the state at just that version, if
// in pages; the reader may have been told newer ones.
func (r resourceWire) List(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	w := r.wire
	if !w.calls.begin() {
		return nil, context.Cause(w.ctx)
	}
	defer w.calls.end()
	if options.Continue == "" {
		w.target.beginSync()
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
	}
	if options.Limit == 0 && !w.whole {
		options.Limit = pageSize // the informer's pager follows, whatever it asked for
	}
	w.whole = false
	backoff := newBackoff()
	for {
		list, err := r.list(options)
		if err == nil {
			w.answered("")
			return list, w.take(list)
		}
		switch w.target.judge(err, phaseList, options.Continue != "") {
		case abort:
			w.fail(err)
			return nil, err
		case hand:
			w.whole = isExpired(err)
			return nil, err
		case retry:
			w.lost(err)
			if !backoff.wait(w.ctx, err) {
				return nil, context.Cause(w.ctx)
			}
		}
	}
}

func (r resourceWire) list(options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeoutCause(r.wire.ctx, r.wire.target.listTimeout(), errNoAnswer)
	defer cancel()
	list, err := r.ResourceInterface.List(ctx, options)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return list, err
}

// take shows the objects of a list to the target, in a sync.
func (w *wire) take(list *unstructured.UnstructuredList) error {
	for i := range list.Items {
		o := w.unload(&list.Items[i])
		if err := w.preview(o, watch.Added); err != nil {
			return err
		}
	}
	if list.GetContinue() == "" {
		w.target.endSync(list.GetResourceVersion())
	}
	return nil
}

// unload takes the content off u, unless the informer is to keep it.
func (w *wire) unload(u *unstructured.Unstructured) Object {
	if w.target.options.KeepContent {
		return whole(u)
	}
	content := shallow.Take(u)
	return event.NewObject(shallow.Identity(u), content)
}

// preview shows an object of a sync to the target. It waits for the gate.
func (w *wire) preview(o Object, kind watch.EventType) error {
	if !w.target.previews() {
		return nil
	}
	held, err := w.target.gate.enter(w.ctx, o.Len())
	if err != nil {
		return err
	}
	w.target.preview(o, kind, held)
	return nil
}

// lost tells that the connection is down, or denied: once, unless the one turns
// into the other.
func (w *wire) lost(err error) {
	if w.ctx.Err() != nil {
		return
	}
	w.target.lost(err)
}

// answered tells that the server is there (again). resourceVersion is where the
// watch goes on; empty where a sync comes first, which tells more.
func (w *wire) answered(resourceVersion string) {
	w.target.setStarted()
	w.target.found(resourceVersion)
}

// cutSync notes that a sync broke off. When that happens again and again, as
// behind a proxy that ends requests before all has come, it is time to list in
// pages.
func (w *wire) cutSync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cuts++; w.cuts >= cutSyncs {
		w.cuts = 0
		return errSilentSync
	}
	return errCutSync
}

const (
	// shortWatch is the life under which a watch that ended without an event
	// counts as failed: servers have ended watches on too old a resourceVersion
	// that way (kubernetes/kubernetes#104171).
	shortWatch = time.Second
	// shortWatches in a row are taken for an expired resourceVersion.
	shortWatches = 3
	// cutSyncs in a row, and the informer is sent to list.
	cutSyncs = 3
	// pageSize is client-go's for lists.
	pageSize = 500
)
