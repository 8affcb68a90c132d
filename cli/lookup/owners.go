package lookup

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"

	"dwatch/mapper"
	"dwatch/watcher/object/owner"
)

const (
	// If more than burst objects of one resource in one namespace are looked up at once, or then more than one per
	// burstTime, they are listed instead.
	burst     = 10
	burstTime = 2 * time.Second
	// ownersPage is the number of objects per list request.
	ownersPage = 500
	// deniedFor is how long dwatch looks up no objects of a kind after the server has refused it or had no such resource.
	deniedFor = time.Minute
	// firstRetry is the delay before the first retry. It doubles with each retry, maxDoublings times.
	firstRetry   = time.Second
	maxDoublings = 3
	// maxRecent is the maximum number of objects whose owners are cached.
	maxRecent = 1 << 15
)

// OwnerLookup looks up and caches the owners of objects. Owners of deleted objects stay in the cache. It is not safe for
// concurrent use.
type OwnerLookup struct {
	*Client
	onDenied func(resource string, err error)
	recent   *lru.Cache // owners by Ref.NameKey
	limiters map[place]*rate.Limiter
	denied   map[schema.GroupKind]time.Time
	reported map[schema.GroupKind]bool // onDenied was called
	retry    time.Duration
}

// place is a resource in a namespace, or a cluster-scoped resource.
type place struct {
	resource  schema.GroupVersionResource
	namespace string
}

// NewOwnerLookup returns an OwnerLookup. It calls onDenied once for each resource whose objects can't be read.
func (c *Client) NewOwnerLookup(onDenied func(resource string, err error)) *OwnerLookup {
	return &OwnerLookup{
		Client: c, onDenied: onDenied,
		recent:   lru.New(maxRecent),
		limiters: map[place]*rate.Limiter{},
		denied:   map[schema.GroupKind]time.Time{},
		reported: map[schema.GroupKind]bool{},
		retry:    firstRetry,
	}
}

// Lookup is an owner.LookupFunc. It retries until the server answers or ctx ends. It never returns an error: if ctx ends, it
// returns no owners.
func (w *OwnerLookup) Lookup(ctx context.Context, o owner.Ref) ([]owner.Owner, error) {
	if known, ok := w.recall(o); ok {
		return known, nil
	}
	if !isName(o.Name) || !isName(o.Namespace) || time.Since(w.denied[o.GroupKind()]) < deniedFor {
		return nil, nil // no object has such a name, or its kind can't be read
	}
	for try := 0; ; try++ {
		found, err := w.request(ctx, o)
		switch {
		case err == nil:
			return found, nil
		case ctx.Err() != nil:
			return nil, nil // the run is ending
		case !isTemporary(err):
			w.deny(ctx, o, err)
			return nil, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(w.retry << min(try, maxDoublings)):
		}
	}
}

// isName reports whether an object or a namespace may have this name. Events may contain invalid names. Objects of Events
// always have a namespace here, even cluster-scoped ones.
func isName(text string) bool { return text != "" && len(content.IsPathSegmentName(text)) == 0 }

// deny records that objects of a kind can't be read, and reports it once.
func (w *OwnerLookup) deny(ctx context.Context, o owner.Ref, err error) {
	kind := o.GroupKind()
	w.denied[kind] = time.Now()
	if w.reported[kind] {
		return
	}
	w.reported[kind] = true
	resource := kind.String()
	if where, _ := w.placeOf(ctx, o); where != nil {
		resource = where.resource.GroupResource().String()
	}
	w.onDenied(resource, err)
}

// isTemporary reports whether a retry may succeed.
func isTemporary(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

func (w *OwnerLookup) recall(o owner.Ref) (known []owner.Owner, ok bool) {
	found, ok := w.recent.Get(o.NameKey())
	if ok {
		known = found.([]owner.Owner)
	}
	return known, ok
}

// request requests the owners of an object from the server. After many requests, it first lists all objects of the resource
// and namespace.
func (w *OwnerLookup) request(ctx context.Context, o owner.Ref) ([]owner.Owner, error) {
	ctx, cancel := w.cluster.WithTimeout(ctx)
	defer cancel()
	where, err := w.placeOf(ctx, o)
	if err != nil {
		return nil, err
	}
	if where == nil {
		w.denied[o.GroupKind()] = time.Now() // the server may have the resource after deniedFor
		return nil, nil
	}
	if w.isBurst(*where) {
		w.list(ctx, *where, o)
		if found, ok := w.recall(o); ok {
			return found, nil
		}
	}
	found, err := w.get(ctx, *where, o)
	if err == nil {
		w.recent.Add(o.NameKey(), found)
	}
	return found, err
}

// isBurst counts a request, and reports whether there were many recently.
func (w *OwnerLookup) isBurst(where place) bool {
	if w.limiters[where] == nil {
		w.limiters[where] = rate.NewLimiter(rate.Every(burstTime), burst)
	}
	return !w.limiters[where].Allow()
}

// list caches the owners of all objects in a place, if the user may list them. They have the kind and version of o.
func (w *OwnerLookup) list(ctx context.Context, where place, o owner.Ref) {
	delete(w.limiters, where)
	options := metav1.ListOptions{Limit: ownersPage}
	for {
		page, err := w.objects.Resource(where.resource).Namespace(where.namespace).List(ctx, options)
		if err != nil {
			return // the objects are then queried one by one
		}
		for i := range page.Items {
			o.Name = page.Items[i].Name
			w.recent.Add(o.NameKey(), ownersOf(o, &page.Items[i]))
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return
		}
	}
}

// get queries the server once for the owners of an object. It returns none if the object does not exist.
func (c *Client) get(ctx context.Context, where place, o owner.Ref) ([]owner.Owner, error) {
	object, err := c.objects.Resource(where.resource).Namespace(where.namespace).Get(ctx, o.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return ownersOf(o, object), nil
}

// ownersOf returns the owners of an object. It uses the namespace of o, because the owners of a cluster-scoped object are
// looked up in the namespace of its Events.
func ownersOf(o owner.Ref, object *metav1.PartialObjectMetadata) []owner.Owner {
	object.Namespace = o.Namespace
	return owner.FromObject(object)
}

// placeOf returns the resource and namespace of an object, or nil if the server has no such resource, or several.
func (c *Client) placeOf(ctx context.Context, o owner.Ref) (*place, error) {
	if o.Kind == "" {
		return nil, nil
	}
	answer, err := c.mapper.Resolve(ctx, o.Kind+"."+o.Version+"."+o.Group)
	switch {
	case mapper.IsNotWatchable(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	mapping := answer.Mappings[0]
	if answer.Multiple || mapping.GroupVersionKind.GroupKind() != o.GroupKind() {
		return nil, nil
	}
	where := &place{mapping.Resource, o.Namespace}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		where.namespace = ""
	}
	return where, nil
}
