package mapper

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
)

// Mapper resolves names against one server.
type Mapper struct {
	server discovery.DiscoveryInterfaceWithContext
	cache  discovery.CachedDiscoveryInterfaceWithContext // of server, for client-go's mapper
	// turn holds one token: who has it may talk to the server. A channel
	// instead of a mutex, so that waiting for it can end with a context.
	turn   chan struct{}
	latest atomic.Pointer[snapshot]  // nil: nothing learned yet
	since  atomic.Pointer[time.Time] // what was learned before does not count
	// versions is what was learned of single versions. It is for who has the turn.
	versions map[schema.GroupVersion]*snapshot
	// whole: to learn all at once takes fewer requests than single versions.
	whole atomic.Bool
}

// New returns a Mapper for the server behind d. It makes no request.
func New(d *discovery.DiscoveryClient) *Mapper {
	m := &Mapper{
		server:   d,
		cache:    memory.NewMemCacheClientWithContext(documents{d}),
		turn:     make(chan struct{}, 1),
		versions: make(map[schema.GroupVersion]*snapshot),
	}
	m.since.Store(new(time.Time))
	return m
}

// Resolve returns the resources that name names: one, or for a category all
// that can be watched, in the server's order of priority.
//
// The error is an *UnknownError, an *UnwatchableError, or it wraps why the
// server could not be asked.
func (m *Mapper) Resolve(ctx context.Context, name string) ([]*meta.RESTMapping, error) {
	if found, err := m.direct(ctx, name); len(found) > 0 || err != nil {
		return mappings(found), err
	}
	called := time.Now()
	known, err := m.known(ctx)
	if err != nil {
		return nil, err
	}
	found := known.watchable.find(ctx, name)
	if len(found) == 0 { // by now it may be there; learn knows if this call has just asked
		if known, err = m.learn(ctx, called); err != nil {
			return nil, err
		}
		found = known.watchable.find(ctx, name)
	}
	if len(found) == 0 {
		return nil, known.explain(ctx, name)
	}
	return mappings(found), nil
}

// Recall returns what name names as far as has been learned. It makes no request.
func (m *Mapper) Recall(ctx context.Context, name string) []*meta.RESTMapping {
	known := m.latest.Load()
	if known == nil {
		return nil
	}
	return mappings(known.watchable.find(ctx, name))
}

// Alternatives returns the resources of other groups that answer to name and
// were not taken by Resolve, one for each group, in the server's order. There
// are none if the core group won, if name is a category, or if name says exactly
// which group it means. It makes no request: before a successful Resolve it
// returns nothing.
func (m *Mapper) Alternatives(ctx context.Context, name string) []*meta.RESTMapping {
	known := m.latest.Load()
	if known == nil {
		return nil
	}
	return mappings(known.watchable.alternatives(ctx, name))
}

// Watchable returns every resource that can be watched, in the server's order
// of priority. Partial knowledge is no error.
func (m *Mapper) Watchable(ctx context.Context) ([]Resource, error) {
	known, err := m.known(ctx)
	if err != nil {
		return nil, err
	}
	return known.watchable.list(), nil
}

// Reset makes the next call ask the server anew. It does not wait.
func (m *Mapper) Reset() {
	now := time.Now()
	m.since.Store(&now)
}

func (m *Mapper) known(ctx context.Context) (*snapshot, error) {
	since := *m.since.Load()
	if known := m.latest.Load(); known.isOf(since) {
		return known, nil
	}
	return m.learn(ctx, since)
}

// learn returns what the server said at since or later. Callers who wait for
// the same thing share one look at the server.
func (m *Mapper) learn(ctx context.Context, since time.Time) (*snapshot, error) {
	done, err := m.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if known := m.latest.Load(); known.isOf(since) {
		return known, nil
	}
	known, err := ask(ctx, m.cache)
	if err != nil {
		return nil, notAsked(err)
	}
	m.latest.Store(known)
	return known, nil
}

// takeTurn waits until nobody else talks to the server; done ends the turn.
func (m *Mapper) takeTurn(ctx context.Context) (done func(), err error) {
	select {
	case m.turn <- struct{}{}:
		return func() { <-m.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func notAsked(err error) error { return fmt.Errorf("ask the server what it serves: %w", err) }

// ask asks the server what it serves, whatever was known before.
func ask(ctx context.Context, server discovery.CachedDiscoveryInterfaceWithContext) (*snapshot, error) {
	ctx = quiet(ctx)
	asked := time.Now()
	server.InvalidateWithContext(ctx)
	groups, lists, err := server.ServerGroupsAndResourcesWithContext(ctx)
	failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	switch {
	case ctx.Err() != nil: // else it would pass for groups that don't answer
		return nil, ctx.Err()
	case err != nil && !partial:
		return nil, err
	case len(lists) == 0 && partial:
		return nil, err
	case len(lists) == 0:
		return nil, errors.New("it names no resources: is it a Kubernetes API server?")
	}
	return newSnapshot(asked, server, groups, lists, failed), nil
}

func mappings(resources []resource) []*meta.RESTMapping {
	var result []*meta.RESTMapping
	for _, r := range resources {
		result = append(result, r.mapping())
	}
	return result
}
