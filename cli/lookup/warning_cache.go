package lookup

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/lru"

	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/object/reason"
)

const (
	// minPause and maxPause limit the time before the Warnings of a namespace are listed again. It doubles while they do not
	// change, and also if they need several pages.
	minPause, maxPause = 5 * time.Second, time.Minute
	// deniedPause is the time before they are listed again after the server refused it.
	deniedPause = 10 * time.Minute
	// maxNamespacesCached is the maximum number of namespaces in a WarningCache.
	maxNamespacesCached = 1000
)

// WarningCache lists the newest Warnings about objects, in the background. It is safe for concurrent use.
type WarningCache struct {
	clientFor func(cluster string) *Client
	masks     *change.Masks
	waiting   chan clusterNamespace
	mu        sync.Mutex
	known     *lru.Cache // *warnings by clusterNamespace
	pending   int        // number of namespaces whose first list request has not ended
}

// clusterNamespace is a namespace in a cluster.
type clusterNamespace struct{ cluster, namespace string }

// warnings are the Warnings of a namespace.
type warnings struct {
	newest   kubeevent.LatestMessages
	messages map[message]bool
	isMany   bool          // the list needed more than one page, so it is expensive to repeat
	dueAt    time.Time     // when they may be listed again; zero while they are waiting or being listed
	pause    time.Duration // zero before the first answer
}

// message is the content of a Warning without its time.
type message struct {
	about owner.Ref
	text  string
}

// NewWarningCache returns a WarningCache, which makes no request before Run. clientFor returns the Client of a cluster, or nil
// if the cluster has not answered yet. masks apply to the texts.
func NewWarningCache(clientFor func(cluster string) *Client, masks *change.Masks) *WarningCache {
	return &WarningCache{clientFor: clientFor, masks: masks, waiting: make(chan clusterNamespace, maxWaiting), known: lru.New(maxNamespacesCached)}
}

// Newest returns the text of the newest known Warning about an object, and its time. The text is empty if there is none, or if
// the Warnings of the namespace have not been listed yet. Newest does not block. It requests an update of the namespace's
// Warnings if one is due.
func (w *WarningCache) Newest(cluster string, o owner.Ref) (why string, last time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := clusterNamespace{cluster, namespaceIn(o.Namespace)}
	cached := w.get(at)
	if now := time.Now(); cached == nil || !cached.dueAt.IsZero() && now.After(cached.dueAt) {
		w.request(at, cached)
	}
	if cached == nil {
		return "", time.Time{}
	}
	return cached.newest.Get(o)
}

func (w *WarningCache) get(at clusterNamespace) *warnings {
	found, _ := w.known.Get(at)
	cached, _ := found.(*warnings)
	return cached
}

// request requests that Run lists the Warnings, unless too many requests are waiting. cached is nil at the first request.
func (w *WarningCache) request(at clusterNamespace, cached *warnings) {
	select {
	case w.waiting <- at:
		if cached == nil {
			cached = &warnings{}
			w.known.Add(at, cached)
			w.pending++
		}
		cached.dueAt = time.Time{}
	default:
	}
}

// HasPending reports whether the first list request of a namespace has not ended. It ends without Warnings if the cluster has
// not answered yet.
func (w *WarningCache) HasPending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending > 0
}

// Run lists Warnings until ctx ends, at most one namespace per second after a burst of five. Namespaces whose Events the
// user may not list have no Warnings.
func (w *WarningCache) Run(ctx context.Context) {
	pace := rate.NewLimiter(1, 5)
	for {
		select {
		case <-ctx.Done():
			return
		case at := <-w.waiting:
			if pace.Wait(ctx) != nil {
				return
			}
			w.update(ctx, at)
		}
	}
}

// update lists the Warnings of a namespace.
func (w *WarningCache) update(ctx context.Context, at clusterNamespace) {
	var all []kubeevent.Event
	var err error
	if client := w.clientFor(at.cluster); client != nil {
		limited, cancel := context.WithTimeout(ctx, maxEventPages*Timeout)
		defer cancel()
		all, err = client.events(limited, at.namespace, fields.Set{"type": corev1.EventTypeWarning}, w.masks)
	}
	found := warningsIn(all)
	w.mu.Lock()
	defer w.mu.Unlock()
	cached := w.get(at)
	if cached == nil { // evicted in the meantime
		w.pending = max(w.pending-1, 0)
		return
	}
	if cached.pause == 0 {
		w.pending--
	}
	cached.record(found, err)
	cached.dueAt = time.Now().Add(cached.pause)
}

func warningsIn(all []kubeevent.Event) *warnings {
	found := &warnings{messages: map[message]bool{}, isMany: len(all) > eventsPage}
	for n := range all {
		text := reason.Event(all[n])
		found.newest.Add(all[n].InvolvedObject, text, all[n].LastSeen)
		found.messages[message{all[n].InvolvedObject, text}] = true
	}
	return found
}

// record records the result of a list request, and sets the pause before the next one. After an error, the Warnings stay.
func (w *warnings) record(found *warnings, err error) {
	w.pause = min(max(2*w.pause, minPause), maxPause)
	switch {
	case apierrors.IsForbidden(err):
		w.pause = deniedPause
		return
	case err != nil:
		return
	}
	if !maps.Equal(found.messages, w.messages) && !found.isMany {
		w.pause = minPause
	}
	w.newest, w.messages = found.newest, found.messages
}
