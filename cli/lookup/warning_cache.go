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
	// firstWarned and lastWarned are how long the Warnings of a namespace are not asked for again: at first, and at most,
	// while they are the same.
	firstWarned, lastWarned = 5 * time.Second, time.Minute
	// deniedWarned is that where they may not be listed.
	deniedWarned = 10 * time.Minute
	// maxHomes is of how many namespaces Warnings are remembered.
	maxHomes = 1000
)

// Warned knows the newest Warnings about objects, as soon as their cluster has said so. It is safe for concurrent use.
type WarningCache struct {
	asks    func(cluster string) *Client
	masks   *change.Masks
	waiting chan home
	mu      sync.Mutex
	known   *lru.Cache // *warnings by home
	first   int        // of how many namespaces they are asked for that were never known
}

// home is a namespace in a cluster.
type home struct{ cluster, namespace string }

// warnings are those of a namespace.
type warnings struct {
	newest kubeevent.LatestMessages
	says   map[saying]bool
	isMany bool      // so that it takes long to ask for them
	again  time.Time // when they may be asked for again; zero: they are being asked for
	pause  time.Duration
}

// saying is what a Warning says, whenever it does.
type saying struct {
	about owner.Ref
	text  string
}

// NewWarned returns one that asks nothing before Run. asks returns what asks a cluster; texts are masked.
func NewWarningCache(asks func(cluster string) *Client, masks *change.Masks) *WarningCache {
	return &WarningCache{asks: asks, masks: masks, waiting: make(chan home, maxWaiting), known: lru.New(maxHomes)}
}

// Of returns what the newest Warning about an object says, and when it was said last; empty if there is none, or it is not
// known yet: it has the Warnings of its namespace asked for, now and then. It does not wait.
func (w *WarningCache) Newest(cluster string, o owner.Ref) (why string, last time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := home{cluster, namespaceIn(o.Namespace)}
	of := w.of(at)
	if now := time.Now(); of == nil || !of.again.IsZero() && now.After(of.again) {
		w.wants(at, of)
	}
	if of == nil {
		return "", time.Time{}
	}
	return of.newest.Get(o)
}

func (w *WarningCache) of(at home) *warnings {
	found, _ := w.known.Get(at)
	of, _ := found.(*warnings)
	return of
}

// wants has Warnings asked for, if there is room.
func (w *WarningCache) wants(at home, of *warnings) {
	select {
	case w.waiting <- at:
		if of == nil {
			of = &warnings{}
			w.known.Add(at, of)
			w.first++
		}
		of.again = time.Time{}
	default:
	}
}

// IsAsking reports whether some are asked for that were never known.
func (w *WarningCache) HasPending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.first > 0
}

// Run asks, until ctx ends: once a second at most, but for the first few. What may not be listed has none.
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
			w.ask(ctx, at)
		}
	}
}

func (w *WarningCache) ask(ctx context.Context, at home) {
	var all []kubeevent.Event
	var err error
	if client := w.asks(at.cluster); client != nil {
		asking, cancel := context.WithTimeout(ctx, eventParts*Timeout)
		defer cancel()
		all, err = client.events(asking, at.namespace, fields.Set{"type": corev1.EventTypeWarning}, w.masks)
	}
	found := warningsIn(all)
	w.mu.Lock()
	defer w.mu.Unlock()
	of := w.of(at)
	if of == nil { // forgotten meanwhile
		w.first = max(w.first-1, 0)
		return
	}
	if of.pause == 0 {
		w.first--
	}
	of.take(found, err)
	of.again = time.Now().Add(of.pause)
}

func warningsIn(all []kubeevent.Event) *warnings {
	found := &warnings{says: map[saying]bool{}, isMany: len(all) > eventsAtOnce}
	for n := range all {
		text := reason.Event(all[n])
		found.newest.Add(all[n].InvolvedObject, text, all[n].LastSeen)
		found.says[saying{all[n].InvolvedObject, text}] = true
	}
	return found
}

// take takes over an answer, and for how long none is asked for.
func (of *warnings) take(found *warnings, err error) {
	of.pause = min(max(2*of.pause, firstWarned), lastWarned)
	switch {
	case apierrors.IsForbidden(err):
		of.pause = deniedWarned
		return
	case err != nil:
		return
	}
	if !maps.Equal(found.says, of.says) && !found.isMany { // of more they are asked for less often
		of.pause = firstWarned
	}
	of.newest, of.says = found.newest, found.says
}
