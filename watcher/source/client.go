package source

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
	"dwatch/watcher/shallow"
)

// sessionClient decorates the dynamic client for one session. It sees each request and each
// event before the informer does, and keeps from it all that can be dealt with
// here: a lost connection is resumed from the last resourceVersion, with our own
// back-off, and the informer's watch simply goes on. The informer gets an error
// only where it has to act: to relist, or to list at all where the server streams
// no initial events.
//
// During a sync it shows each object to the observer at once; an informer would
// pass on nothing before the last one has arrived.
type sessionClient struct {
	dynamic.Interface
	*Source
	session *session

	// ctx ends with the session. It is kept here because client-go's reflector
	// lists with context.Background().
	ctx context.Context
	// fail ends the session with a cause.
	fail context.CancelCauseFunc

	// calls has room for any number of calls: the watches that the informer was given, and
	// its lists. The session's end takes all of the room: client-go's reflector leaves a list
	// alone that is on its way when it is stopped, so one may begin or be busy at any time.
	calls *semaphore.Weighted

	// unpaged: the pages of a list expired, and the informer's pager asks for all of
	// it next. It takes what it gets then for all, and follows no continue token.
	// Only List looks at it, of which there is one at a time.
	unpaged bool

	// cuts counts the syncs in a row that broke off.
	cuts atomic.Int32
}

func (c *sessionClient) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	all := c.Interface.Resource(r)
	return anyNamespace{resourceClient{all, c}, all}
}

// resourceClient is the client of one resource in one namespace.
type resourceClient struct {
	dynamic.ResourceInterface
	client *sessionClient
}

// anyNamespace is what dynamic.Interface returns: it takes a namespace or stands
// for all of them.
type anyNamespace struct {
	resourceClient
	all dynamic.NamespaceableResourceInterface
}

func (a anyNamespace) Namespace(namespace string) dynamic.ResourceInterface {
	return resourceClient{a.all.Namespace(namespace), a.client}
}

// Watch returns at once; the stream connects by itself and reports what the
// informer has to know as an ERROR event. The stream ends when the informer
// stops it or, in mid-sync, when the connection is lost: a sync can't be
// resumed. It is not tied to ctx, which ends later than the session's.
func (r resourceClient) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if !r.client.calls.TryAcquire(1) {
		return nil, context.Cause(r.client.ctx)
	}
	s := newStream(r, options)
	go func() {
		defer r.client.calls.Release(1)
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
// in pages; newer ones may have been reported.
func (r resourceClient) List(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	c := r.client
	if !c.calls.TryAcquire(1) {
		return nil, context.Cause(c.ctx)
	}
	defer c.calls.Release(1)
	if options.Continue == "" {
		c.session.beginSync(c.ctx)
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
	}
	if options.Limit == 0 && !c.unpaged {
		options.Limit = pageSize // the informer's pager follows, whatever it asked for
	}
	c.unpaged = false
	backoff := NewBackoff()
	for {
		list, err := r.list(options)
		if err == nil {
			c.hear()
			c.noteAnswer("")
			for i := range list.Items {
				c.setType(&list.Items[i])
			}
			return list, c.take(list)
		}
		switch classify(err, false, c.HasAnswer(), options.Continue != "") {
		case abort:
			c.fail(err)
			return nil, err
		case relist:
			c.unpaged = isExpired(err)
			return nil, err
		case retry:
			c.lost(err)
			if !backoff.Wait(c.ctx, err) {
				return nil, context.Cause(c.ctx)
			}
		}
	}
}

func (r resourceClient) list(options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeoutCause(r.client.ctx, r.client.options.RequestTimeout, errNoAnswer)
	defer cancel()
	list, err := r.ResourceInterface.List(ctx, options)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return list, err
}

// take shows the objects of a list to the observer.
func (c *sessionClient) take(list *unstructured.UnstructuredList) error {
	for i := range list.Items {
		if err := c.show(&list.Items[i], watch.Added); err != nil {
			return err
		}
	}
	if list.GetContinue() == "" {
		c.endSync(list.GetResourceVersion())
	}
	return nil
}

// endSync observes that the server has named all that there was. The informer has
// not replaced its store yet.
func (c *sessionClient) endSync(resourceVersion string) {
	o := Observation{Kind: SyncEnded, ResourceVersion: resourceVersion}
	if c.options.Keep == KeepContent {
		o.Last = c.session.last()
	}
	if before := c.cursor.Swap(&resourceVersion); before != nil {
		o.From = *before
	}
	c.synced.Store(true)
	c.observer.Observe(o)
}

// show shows an object of a sync to the observer, and leaves to the informer what
// it is to keep. It waits for the gate.
func (c *sessionClient) show(u *unstructured.Unstructured, kind watch.EventType) error {
	if c.options.Keep == KeepObjects {
		return nil // what there is, is listed
	}
	content := shallow.Content(u)
	if c.options.Keep == KeepIdentity {
		content = shallow.Take(u)
	}
	row := shallow.Row(u)
	held, err := c.options.Gate.enter(c.ctx, len(content)+len(row))
	if err != nil {
		return err
	}
	o := Observation{
		Kind:    Listed,
		Object:  event.NewObject(shallow.Identity(u), content).WithRow(row),
		Added:   kind == watch.Added,
		Deleted: kind == watch.Deleted,
		Held:    held,
	}
	if c.options.Keep == KeepContent {
		o.Old = c.session.find(cache.MetaObjectToName(u).String())
	}
	c.observer.Observe(o)
	return nil
}

// setType says of what type an object is that came without a type of its own.
func (c *sessionClient) setType(u *unstructured.Unstructured) {
	if shallow.IsMetadata(u) {
		u.SetGroupVersionKind(c.target.Mapping.GroupVersionKind)
	}
}

// lost observes that the connection is down, unless that is because the session
// ends.
func (c *sessionClient) lost(err error) {
	if c.ctx.Err() == nil {
		c.Lost(err)
	}
}

// cutSync notes that a sync broke off. When that happens again and again, as
// behind a proxy that ends requests before all has come, it is time to list in
// pages.
func (c *sessionClient) cutSync() error {
	if c.cuts.Add(1) >= cutSyncs {
		c.cuts.Store(0)
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
	// cutSyncs in a row make the informer list.
	cutSyncs = 3
	// pageSize is client-go's for lists.
	pageSize = 500
)
