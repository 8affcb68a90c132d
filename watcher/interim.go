package watcher

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
	"dwatch/watcher/shallow"
)

type (
	Type        = event.Type
	Event       = event.Event
	Target      = event.Target
	TargetKey   = event.Key
	TargetError = event.TargetError
	Object      = event.Object
	Found       = event.Found
	Told        = event.Reported
	Past        = event.Past
)

// emission is an event on its way, and what it holds of the gate.
type emission struct {
	Event
	held int64
}

const (
	Added        = event.Added
	Modified     = event.Modified
	Deleted      = event.Deleted
	Synced       = event.Synced
	Disconnected = event.Disconnected
	Reconnected  = event.Reconnected
	Gap          = event.Gap
	Gone         = event.Gone
	Arrived      = event.Arrived
	Denied       = event.Denied
	Heartbeat    = event.Heartbeat
)

func whole(u *unstructured.Unstructured) Object {
	return event.NewObject(shallow.Identity(u), shallow.Content(u))
}

func stored(obj any) Object {
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return whole(obj)
	case *metav1.PartialObjectMetadata:
		return event.NewObject(&event.Identity{
			APIVersion: obj.APIVersion, Kind: obj.Kind, Namespace: obj.Namespace, Name: obj.Name,
			UID: obj.UID, ResourceVersion: obj.ResourceVersion,
		}, "")
	default:
		return Object{}
	}
}

func keyOf(o Object) cache.ObjectName { return cache.ObjectName{Namespace: o.Namespace, Name: o.Name} }

func identity(gvk schema.GroupVersionKind, key cache.ObjectName, e entry) Object {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	return event.NewObject(&event.Identity{
		APIVersion: apiVersion, Kind: kind, Namespace: key.Namespace, Name: key.Name,
		UID: e.uid, ResourceVersion: e.resourceVersion,
	}, "")
}

func contentOf(o Object) string {
	if o.Len() == 0 {
		return ""
	}
	return o.Raw()
}
