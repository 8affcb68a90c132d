package source

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"dwatch/watcher/codec"
	"dwatch/watcher/event"
)

// Resource implements dynamic.Interface for the informer: the session decorates the dynamic client.
// It sees each request and each event before the informer does, and keeps from it all that can be
// dealt with here: a lost connection is resumed from the last resourceVersion, with our own
// back-off. The informer gets an error only where it has to act: to relist, or to list at all where
// the server streams no initial events.
//
// During a sync it shows each object to the observer at once; an informer would pass on nothing
// before the last one has arrived.
func (s *session) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	all := s.options.Client.Resource(r)
	return anyNamespace{resourceClient{all, s}, all}
}

type resourceClient struct {
	dynamic.ResourceInterface
	session *session
}

// anyNamespace is what dynamic.Interface returns: it takes a namespace or stands for all of them.
type anyNamespace struct {
	resourceClient
	all dynamic.NamespaceableResourceInterface
}

func (a anyNamespace) Namespace(namespace string) dynamic.ResourceInterface {
	return resourceClient{a.all.Namespace(namespace), a.session}
}

// Watch returns at once; the stream connects by itself and reports what the informer has to know as
// an ERROR event. It is not tied to ctx, which ends later than the session's.
func (r resourceClient) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if !r.session.calls.TryAcquire(1) {
		return nil, context.Cause(r.session.ctx)
	}
	s := newStream(r, options)
	go func() {
		defer r.session.calls.Release(1)
		s.run()
	}()
	return s, nil
}

// List asks until it has an answer, an error that the informer has to act on, or the session
// ends. It asks for the present state, whatever the informer asks for: "0" would be answered
// from the server's cache, as stale as it may be, and the last resourceVersion that the informer
// saw with the state at just that version, if in pages; newer ones may have been reported.
func (r resourceClient) List(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	c := r.session
	if !c.calls.TryAcquire(1) {
		return nil, context.Cause(c.ctx)
	}
	defer c.calls.Release(1)
	if options.Continue == "" {
		c.beginSync(c.ctx)
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
	}
	if options.Limit == 0 && !c.unpaged {
		options.Limit = pageSize // the informer's pager follows, whatever it asked for
	}
	c.unpaged = false
	var backoff Backoff
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
		switch classify(err, false, c.HasServerResponded(), options.Continue != "") {
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
	ctx, cancel := context.WithTimeoutCause(r.session.ctx, r.session.options.RequestTimeout, errNoAnswer)
	defer cancel()
	list, err := r.ResourceInterface.List(ctx, options)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return list, err
}

func (c *session) take(list *unstructured.UnstructuredList) error {
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

// endSync observes that the server has named all that there was. The informer has not replaced its
// store yet.
func (c *session) endSync(resourceVersion string) {
	ended := event.Event{ResourceVersion: resourceVersion}
	if before := c.cursor.Swap(&resourceVersion); before != nil {
		ended.From = *before
	}
	c.synced.Store(true)
	c.observer.Observe(Observation{Kind: SyncEnded, Event: ended})
	c.mark(c.ctx, c.syncBegan, resourceVersion)
}

// show shows an object of a sync to the observer, and leaves to the informer which one it is.
func (c *session) show(u *unstructured.Unstructured, kind watch.EventType) error {
	if c.options.KeepObjects {
		return nil // what there is, is listed
	}
	o, err := c.observation(c.ctx, Listed, u, kind)
	if err != nil {
		return err
	}
	c.observer.Observe(*o)
	return nil
}

// observation makes an observation of an object, whose content it takes. It waits for the gate.
func (c *session) observation(ctx context.Context, k ObservationKind, u *unstructured.Unstructured, kind watch.EventType) (*Observation, error) {
	content, row := codec.TakeContent(u), codec.TableRow(u)
	held, err := c.options.Budget.enter(ctx, len(content)+len(row))
	if err != nil {
		return nil, err
	}
	object := event.NewObject(codec.IdentityOf(u), content).WithRow(row)
	return &Observation{Kind: k, Event: event.Event{Type: event.Type(kind), Object: object}, ReservedBytes: held}, nil
}

func (c *session) setType(u *unstructured.Unstructured) {
	if codec.IsMetadataOnly(u) {
		u.SetGroupVersionKind(c.target.Mapping.GroupVersionKind)
	}
}

// lost is Lost, unless that is because the session ends.
func (c *session) lost(err error) {
	if c.ctx.Err() == nil {
		c.ReportLoss(err)
	}
}

// cutSync notes that a sync broke off. Again and again, as behind a proxy that ends requests
// before all has come, it is time to list in pages.
func (c *session) cutSync() error {
	if c.cuts.Add(1) >= cutSyncs {
		c.cuts.Store(0)
		return errSilentSync
	}
	return errCutSync
}

const (
	// shortWatch is the life under which a watch that ended without an event counts as failed.
	// So many of them in a row are taken for an expired resourceVersion: servers have said that
	// in this way (kubernetes/kubernetes#104171).
	shortWatch   = time.Second
	shortWatches = 3
	cutSyncs     = 3   // in a row make the informer list
	pageSize     = 500 // client-go's for lists
)
