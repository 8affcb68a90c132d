package run

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/console"
	"dwatch/cli/lookup"
	"dwatch/cli/plan"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/until"
)

// Source produces the events of a run.
type Source interface {
	// Scope says what the events are about.
	Scope() *Scope
	// Run delivers events to sink until there are no more, ctx ends, or sink fails.
	Run(ctx context.Context, sink event.Sink) error
}

// Opener makes the Source of a run.
type Opener struct {
	// Check, if not nil, finds mistakes before anything is created for the run.
	Check func() error
	// Open connects the source. It also opens the state file, if the source can continue from one.
	Open func(ctx context.Context, r *Run) (Source, error)
}

// Scope is what the events of a run are about, for destinations and conditions. Every source fills it in, so that stages and
// destinations are the same for all sources.
type Scope struct {
	Console *console.Console
	Request plan.Request
	// Targets are the targets that are known when the run begins. With several clusters there are none yet.
	Targets []event.Target
	// Mixed is set if targets come and go, so that tables name the kind of each object.
	Mixed bool
	// ShowNamespaces is set if the objects may be in different namespaces.
	ShowNamespaces bool
	// Clusters lists the clusters of a run of several. It is nil for one cluster.
	Clusters func() []event.Cluster
	// Cluster and Server name the only cluster as people and as its address do. They are empty if there are several.
	Cluster, Server string
	// ShortName returns a short name of a resource, or its singular or plural.
	ShortName func(schema.GroupVersionResource) string
	// Origin returns the CloudEvents source of a cluster. The name is empty if there is one cluster.
	Origin func(ctx context.Context, cluster string) (string, error)
	// Lookup returns a client for the questions that help people, or nil if the cluster has not answered.
	Lookup func(cluster string) *lookup.Client
	// Unreachable says why a cluster does not answer. Awaited are what --until waits for because no server has it yet.
	Unreachable func(cluster string) string
	Awaited     func() []until.AwaitedTarget
	// Status says how the watch is.
	Status func() string
	// Recorded is set if the events come from a recording and not from a cluster.
	Recorded *Recorded
}

// Recorded describes the time that a run over a recording covers.
type Recorded struct {
	// Now is the time of the event that was delivered last.
	Now func() time.Time
	// Begin is when the recording begins.
	Begin time.Time
	// IsProven reports whether the recording proves that a condition held at the time of its outcome. nil means that it does.
	IsProven func(*until.Outcome) bool
}

// IsRecorded reports whether the events are from the past.
func (s *Scope) IsRecorded() bool { return s.Recorded != nil }

// isProven reports whether the outcome of a condition is certain. Over a recording, it may rest on states from before a gap.
func (s *Scope) isProven(o *until.Outcome) bool {
	return s.Recorded == nil || s.Recorded.IsProven == nil || s.Recorded.IsProven(o)
}

// Now is the time in which the run lives.
func (s *Scope) Now() time.Time {
	if s.Recorded != nil {
		return s.Recorded.Now()
	}
	return time.Now()
}

// ClusterNames are the names of the clusters of a run of several. They are nil for one cluster.
func (s *Scope) ClusterNames() []string {
	if s.Clusters == nil {
		return nil
	}
	return event.ClusterNames(s.Clusters())
}

// Subject names an object as kubectl takes it, after its cluster and namespace where there are several.
func (s *Scope) Subject(t event.Target, o event.Object) string {
	name, namespace := t.Name, t.Namespace
	if !o.IsZero() {
		name, namespace = o.Name, o.Namespace
	}
	subject := s.ShortName(t.Resource())
	if name != "" {
		subject += "/" + name
	}
	if namespace != "" && s.ShowNamespaces {
		subject = namespace + " " + subject
	}
	return withCluster(t.Cluster, subject)
}

// withCluster puts the name of a cluster before text. If the name is empty, it returns text.
func withCluster(cluster, text string) string {
	if cluster == "" {
		return text
	}
	return cluster + " " + text
}

// EventsAbout returns the Events about an object, for a user who looks at it.
func (s *Scope) EventsAbout(masks *change.Masks) func(ctx context.Context, cluster string, o event.Object) ([]kubeevent.Event, error) {
	return func(ctx context.Context, cluster string, o event.Object) ([]kubeevent.Event, error) {
		client := s.Lookup(cluster)
		if client == nil {
			return nil, fmt.Errorf("%s has not answered", cluster)
		}
		return client.Events(ctx, o, masks)
	}
}

// FillTable sets the columns that dwatch adds to the columns of the server.
func (s *Scope) FillTable(t *output.TableOptions) {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, target := range s.Targets {
		kinds[target.Mapping.GroupVersionKind] = true
	}
	t.ShowNamespaces = s.ShowNamespaces
	t.ShowKind = t.ShowKind || len(kinds) > 1 || s.Mixed
}

var uidPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// CloudEventSource is the attribute "source" of CloudEvents of a cluster: its UID, or its address without the right to read the UID.
func CloudEventSource(uid, host string) string {
	if uidPattern.MatchString(uid) {
		return "urn:uuid:" + uid
	}
	return (&url.URL{Scheme: "https", Host: host}).String()
}
