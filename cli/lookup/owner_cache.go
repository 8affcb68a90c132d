package lookup

import (
	"context"
	"sync"

	"k8s.io/utils/lru"

	"dwatch/watcher/object/owner"
)

// maxWaiting is the maximum number of waiting lookups. If it is reached, a lookup is dropped and made at a later call of Get
// or Newest.
const maxWaiting = 100

// OwnerCache looks up the owners of objects that are not watched, in the background. It is safe for concurrent use.
type OwnerCache struct {
	clientFor func(cluster string) *Client
	waiting   chan clusterRef
	mu        sync.Mutex
	known     *lru.Cache // owners by clusterRef; an untyped nil until they have been looked up
	pending   int        // number of lookups that have not ended
}

// clusterRef is an object in a cluster.
type clusterRef struct {
	cluster string
	owner.Ref
}

// NewOwnerCache returns an OwnerCache, which makes no request before Run. clientFor returns the Client of a cluster, or nil if
// the cluster has not answered yet.
func NewOwnerCache(clientFor func(cluster string) *Client) *OwnerCache {
	return &OwnerCache{clientFor: clientFor, waiting: make(chan clusterRef, maxWaiting), known: lru.New(maxRecent)}
}

// Get returns the owners of an object and true, or false if they are not known yet. It then requests a lookup, unless one was
// already requested or maxWaiting are waiting. It does not block.
func (a *OwnerCache) Get(cluster string, o owner.Ref) (owners []owner.Owner, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := clusterRef{cluster, o}
	if found, exists := a.known.Get(key); exists {
		owners, known = found.([]owner.Owner)
		return owners, known
	}
	select {
	case a.waiting <- key:
		a.known.Add(key, nil)
		a.pending++
	default:
	}
	return nil, false
}

// HasPending reports whether lookups have not ended yet.
func (a *OwnerCache) HasPending() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pending > 0
}

// record ends a lookup. If known is false, the next call of Get starts another one.
func (a *OwnerCache) record(o clusterRef, owners []owner.Owner, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending--; known {
		a.known.Add(o, owners)
	} else {
		a.known.Remove(o)
	}
}

// Run makes the lookups until ctx ends. Objects whose owners the user may not read have no owners.
func (a *OwnerCache) Run(ctx context.Context) {
	lookups := map[*Client]*OwnerLookup{}
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-a.waiting:
			client := a.clientFor(o.cluster)
			if client == nil { // the cluster has not answered yet
				a.record(o, nil, false)
				continue
			}
			if lookups[client] == nil {
				lookups[client] = client.NewOwnerLookup(func(string, error) {})
			}
			owners, err := lookups[client].Lookup(ctx, o.Ref)
			if err != nil || ctx.Err() != nil {
				return
			}
			a.record(o, owners, true)
		}
	}
}
