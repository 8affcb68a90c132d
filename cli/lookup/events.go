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
	// eventsAtOnce is how many Events of a namespace are asked for at once, and eventParts how often: the server has them by name,
	// and not by time. Of more the newest may not be among them.
	eventsAtOnce, eventParts = 500, 4
	// maxTraced is of how many of the newest Warnings it is found out to what belongs what they are about.
	maxTraced = 30
	// staleWarning is the age from which on it is said how old a Warning is.
	staleWarning = 10 * time.Second
)

var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// Events returns the Events about an object and what it owns, the newest first: of what it owns those
// among the last that the server has for its namespace. Their texts are masked.
func (c *Client) Events(ctx context.Context, o event.Object, masks *change.Masks) ([]kubeevent.Event, error) {
	namespace := namespaceOf(o)
	found, err := c.events(ctx, namespace, fields.Set{"involvedObject.kind": o.Kind, "involvedObject.name": o.Name}, masks)
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("this user may not list events in namespace %s", namespace)
	case err != nil:
		return nil, fmt.Errorf("ask for events in namespace %s: %w", namespace, err)
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
	s.meet(ctx)
	for _, e := range all {
		if !e.InvolvedObject.RefersTo(this) && s.belongs(ctx, e.InvolvedObject) {
			found = append(found, e)
		}
	}
	sortEvents(found)
	return found, nil
}

// between are what may stand between an object and the pods that belong to it, and these.
var between = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Pod"), appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), {Group: "batch", Version: "v1", Kind: "Job"},
}

// meet lists who owns what may belong to the root. Of what may not be listed, or there is too much of,
// each is asked for.
func (s *search) meet(ctx context.Context) {
	for _, kind := range between {
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

// events returns Events of a namespace, as many as there is time for and eventParts have at most, the newest first. Their texts
// are masked.
func (c *Client) events(ctx context.Context, namespace string, which fields.Set, masks *change.Masks) ([]kubeevent.Event, error) {
	var found []kubeevent.Event
	part := metav1.ListOptions{FieldSelector: which.String(), Limit: eventsAtOnce}
	for n := range eventParts {
		list, err := c.content.Resource(events).Namespace(namespace).List(ctx, part)
		if err != nil && n == 0 {
			return nil, err
		}
		if err != nil { // the others help more than nothing
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

// namespaceOf is where the Events about an object are.
func namespaceOf(o event.Object) string { return namespaceIn(o.Namespace) }

func namespaceIn(of string) string { return cmp.Or(of, metav1.NamespaceDefault) }

func refTo(o event.Object) owner.Ref {
	return owner.Ref{GroupVersionKind: o.GroupVersionKind(), Namespace: o.Namespace, Name: o.Name, UID: o.UID}
}

// ago says how old a Warning is that may be about something else by now.
func ago(at time.Time) string {
	if age := time.Since(at); age >= staleWarning {
		return " (" + duration.HumanDuration(age) + " ago)"
	}
	return ""
}
