package mapper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/klog/v2"
)

// Mapper resolves resource names of one server.
type Mapper struct {
	server parallelDiscovery
	// discovering is a semaphore for discovery. Unlike with a mutex, waiting can be canceled.
	discovering chan struct{}

	mu         sync.Mutex // not held during requests
	latest     *snapshot  // nil before the first discovery
	validSince time.Time  // older snapshots are out of date
	fixed      bool       // latest never changes, and there is no server
}

// New returns a Mapper for the server of d. It makes no requests.
func New(d *discovery.DiscoveryClient) *Mapper {
	return &Mapper{server: parallelDiscovery{d}, discovering: make(chan struct{}, 1)}
}

// Resolve is ResolveFor with the use Watch.
func (m *Mapper) Resolve(ctx context.Context, name string) (Result, error) {
	return m.ResolveFor(ctx, name, Watch)
}

// ResolveFor returns the resources that name refers to and that allow a use. Without an error, there is at least one.
//
// The error is an *UnknownError or an *UnwatchableError, wraps a discovery error, or is that of ctx. With
// the first two, the Result still contains the FailedGroups.
func (m *Mapper) ResolveFor(ctx context.Context, name string, use Use) (Result, error) {
	called := time.Now()
	s, err := m.current(ctx)
	if err != nil {
		return Result{}, err
	}
	result := s.resolve(name, use)
	if len(result.Mappings) == 0 { // the resource may be new; discover does nothing if current has just made requests
		if s, err = m.discover(ctx, called); err != nil {
			return Result{}, err
		}
		result = s.resolve(name, use)
	}
	if len(result.Mappings) == 0 {
		return result, s.explain(name, use)
	}
	return result, nil
}

// ResolveCached resolves name according to the last discovery. It makes no requests. It returns nil if the name is unknown
// or there was no discovery.
func (m *Mapper) ResolveCached(name string) []*meta.RESTMapping {
	s, _ := m.cached()
	if s == nil {
		return nil
	}
	return s.resolve(name, Watch).Mappings
}

// ShortName returns the first name of r that resolves to r according to the last discovery: one of its short names, the
// singular or the plural. If none does, it returns the plural with the group. Before the first discovery, it returns the
// plural. It makes no requests.
func (m *Mapper) ShortName(r schema.GroupVersionResource) string {
	s, _ := m.cached()
	if s == nil {
		return r.Resource
	}
	return s.watchable.shortName(r)
}

// Resources returns the resources that allow a use, in the order of the server. Groups whose server does
// not answer are missing without an error.
func (m *Mapper) Resources(ctx context.Context, use Use) ([]Resource, error) {
	s, err := m.current(ctx)
	if err != nil {
		return nil, err
	}
	return s.catalog(use).list(), nil
}

// Invalidate makes the next call repeat discovery. It does not block.
func (m *Mapper) Invalidate() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.validSince = time.Now()
}

// cached returns the latest snapshot and the time before which snapshots are out of date. The
// snapshot is nil before the first discovery.
func (m *Mapper) cached() (latest *snapshot, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.latest, m.validSince
}

// current returns the latest snapshot if it is valid. Otherwise it makes a new one.
func (m *Mapper) current(ctx context.Context) (*snapshot, error) {
	latest, since := m.cached()
	if latest.isSince(since) {
		return latest, nil
	}
	return m.discover(ctx, since)
}

// discover returns a snapshot requested at since or later, or the only snapshot of a fixed Mapper. A caller that waited
// for another caller's discovery shares its snapshot if that is recent enough.
func (m *Mapper) discover(ctx context.Context, since time.Time) (*snapshot, error) {
	select {
	case m.discovering <- struct{}{}:
		defer func() { <-m.discovering }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if latest, _ := m.cached(); latest.isSince(since) || m.fixed {
		return latest, nil
	}
	s, err := fetchSnapshot(ctx, m.server)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Discovery failed", "err", err)
		return nil, fmt.Errorf("discover the resources of the server: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest = s
	return s, nil
}

// fetchSnapshot makes the discovery requests. Failures of single groups are not errors.
func fetchSnapshot(ctx context.Context, server parallelDiscovery) (*snapshot, error) {
	requested := time.Now()
	groups, lists, err := discovery.ServerGroupsAndResourcesWithContext(ctx, server)
	failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	switch {
	case ctx.Err() != nil: // client-go reports this as groups that do not answer
		return nil, ctx.Err()
	case err != nil && (!partial || len(lists) == 0):
		return nil, err
	case len(lists) == 0:
		return nil, errors.New("the server lists no resources: is it a Kubernetes API server?")
	}
	failedGroups := slices.Collect(maps.Keys(failed))
	if !slices.ContainsFunc(lists, func(l *metav1.APIResourceList) bool { return l.GroupVersion == "v1" }) {
		// client-go concludes from a 404 that there is no core group. But a proxy may have sent it,
		// so treat the group as failed.
		failedGroups = append(failedGroups, schema.GroupVersion{Version: "v1"})
	}
	return newSnapshot(requested, groups, lists, failedGroups), nil
}

// Result lists the resources that a name refers to, according to one discovery.
type Result struct {
	// Mappings are the resources in the server's order of priority. There is only one unless Multiple is true.
	Mappings []*meta.RESTMapping
	// Multiple means that the name is a category, *.GROUP or AllResources. Its resources can change.
	Multiple bool
	// Alternatives are resources of other groups that also match the name, at most one for each group, in the
	// server's order. There are none if the core group won or if the name contains the exact group.
	Alternatives []*meta.RESTMapping
	// FailedGroups are the group versions whose server did not answer.
	FailedGroups []schema.GroupVersion
}

// resolve returns the resources that name refers to and that allow a use. The Result has no Mappings if there are none.
func (s *snapshot) resolve(name string, use Use) Result {
	result := Result{FailedGroups: slices.Clone(s.failed)}
	resources := s.catalog(use)
	found, multiple := resources.find(name)
	result.Mappings, result.Multiple = toMappings(found), multiple
	if len(found) == 1 && !multiple {
		result.Alternatives = toMappings(resources.alternatives(name, found[0]))
	}
	return result
}

func toMappings(resources []resource) []*meta.RESTMapping {
	var mappings []*meta.RESTMapping
	for _, r := range resources {
		mappings = append(mappings, r.mapping())
	}
	return mappings
}
