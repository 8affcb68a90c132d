package cli

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"dwatch/watcher/event"
)

const (
	// warningsRead is how many Warning events of a namespace are read, and
	// warningsTraced of how many of the newest it is found out what they are about.
	warningsRead, warningsTraced = 500, 30
	// staleWarning is the age from which on it is said how old a warning is.
	staleWarning = 10 * time.Second
	// maxOwners is how far down what an object owns is looked at: a CronJob, its Job,
	// a pod.
	maxOwners = 3
)

var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// warning returns the newest Warning event about an object, or about what it owns, as
// "reason: message"; empty if there is none, or the server does not say.
func (h *helper) warning(ctx context.Context, o event.Object) string {
	list, err := h.content.Resource(events).Namespace(cmp.Or(o.Namespace, metav1.NamespaceDefault)).
		List(ctx, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning, Limit: warningsRead})
	if err != nil {
		return ""
	}
	warnings := make([]corev1.Event, 0, len(list.Items))
	for _, item := range list.Items {
		var w corev1.Event
		if runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &w) == nil {
			warnings = append(warnings, w)
		}
	}
	slices.SortFunc(warnings, func(a, b corev1.Event) int { return lastSeen(&b).Compare(lastSeen(&a)) })
	related := map[types.UID]bool{o.UID: true}
	for i := range warnings[:min(len(warnings), warningsTraced)] {
		if w := &warnings[i]; h.isRelated(ctx, w.InvolvedObject, related) {
			return w.Reason + ": " + w.Message + ago(lastSeen(w))
		}
	}
	return ""
}

// ago says how old a warning is that may be about something else by now.
func ago(at time.Time) string {
	if age := time.Since(at); age >= staleWarning {
		return " (" + duration.HumanDuration(age) + " ago)"
	}
	return ""
}

// lastSeen is when the newest of what an event stands for happened.
func lastSeen(e *corev1.Event) time.Time {
	last := e.CreationTimestamp.Time
	for _, t := range []time.Time{e.FirstTimestamp.Time, e.EventTime.Time, e.LastTimestamp.Time} {
		if t.After(last) {
			last = t
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	return last
}

// isRelated reports whether an object is one of those in related, or owned by one, and
// notes it there.
func (h *helper) isRelated(ctx context.Context, about corev1.ObjectReference, related map[types.UID]bool) bool {
	if yes, known := related[about.UID]; known {
		return yes
	}
	related[about.UID] = false
	kind, name := about.GroupVersionKind(), about.Name
	for range maxOwners {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		o, err := h.objects.Resource(resource).Namespace(about.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		owner := metav1.GetControllerOf(o)
		if owner == nil {
			return false
		}
		if related[owner.UID] {
			related[about.UID] = true
			return true
		}
		kind, name = schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind), owner.Name
	}
	return false
}
