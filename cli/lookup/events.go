package lookup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

const (
	// eventsPage is the number of Events per list request, and maxEventPages the maximum number of requests. The server
	// sorts Events by name, not by time. If a namespace has more, the newest Events may be missing.
	eventsPage, maxEventPages = 500, 4
	// maxTraced is the maximum number of Warnings, newest first, whose objects' owners are looked up.
	maxTraced = 30
	// staleWarning is the age from which on a Warning is shown with its age.
	staleWarning = 10 * time.Second
)

var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// Events returns the Events about an object and about the objects that it owns, newest first, with masked texts. Events about
// owned objects may be missing: some if the namespace has very many Events, and all if they can't be listed.
func (c *Client) Events(ctx context.Context, o event.Object, masks *change.Masks) ([]kubeevent.Event, error) {
	namespace := namespaceOf(o)
	found, err := c.events(ctx, namespace, fields.Set{"involvedObject.kind": o.Kind, "involvedObject.name": o.Name}, masks)
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("this user may not list events in namespace %s", namespace)
	case err != nil:
		return nil, fmt.Errorf("list events in namespace %s: %w", namespace, err)
	}
	this := refTo(o)
	found = slices.DeleteFunc(found, func(e kubeevent.Event) bool { return !e.InvolvedObject.RefersTo(this) })
	if !owner.MayOwnPods(o.GroupVersionKind().GroupKind()) || o.Namespace == "" {
		return found, nil
	}
	all, err := c.events(ctx, namespace, nil, masks)
	if err != nil {
		return found, nil
	}
	s := c.NewCauseFinder(masks).search(this)
	s.listDescendants(ctx)
	for _, e := range all {
		if !e.InvolvedObject.RefersTo(this) && s.belongs(ctx, e.InvolvedObject) {
			found = append(found, e)
		}
	}
	sortEvents(found)
	return found, nil
}

// descendants are the built-in kinds that a workload may own, directly or indirectly.
var descendants = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Pod"), appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), {Group: "batch", Version: "v1", Kind: "Job"},
}

// listDescendants records the owners of all objects of descendants in the namespace. Other owners are looked up one by one
// later: those of other kinds, of objects that may not be listed, and of objects beyond maxPods.
func (s *search) listDescendants(ctx context.Context) {
	for _, kind := range descendants {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		list, err := s.objects.Resource(resource).Namespace(s.root.Namespace).List(ctx, metav1.ListOptions{Limit: maxPods})
		if err != nil {
			continue
		}
		for i := range list.Items {
			o := &list.Items[i]
			ref := owner.Ref{GroupVersionKind: kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
			s.known[ref.NameKey()] = owner.FromObject(o)
		}
		s.all = s.all || kind.Kind == "Pod" && list.Continue == ""
	}
}

func sortEvents(events []kubeevent.Event) {
	slices.SortStableFunc(events, func(a, b kubeevent.Event) int { return b.LastSeen.Compare(a.LastSeen) })
}

// events returns Events of a namespace, newest first, with masked texts. If a request after the first page fails, it returns
// the Events of the pages before.
func (c *Client) events(ctx context.Context, namespace string, which fields.Set, masks *change.Masks) ([]kubeevent.Event, error) {
	var found []kubeevent.Event
	part := metav1.ListOptions{FieldSelector: which.String(), Limit: eventsPage}
	for n := range maxEventPages {
		list, err := c.content.Resource(events).Namespace(namespace).List(ctx, part)
		if err != nil && n == 0 {
			return nil, err
		}
		if err != nil { // some Events are better than none
			break
		}
		for k := range list.Items {
			e, err := eventIn(&list.Items[k], masks)
			if err != nil {
				return nil, err
			}
			found = append(found, e)
		}
		if part.Continue = list.GetContinue(); part.Continue == "" {
			break
		}
	}
	sortEvents(found)
	return found, nil
}

func eventIn(item *unstructured.Unstructured, masks *change.Masks) (kubeevent.Event, error) {
	content, err := item.MarshalJSON()
	if err != nil {
		return kubeevent.Event{}, err
	}
	e, shown := kubeevent.Parse(string(content)), kubeevent.Parse(masks.MaskJSON(string(content)))
	e.Reason, e.Message = shown.Reason, shown.Message
	return e, nil
}

// namespaceOf returns the namespace of the Events about an object.
func namespaceOf(o event.Object) string { return namespaceIn(o.Namespace) }

func namespaceIn(of string) string { return cmp.Or(of, metav1.NamespaceDefault) }

func refTo(o event.Object) owner.Ref {
	return owner.Ref{GroupVersionKind: o.GroupVersionKind(), Namespace: o.Namespace, Name: o.Name, UID: o.UID}
}

// ago returns the age of a Warning in parentheses, or an empty string if it is recent.
func ago(at time.Time) string {
	if age := time.Since(at); age >= staleWarning {
		return " (" + duration.HumanDuration(age) + " ago)"
	}
	return ""
}
