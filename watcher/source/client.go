package source

import (
	"context"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"dwatch/watcher/codec"
	"dwatch/watcher/event"
)

// Resource implements dynamic.Interface for the informer. The returned client sees each request and
// event before the informer does, and handles most problems itself: it resumes lost connections at
// the last resourceVersion with its own backoff. The informer receives an error only if it has to
// act on it, by listing all objects.
//
// During a list, unless it is for a snapshot, the client also passes each object to the observer
// immediately, because an informer passes on nothing before the list is complete.
func (s *session) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	all := s.options.Client.Resource(r)
	return anyNamespace{resourceClient{all, s}, all}
}

type resourceClient struct {
	dynamic.ResourceInterface
	session *session
}

// anyNamespace is a resourceClient for all namespaces that can be limited to one.
type anyNamespace struct {
	resourceClient
	all dynamic.NamespaceableResourceInterface
}

func (a anyNamespace) Namespace(namespace string) dynamic.ResourceInterface {
	return resourceClient{a.all.Namespace(namespace), a.session}
}

// IsWatchListSemanticsUnSupported makes the informer of a snapshot list the objects. client-go looks
// for this method.
func (s *session) IsWatchListSemanticsUnSupported() bool { return s.options.Snapshot }

// Watch returns immediately. The stream connects by itself and sends errors that the informer has
// to act on as ERROR events. ctx is ignored because it ends after the session's. The watch of a snapshot
// makes no request and sends nothing.
func (r resourceClient) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if !r.session.calls.TryAcquire(1) {
		return nil, context.Cause(r.session.ctx)
	}
	if r.session.options.Snapshot {
		r.session.calls.Release(1)
		return watch.NewProxyWatcher(make(chan watch.Event)), nil
	}
	s := newStream(r, options)
	go func() {
		defer r.session.calls.Release(1)
		s.run()
	}()
	return s, nil
}

// List retries until it has a response, an error that the informer has to act on, or the session
// ends. It requests the current state, whatever options say: the informer would request
// resourceVersion "0", which returns the possibly stale cache of the server, or, in pages, the
// exact last resourceVersion that it saw, although newer states may have been reported.
func (r resourceClient) List(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	c := r.session
	if !c.calls.TryAcquire(1) {
		return nil, context.Cause(c.ctx)
	}
	defer c.calls.Release(1)
	if options.Continue == "" {
		c.beginSync(c.ctx)
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
		clear(c.positions)
		c.unreadable = nil
	}
	if options.Limit == 0 && !c.unpaged {
		options.Limit = pageSize // the informer's pager follows continue tokens
	}
	c.unpaged = false
	var backoff Backoff
	for {
		list, err := r.list(options)
		if err == nil {
			c.noteHeard()
			c.noteConnected("")
			for i := range list.Items {
				c.setType(&list.Items[i])
			}
			c.removeUnreadable(list)
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
			c.reportLoss(err)
			if !backoff.Wait(c.ctx, err) {
				return nil, context.Cause(c.ctx)
			}
		}
	}
}

func (r resourceClient) list(options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeoutCause(r.session.ctx, r.session.options.RequestTimeout, errNoAnswer)
	defer cancel()
	list, err := r.request(ctx, options)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return list, err
}

// request lists the objects, or gets the only one of a snapshot.
func (r resourceClient) request(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if !r.session.isGet() {
		return r.ResourceInterface.List(ctx, options)
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	u, err := r.ResourceInterface.Get(ctx, r.session.target.Name, metav1.GetOptions{})
	switch {
	case isMissing(err):
		r.session.missing.Store(&err)
		return list, nil
	case err != nil:
		return nil, err
	}
	var columns codec.Columns
	columns.Complete(u)
	list.Items = []unstructured.Unstructured{*u}
	return list, nil
}

// isGet reports whether the session reads its only object with a GET request.
func (s *session) isGet() bool {
	o := &s.options
	return o.Snapshot && s.target.IsOneObject() && o.LabelSelector == "" && o.FieldSelector == "" && o.Shard.IsAll()
}

// isMissing reports whether the server serves the resource, but does not have the object. If it does
// not serve the resource, the answer is not a Status.
func isMissing(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

func (c *session) take(list *unstructured.UnstructuredList) error {
	for i := range list.Items {
		if u := &list.Items[i]; c.options.Snapshot {
			c.positions[keyOf(u.GetNamespace(), u.GetName())] = len(c.positions)
		}
		if err := c.observeListed(&list.Items[i], watch.Added); err != nil {
			return err
		}
	}
	if list.GetContinue() == "" {
		c.endSync(list.GetResourceVersion())
	}
	return nil
}

// removeUnreadable observes the objects of a list whose content is not valid JSON. The informer does not receive them.
func (c *session) removeUnreadable(list *unstructured.UnstructuredList) {
	list.Items = slices.DeleteFunc(list.Items, func(u unstructured.Unstructured) bool {
		if !codec.IsUnreadable(&u) {
			return false
		}
		c.unreadable = append(c.unreadable, strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/"))
		c.observer.Observe(Observation{Kind: Unreadable, Event: event.Event{
			Type: event.Type(watch.Added), Object: event.NewObject(codec.IdentityOf(&u), ""),
		}})
		return true
	})
}

// endSync observes SyncEnded. The informer has not replaced its store yet.
func (c *session) endSync(resourceVersion string) {
	ended := event.Event{ResourceVersion: resourceVersion}
	if before := c.cursor.Swap(&resourceVersion); before != nil {
		ended.From = *before
	}
	c.synced.Store(true)
	c.cuts.Store(0)
	c.observer.Observe(Observation{Kind: SyncEnded, Event: ended})
	c.observeProved(c.ctx, c.syncBegan, resourceVersion)
}

// observeListed passes an object of a list to the observer, unless the list is read from the store.
func (c *session) observeListed(u *unstructured.Unstructured, kind watch.EventType) error {
	if c.options.Snapshot {
		return nil
	}
	o, err := c.newObservation(c.ctx, Listed, u, kind)
	if err != nil {
		return err
	}
	c.observer.Observe(*o)
	return nil
}

// newObservation returns an observation of an object, and takes the content from it. It waits for
// the budget.
func (c *session) newObservation(ctx context.Context, k ObservationKind, u *unstructured.Unstructured, kind watch.EventType) (*Observation, error) {
	content, row := codec.TakeContent(u), codec.TableRow(u)
	held, err := c.options.Budget.reserve(ctx, len(content)+len(row))
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

// reportLoss calls ReportLoss, unless the session is ending.
func (c *session) reportLoss(err error) {
	if c.ctx.Err() == nil {
		c.ReportLoss(err)
	}
}

// noteCutSync counts initial events that were interrupted, for example by a proxy that limits the
// duration of requests. After several, it returns the error that makes the informer list in pages.
func (c *session) noteCutSync() error {
	if c.cuts.Add(1) >= cutSyncs {
		c.cuts.Store(0)
		return event.ErrSilentSync
	}
	return errCutSync
}

const (
	// shortWatch is the duration below which a watch without events counts as failed. After
	// shortWatches of them in a row, the resourceVersion counts as expired, because servers have
	// reported expiry in this way (kubernetes/kubernetes#104171).
	shortWatch   = time.Second
	shortWatches = 3
	cutSyncs     = 3   // interruptions of initial events, without complete ones in between, after which the informer lists
	pageSize     = 500 // client-go's for lists
)
