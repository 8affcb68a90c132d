package object

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// line is an event or a status event as dwatch prints it.
type line struct {
	Type                       event.Type
	Initial, FinalStateUnknown bool
	Time, Heard                time.Time
	Object                     json.RawMessage

	Resource, Namespace, Name, ResourceVersion string
	Count                                      int
}

// ParseEvents parses the output of dwatch with -o json, --marks and --show-managed-fields. The Old of each event is
// the object of the previous event about the same object.
func ParseEvents(t testing.TB, stream string) []event.Event {
	t.Helper()
	events, err := ReadEvents(stream)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// ReadEvents is ParseEvents for callers without a testing.TB.
func ReadEvents(stream string) (events []event.Event, _ error) {
	last := map[types.UID]event.Object{}
	lines := bufio.NewScanner(strings.NewReader(stream))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%w: %s", err, lines.Text())
		}
		e := event.Event{
			Type: l.Type, Initial: l.Initial, FinalStateUnknown: l.FinalStateUnknown, Time: l.Time, Heard: l.Heard,
			Count: l.Count, ResourceVersion: l.ResourceVersion,
		}
		switch {
		case l.Object != nil:
			var err error
			if e.Object, err = parse(string(l.Object)); err != nil {
				return nil, err
			}
			gvk := e.Object.GroupVersionKind()
			e.Target = target(gvk.GroupVersion().WithResource(plural(gvk.Kind)), e.Object.Namespace, "")
			if e.Type == event.Modified {
				e.Old = last[e.Object.UID]
			}
			last[e.Object.UID] = e.Object
		case l.Resource != "":
			e.Target = target(*parseResource(l.Resource), l.Namespace, l.Name)
		}
		events = append(events, e)
	}
	return events, lines.Err()
}

// parseResource parses resource.version.group. The group is empty for the core group: "pods.v1.".
func parseResource(text string) *schema.GroupVersionResource {
	r, _ := schema.ParseResourceArg(text)
	return r
}

func target(r schema.GroupVersionResource, namespace, name string) event.Target {
	return event.Target{Mapping: event.NewMapping(r, kindOf(r.Resource), namespace != ""), Namespace: namespace, Name: name}
}

// kind is a resource's kind, plural and short name.
type kind struct{ kind, plural, short string }

// kinds lists the kinds in the recorded events.
var kinds = []kind{
	{"ConfigMap", "configmaps", "cm"},
	{"CronJob", "cronjobs", "cj"},
	{"DaemonSet", "daemonsets", "ds"},
	{"Deployment", "deployments", "deploy"},
	{"EndpointSlice", "endpointslices", "endpointslice"},
	{"Gadget", "gadgets", "gad"},
	{"HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa"},
	{"Job", "jobs", "job"},
	{"Lease", "leases", "lease"},
	{"Namespace", "namespaces", "ns"},
	{"NetworkPolicy", "networkpolicies", "netpol"},
	{"Node", "nodes", "no"},
	{"PersistentVolumeClaim", "persistentvolumeclaims", "pvc"},
	{"Pod", "pods", "po"},
	{"PodDisruptionBudget", "poddisruptionbudgets", "pdb"},
	{"ReplicaSet", "replicasets", "rs"},
	{"Secret", "secrets", "secret"},
	{"Service", "services", "svc"},
	{"StatefulSet", "statefulsets", "sts"},
}

func plural(name string) string {
	for _, k := range kinds {
		if k.kind == name {
			return k.plural
		}
	}
	return strings.ToLower(name) + "s"
}

func kindOf(resource string) string {
	for _, k := range kinds {
		if k.plural == resource {
			return k.kind
		}
	}
	return resource
}

// ShortName returns the short name under which dwatch shows a resource.
func ShortName(r schema.GroupVersionResource) string {
	for _, k := range kinds {
		if k.plural == r.Resource {
			return k.short
		}
	}
	return r.Resource
}
