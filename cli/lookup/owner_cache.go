package lookup

import (
	"context"
	"sync"

	"k8s.io/utils/lru"

	"dwatch/watcher/object/owner"
)

// maxWaiting is of how many objects it waits to be asked who owns them. Those of others are asked for when they
// are asked for again.
const maxWaiting = 100

// Above knows who owns objects that are not watched, as soon as their cluster has said so. It is safe for concurrent use.
type OwnerCache struct {
	asks    func(cluster string) *Client
	waiting chan placed
	mu      sync.Mutex
	known   *lru.Cache // the owners of an object by placed; nil: they are being asked for
	asking  int        // for how many
}

// placed is an object in a cluster.
type placed struct {
	cluster string
	owner.Ref
}

// NewAbove returns one that asks nothing before Run. asks returns what asks a cluster.
func NewOwnerCache(asks func(cluster string) *Client) *OwnerCache {
	return &OwnerCache{asks: asks, waiting: make(chan placed, maxWaiting), known: lru.New(maxRecent)}
}

// Of returns the owners of an object, and whether they are known: if not it has them asked for. It does not wait.
func (a *OwnerCache) Get(cluster string, o owner.Ref) (owners []owner.Owner, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := placed{cluster, o}
	if found, is := a.known.Get(key); is {
		owners, known = found.([]owner.Owner)
		return owners, known
	}
	select {
	case a.waiting <- key:
		a.known.Add(key, nil)
		a.asking++
	default:
	}
	return nil, false
}

// IsAsking reports whether some are asked for.
func (a *OwnerCache) HasPending() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asking > 0
}

// answer takes over the owners of an object; known: else they are asked for again when that is wanted.
func (a *OwnerCache) answer(o placed, owners []owner.Owner, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asking--; known {
		a.known.Add(o, owners)
	} else {
		a.known.Remove(o)
	}
}

// Run asks, until ctx ends. What may not be known has no owners.
func (a *OwnerCache) Run(ctx context.Context) {
	lookups := map[*Client]*OwnerLookup{}
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-a.waiting:
			client := a.asks(o.cluster)
			if client == nil {
				a.answer(o, nil, false) // the cluster has not answered yet
				continue
			}
			if lookups[client] == nil {
				lookups[client] = client.NewOwnerLookup(func(string, error) {})
			}
			owners, err := lookups[client].Lookup(ctx, o.Ref)
			if err != nil || ctx.Err() != nil {
				return
			}
			a.answer(o, owners, true)
		}
	}
}
