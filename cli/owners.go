package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/mapper"
	"dwatch/watcher/owned"
)

const (
	// burst: so many questions about objects of one resource in one namespace within
	// burstTime are followed by a list of them.
	burst     = 10
	burstTime = 10 * time.Second
	// ownersPage is how many objects are listed at a time.
	ownersPage = 500
	// deniedFor is how long the server is not asked again what it refused, or of what it
	// has no resource.
	deniedFor = time.Minute
	// firstRetry is the time between the first two tries at a server that does not answer;
	// from one to the next it doubles, maxDoublings times.
	firstRetry   = time.Second
	maxDoublings = 3
	// maxRecent bounds the objects of which the owners are remembered: at least so many,
	// and twice as many at most.
	maxRecent = 1 << 15
)

// owners finds out who owns objects, and remembers it: also of what is deleted
// meanwhile. It is used from one goroutine.
type owners struct {
	*session
	objects        metadata.Interface
	recent, before map[owned.Ref][]owned.Owner
	asked          map[place]*questions
	denied         map[schema.GroupKind]time.Time
	said           map[schema.GroupKind]bool // that it was denied
	retry          time.Duration
}

// place is where objects of one resource are.
type place struct {
	resource  schema.GroupVersionResource
	namespace string
}

// questions are the last about single objects of one place.
type questions struct {
	since time.Time
	n     int
}

func (s *session) newOwners() (*owners, error) {
	h, err := s.newHelper()
	if err != nil {
		return nil, err
	}
	return &owners{
		session: s, objects: h.objects,
		recent: map[owned.Ref][]owned.Owner{},
		asked:  map[place]*questions{},
		denied: map[schema.GroupKind]time.Time{},
		said:   map[schema.GroupKind]bool{},
		retry:  firstRetry,
	}, nil
}

// of implements owned.Lookup.
func (w *owners) of(ctx context.Context, o owned.Owner) ([]owned.Owner, error) {
	if known, ok := w.recall(o.Ref); ok {
		return known, nil
	}
	if !isName(o.Name) || !isName(o.Namespace) || time.Since(w.denied[o.GroupKind]) < deniedFor {
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
			w.denied[o.GroupKind] = time.Now()
			w.sayDenied(ctx, o, err)
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

// sayDenied says once of each kind that it is not known what owns its objects.
func (w *owners) sayDenied(ctx context.Context, o owned.Owner, err error) {
	what := o.GroupKind.String()
	if mapping, _ := w.mappingOf(ctx, o); mapping != nil {
		what = mapping.Resource.GroupResource().String()
	}
	if !w.said[o.GroupKind] {
		w.said[o.GroupKind] = true
		report.Line(w.stderr, fmt.Sprintf("events about %s, which may belong to %s, are left out: %s", what, w.about, fail.Loss(err)))
	}
}

// passes reports whether an error may pass by itself.
func passes(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// recall returns what is remembered of an object.
func (w *owners) recall(o owned.Ref) (known []owned.Owner, ok bool) {
	if known, ok = w.recent[o]; ok {
		return known, true
	}
	if known, ok = w.before[o]; ok {
		w.remember(o, known)
	}
	return known, ok
}

func (w *owners) remember(o owned.Ref, known []owned.Owner) {
	if len(w.recent) >= maxRecent {
		w.recent, w.before = map[owned.Ref][]owned.Owner{}, w.recent
	}
	w.recent[o] = known
}

// ask asks the server for the owners of an object.
func (w *owners) ask(ctx context.Context, o owned.Owner) ([]owned.Owner, error) {
	ctx, cancel := w.Ask(ctx)
	defer cancel()
	mapping, err := w.mappingOf(ctx, o)
	if err != nil {
		return nil, err
	}
	if mapping == nil {
		w.denied[o.GroupKind] = time.Now() // by then there may be one
		return nil, nil
	}
	where := place{mapping.Resource, o.Namespace}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		where.namespace = ""
	}
	if w.isBurst(where) {
		w.list(ctx, where, o)
		if found, ok := w.recall(o.Ref); ok {
			return found, nil
		}
	}
	object, err := w.objects.Resource(where.resource).Namespace(where.namespace).Get(ctx, o.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		object = &metav1.PartialObjectMetadata{}
	case err != nil:
		return nil, err
	}
	found := owned.Owners(o.Namespace, object.OwnerReferences)
	w.remember(o.Ref, found)
	return found, nil
}

// mappingOf returns the resource of an object; nil if the server has none.
func (w *owners) mappingOf(ctx context.Context, o owned.Owner) (*meta.RESTMapping, error) {
	if o.Kind == "" {
		return nil, nil
	}
	answer, err := w.mapper.Resolve(ctx, o.Kind+"."+o.Version+"."+o.Group)
	_, unknown := errors.AsType[*mapper.UnknownError](err)
	_, unwatchable := errors.AsType[*mapper.UnwatchableError](err)
	switch {
	case unknown || unwatchable:
		return nil, nil
	case err != nil:
		return nil, err
	}
	mapping := answer.Mappings[0]
	if answer.Set || mapping.GroupVersionKind.GroupKind() != o.GroupKind {
		return nil, nil
	}
	return mapping, nil
}

// isBurst notes a question, and reports whether there were many of late.
func (w *owners) isBurst(where place) bool {
	q := w.asked[where]
	if q == nil || time.Since(q.since) > burstTime {
		q = &questions{since: time.Now()}
		w.asked[where] = q
	}
	q.n++
	return q.n > burst
}

// list remembers the owners of all objects of the place and kind of o, if they may be
// listed.
func (w *owners) list(ctx context.Context, where place, o owned.Owner) {
	delete(w.asked, where)
	options := metav1.ListOptions{Limit: ownersPage}
	for {
		page, err := w.objects.Resource(where.resource).Namespace(where.namespace).List(ctx, options)
		if err != nil {
			return // each is asked for by itself, then
		}
		for _, object := range page.Items {
			one := owned.Ref{GroupKind: o.GroupKind, Namespace: o.Namespace, Name: object.Name}
			w.remember(one, owned.Owners(o.Namespace, object.OwnerReferences))
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return
		}
	}
}
