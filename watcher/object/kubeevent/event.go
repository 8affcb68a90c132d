// Package kubeevent reads Kubernetes Events (v1 and events.k8s.io/v1).
package kubeevent

import (
	"cmp"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/object/owner"
)

// Event is a Kubernetes Event in a form that is independent of its API version. Missing fields are empty.
type Event struct {
	// InvolvedObject is the object that the Event is about. If the Event does not name its namespace, it is the namespace
	// of the Event.
	InvolvedObject owner.Ref
	// Type is Normal or Warning.
	Type            string
	Reason, Message string
	// ReportingComponent is the component that reports the Event, such as kubelet.
	ReportingComponent string
	// Count is how often it happened. Zero means that the Event has no count.
	Count int
	// LastSeen is when it last happened, by the clock of the component that reports it. It is the time
	// of creation, by the clock of the API server, if the Event has no other time.
	LastSeen time.Time
}

// Parse reads an Event from its content, which must be valid JSON. The other texts may share memory with content, but
// InvolvedObject does not.
func Parse(content string) Event {
	fields := map[string]gjson.Result{}
	gjson.Parse(content).ForEach(func(name, value gjson.Result) bool {
		fields[name.Str] = value
		return true
	})
	involved, metadata, series := fields["involvedObject"], fields["metadata"], fields["series"]
	if !involved.IsObject() {
		involved = fields["regarding"]
	}
	text := func(name string) string { return strings.Clone(involved.Get(name).Str) }
	return Event{
		InvolvedObject: owner.Ref{
			GroupVersionKind: schema.FromAPIVersionAndKind(text("apiVersion"), text("kind")),
			Namespace:        cmp.Or(text("namespace"), strings.Clone(metadata.Get("namespace").Str)),
			Name:             text("name"),
			UID:              types.UID(text("uid")),
		},
		Type:    fields["type"].Str,
		Reason:  fields["reason"].Str,
		Message: cmp.Or(fields["message"].Str, fields["note"].Str),
		ReportingComponent: cmp.Or(fields["reportingComponent"].Str, fields["reportingController"].Str,
			fields["source"].Get("component").Str, fields["deprecatedSource"].Get("component").Str),
		Count:    int(max(fields["count"].Int(), fields["deprecatedCount"].Int(), series.Get("count").Int())),
		LastSeen: lastSeen(fields),
	}
}

// IsWarning reports whether the Event has type Warning.
func (e Event) IsWarning() bool { return e.Type == corev1.EventTypeWarning }

// InvolvedObjectName returns the involved object as kind/name, with the kind in lower case.
func (e Event) InvolvedObjectName() string {
	return strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name
}

// lastSeen returns the time at which an Event last happened. An Event may reach the server long after
// that, so its creation counts only if no other field has a time.
func lastSeen(fields map[string]gjson.Result) time.Time {
	series := fields["series"]
	last := newest(fields["eventTime"], series.Get("lastObservedTime"),
		fields["firstTimestamp"], fields["lastTimestamp"], fields["deprecatedFirstTimestamp"], fields["deprecatedLastTimestamp"])
	if last.IsZero() {
		return newest(fields["metadata"].Get("creationTimestamp"))
	}
	return last
}

// newest returns the latest of some times, or the zero time if there is none.
func newest(times ...gjson.Result) (last time.Time) {
	for _, text := range times {
		if at, err := time.Parse(time.RFC3339, text.Str); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}
