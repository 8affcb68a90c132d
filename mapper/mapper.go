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

// Mapper resolves names against one server.
type Mapper struct {
	server documents
	// turn has room for who asks the server: unlike a mutex, with waits that a context ends.
	turn chan struct{}

	mu     sync.Mutex // never held while the server is asked
	latest *snapshot  // nil: nothing learned yet
	since  time.Time  // what was asked before is out of date
	fixed  bool       // latest is all that there is: no server is asked
}

// New returns a Mapper for the server behind d. It makes no request.
func New(d *discovery.DiscoveryClient) *Mapper {
	return &Mapper{server: documents{d}, turn: make(chan struct{}, 1)}
}

// Resolve returns what name names: at least one resource, if there is no error.
//
// The error is an *UnknownError, an *UnwatchableError, or it wraps why the server
// could not be asked. With the first two, Unsure of the Answer is set all the same.
func (m *Mapper) Resolve(ctx context.Context, name string) (Result, error) {
	called := time.Now()
	known, err := m.known(ctx)
	if err != nil {
		return Result{}, err
	}
	answer := known.answer(name)
	if len(answer.Mappings) == 0 { // by now it may be there; learn knows if this call has just asked
		if known, err = m.learn(ctx, called); err != nil {
			return Result{}, err
		}
		answer = known.answer(name)
	}
	if len(answer.Mappings) == 0 {
		return answer, known.explain(name)
	}
	return answer, nil
}

// Recall returns what name named when the server was last asked, if it was. It makes no request.
func (m *Mapper) ResolveCached(name string) []*meta.RESTMapping {
	known, _ := m.newest()
	if known == nil {
		return nil
	}
	return known.answer(name).Mappings
}

// ShortName returns the shortest name that means r, as far as has been learned: a short name, else
// its singular or plural, with its group if nothing less does. It makes no request.
func (m *Mapper) ShortName(r schema.GroupVersionResource) string {
	known, _ := m.newest()
	if known == nil {
		return r.Resource
	}
	return known.watchable.shortName(r)
}

// Watchable returns what can be watched, in the server's order. Partial knowledge is no error.
func (m *Mapper) WatchableResources(ctx context.Context) ([]Resource, error) {
	known, err := m.known(ctx)
	if err != nil {
		return nil, err
	}
	return known.watchable.list(), nil
}

// Reset makes the next call ask the server again. It does not wait.
func (m *Mapper) Invalidate() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since = time.Now()
}

// newest returns what the server said last, which is nil before it was asked, and from when on an
// answer is not out of date.
func (m *Mapper) newest() (latest *snapshot, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.latest, m.since
}

// known returns what the server said, if that is not out of date, and else asks it.
func (m *Mapper) known(ctx context.Context) (*snapshot, error) {
	known, since := m.newest()
	if known.isOf(since) {
		return known, nil
	}
	return m.learn(ctx, since)
}

// learn returns what the server said at since or later, from one look for all who wait.
func (m *Mapper) learn(ctx context.Context, since time.Time) (*snapshot, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if known, _ := m.newest(); known.isOf(since) {
		return known, nil
	}
	if latest, _ := m.newest(); m.fixed {
		return latest, nil
	}
	known, err := ask(ctx, m.server)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Discovery has failed", "err", err)
		return nil, fmt.Errorf("ask the server what it serves: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest = known
	return known, nil
}

func ask(ctx context.Context, server documents) (*snapshot, error) {
	asked := time.Now()
	groups, lists, err := discovery.ServerGroupsAndResourcesWithContext(ctx, server)
	failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	switch {
	case ctx.Err() != nil: // else it would pass for groups that don't answer
		return nil, ctx.Err()
	case err != nil && (!partial || len(lists) == 0):
		return nil, err
	case len(lists) == 0:
		return nil, errors.New("it names no resources: is it a Kubernetes API server?")
	}
	unsure := slices.Collect(maps.Keys(failed))
	if !slices.ContainsFunc(lists, func(l *metav1.APIResourceList) bool { return l.GroupVersion == "v1" }) {
		// client-go takes a 404 for the core group for "there is none", as a proxy
		// may answer it. A server without one there may be; it is not for sure.
		unsure = append(unsure, schema.GroupVersion{Version: "v1"})
	}
	return newSnapshot(asked, groups, lists, unsure), nil
}

// Answer is what the server serves under one name, all of it from one look at the server.
type Result struct {
	// Mappings are the resources that the name names, in the server's order of
	// priority; one, unless Set.
	Mappings []*meta.RESTMapping
	// Set: the name is a category, a group or Everything, so what it names can change.
	Multiple bool
	// Alternatives are the resources of other groups that answer to the name and
	// were not taken, one for each group, in the server's order. There are none if
	// the core group won, or if the name says exactly which group it means.
	Alternatives []*meta.RESTMapping
	// Unsure are the group versions whose server did not answer.
	FailedGroups []schema.GroupVersion
}

// answer returns what name names. It has no Mappings if that is nothing.
func (s *snapshot) answer(name string) Result {
	answer := Result{FailedGroups: slices.Clone(s.failed)}
	found, set := s.watchable.find(name)
	answer.Mappings, answer.Multiple = mappings(found), set
	if len(found) == 1 && !set {
		answer.Alternatives = mappings(s.watchable.alternatives(name, found[0]))
	}
	return answer
}

func mappings(resources []resource) []*meta.RESTMapping {
	var mappings []*meta.RESTMapping
	for _, r := range resources {
		mappings = append(mappings, r.mapping())
	}
	return mappings
}
