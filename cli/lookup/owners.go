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
	// After burst questions about objects of one resource in one namespace, and one more in
	// each burstTime, they are listed.
	burst     = 10
	burstTime = 2 * time.Second
	// ownersPage is how many objects are listed at a time.
	ownersPage = 500
	// deniedFor is how long the server is not asked again what it refused, or of what it
	// has no resource.
	deniedFor = time.Minute
	// firstRetry is the time between the first two tries at a server that does not answer;
	// from one to the next it doubles, maxDoublings times.
	firstRetry   = time.Second
	maxDoublings = 3
	// maxRecent bounds the objects of which the owners are remembered.
	maxRecent = 1 << 15
)

// Owners remembers who owns objects, also of what is deleted meanwhile. One goroutine uses it.
type OwnerLookup struct {
	*Client
	sayDenied func(resource string, err error)
	recent    *lru.Cache // the owners of an object by Ref.Named
	asked     map[place]*rate.Limiter
	denied    map[schema.GroupKind]time.Time
	said      map[schema.GroupKind]bool // that it was denied
	retry     time.Duration
}

type place struct {
	resource  schema.GroupVersionResource
	namespace string
}

// Owners calls denied once of each resource of which it may not be known who owns its objects.
func (c *Client) NewOwnerLookup(denied func(resource string, err error)) *OwnerLookup {
	return &OwnerLookup{
		Client: c, sayDenied: denied,
		recent: lru.New(maxRecent),
		asked:  map[place]*rate.Limiter{},
		denied: map[schema.GroupKind]time.Time{},
		said:   map[schema.GroupKind]bool{},
		retry:  firstRetry,
	}
}

// Of implements owner.Lookup. It asks until the server answers, or ctx ends.
func (w *OwnerLookup) Lookup(ctx context.Context, o owner.Ref) ([]owner.Owner, error) {
	if known, ok := w.recall(o); ok {
		return known, nil
	}
	if !isName(o.Name) || !isName(o.Namespace) || time.Since(w.denied[o.GroupKind()]) < deniedFor {
		return nil, nil // there can be no such object, or it can't be known
	}
	for try := 0; ; try++ {
		found, err := w.ask(ctx, o)
		switch {
		case err == nil:
			return found, nil
		case ctx.Err() != nil:
			return nil, nil // the run is ending
		case !passes(err):
			w.deny(ctx, o, err)
			return nil, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(w.retry << min(try, maxDoublings)):
		}
	}
}

// isName reports whether an object, or its namespace, may have this name. The client asks
// for no other, whatever an Event says; each in it has a namespace.
func isName(text string) bool { return text != "" && len(content.IsPathSegmentName(text)) == 0 }

// deny notes that it is not known what owns the objects of a kind, and says so once.
func (w *OwnerLookup) deny(ctx context.Context, o owner.Ref, err error) {
	kind := o.GroupKind()
	w.denied[kind] = time.Now()
	if w.said[kind] {
		return
	}
	w.said[kind] = true
	resource := kind.String()
	if where, _ := w.placeOf(ctx, o); where != nil {
		resource = where.resource.GroupResource().String()
	}
	w.sayDenied(resource, err)
}

// passes reports whether an error may pass by itself.
func passes(err error) bool {
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

// ask asks the server for the owners of an object, or for those of all objects beside it.
func (w *OwnerLookup) ask(ctx context.Context, o owner.Ref) ([]owner.Owner, error) {
	ctx, cancel := w.cluster.WithTimeout(ctx)
	defer cancel()
	where, err := w.placeOf(ctx, o)
	if err != nil {
		return nil, err
	}
	if where == nil {
		w.denied[o.GroupKind()] = time.Now() // by then there may be one
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

// isBurst notes a question, and reports whether there were many of late.
func (w *OwnerLookup) isBurst(where place) bool {
	if w.asked[where] == nil {
		w.asked[where] = rate.NewLimiter(rate.Every(burstTime), burst)
	}
	return !w.asked[where].Allow()
}

// list remembers the owners of all objects of the place and kind of o, if they may be listed.
func (w *OwnerLookup) list(ctx context.Context, where place, o owner.Ref) {
	delete(w.asked, where)
	options := metav1.ListOptions{Limit: ownersPage}
	for {
		page, err := w.objects.Resource(where.resource).Namespace(where.namespace).List(ctx, options)
		if err != nil {
			return // each is asked for by itself, then
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

// get asks once for the owners of an object; there are none if it does not exist.
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

// ownersOf returns the owners of an object by what refers to it: of one in no namespace
// they are looked for in that of the Events about it.
func ownersOf(o owner.Ref, object *metav1.PartialObjectMetadata) []owner.Owner {
	object.Namespace = o.Namespace
	return owner.FromObject(object)
}

// placeOf returns where the server has objects of this kind; nil if it has none.
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
