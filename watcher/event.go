package watcher

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Type says what an event tells. The first three are those of the Kubernetes
// watch API and carry an Object; the others are marks: they tell about the
// watch itself.
type Type string

const (
	Added    Type = "ADDED"
	Modified Type = "MODIFIED"
	Deleted  Type = "DELETED"

	// Synced: all that existed at the start has been told. Count and
	// ResourceVersion are set.
	Synced Type = "SYNCED"
	// Disconnected: the connection is lost; Err says how. Retries go on.
	Disconnected Type = "DISCONNECTED"
	// Reconnected: the watch goes on at ResourceVersion, and nothing was missed.
	Reconnected Type = "RECONNECTED"
	// Gap: all was listed anew, from From to ResourceVersion. States in between
	// may be missing, last states and deletions are not.
	Gap Type = "GAP"
	// Gone: the server no longer has the resource. It is waited for.
	Gone Type = "GONE"
	// Arrived: the server has the resource again.
	Arrived Type = "ARRIVED"
	// Denied: the user lacks a right; Err says which. Retries go on.
	Denied Type = "DENIED"
	// Heartbeat: Run is alive. It is about all targets: Target is zero. Count is
	// their number, Connected tells whether all of them are, and LastEvent when
	// an object was last told of.
	Heartbeat Type = "HEARTBEAT"
)

// IsMark reports whether events of this type tell about the watch and carry no
// object.
func (t Type) IsMark() bool { return t != Added && t != Modified && t != Deleted }

// Event is one line of the stream.
type Event struct {
	Type   Type
	Target Target

	// Object is the state after the change; for Deleted the last one. Zero for
	// a mark.
	Object Object
	// Old is the state before a Modified, where Options.KeepContent was set and
	// the store had it.
	Old Object
	// Initial: an Added object existed when the watch began. It is not set where
	// the watch carries on from an earlier run: see Options.Past.
	Initial bool
	// FinalStateUnknown: a deletion found out after the fact. Object is what is
	// known of the object: its last known state, at least its identity.
	FinalStateUnknown bool

	// The fields of marks. Time is when it happened, to this side's knowledge.
	Time            time.Time
	Count           int
	From            string
	ResourceVersion string
	Err             error
	Connected       bool
	LastEvent       time.Time

	// held leaves the gate when the event has been emitted.
	held int64
}

// Target is one resource in one namespace, with at most one name: field
// selectors can only be ANDed, and a right limited by resourceNames is only
// granted for metadata.name=.
type Target struct {
	// Mapping is the resource, with its kind and scope.
	Mapping *meta.RESTMapping
	// Namespace is empty for all namespaces and for cluster-scoped resources.
	Namespace string
	// Name is empty for all objects.
	Name string
}

// TargetKey tells a target from others. A resource stays what it is when its
// version changes.
type TargetKey struct {
	Resource        schema.GroupResource
	Namespace, Name string
}

// Key returns the target without its version.
func (t Target) Key() TargetKey {
	return TargetKey{t.Resource().GroupResource(), t.Namespace, t.Name}
}

// TargetError says which target could not be watched.
type TargetError struct {
	Target Target
	Err    error
}

func (e *TargetError) Error() string {
	where := ""
	if e.Target.Namespace != "" {
		where = " in namespace " + e.Target.Namespace
	}
	return fmt.Sprintf("watch %s%s: %v", e.Target.Resource().GroupResource(), where, e.Err)
}

func (e *TargetError) Unwrap() error { return e.Err }

// Resource returns the resource of the target.
func (t Target) Resource() schema.GroupVersionResource { return t.Mapping.Resource }

// Namespaced reports whether the objects of the target live in namespaces.
func (t Target) Namespaced() bool { return t.Mapping.Scope.Name() == meta.RESTScopeNameNamespace }
