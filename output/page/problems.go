package page

import (
	"bytes"
	"context"
	"sync"
	"time"

	"dwatch/output/inventory"
)

// maxProblems is the maximum number of problems in a message. More has the number of the others.
const maxProblems = 50

type problemsMessage struct {
	Type  string        `json:"type"`
	Items []problemItem `json:"items"`
	More  int           `json:"more,omitempty"`
	// Stateless is true if no watched resource has a state, so that there is no verdict.
	Stateless bool        `json:"stateless,omitempty"`
	Fights    []fightItem `json:"fights,omitempty"`
}

type problemItem struct {
	// Key is the key of the unhealthy object that Why is about. Root is its topmost owner.
	Key  string  `json:"key"`
	Root rootRef `json:"root"`
	// Resource is the resource of the root. It is empty if that is not watched.
	Resource  string `json:"resource,omitempty"`
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Why       string `json:"why"`
	Failed    bool   `json:"failed,omitempty"`
	Objects   int    `json:"objects"`
	// Since is when the problem began. 0 means that it began before the object was first seen, which was at First. Over is
	// when it recovered. 0 means that it persists.
	Since int64 `json:"since,omitempty"`
	First int64 `json:"first"`
	Over  int64 `json:"over,omitempty"`
	// Cause is the latest intentional change before the problem, of one of the objects or its owners.
	Cause *cause `json:"cause,omitempty"`
	// Named is the latest change before the problem of an object that Why names, such as an exceeded quota.
	Named *namedCause `json:"named,omitempty"`
}

type namedCause struct {
	cause
	Resource string `json:"resource"`
	Name     string `json:"name"`
}

type cause struct {
	Key  string `json:"key"`
	Time int64  `json:"time"`
	Who  string `json:"who,omitempty"`
	What string `json:"what"`
}

// problemsCache caches the message about problems, which is the same for all viewers.
type problemsCache struct {
	mu       sync.Mutex
	at       time.Time
	took     time.Duration // duration of building the message
	revision uint64        // ProblemsRevision of the inventory at that time
	message  []byte
}

const (
	// share limits the time that is spent on building messages about problems to about 1/share, as long as that delays no
	// message by more than latest.
	share, latest = 50, 5 * time.Second
)

// get returns the message about problems. It encodes a new one if the problems changed or the last one is at least a
// second old. isOld is true if the problems changed but the message is not rebuilt yet, because the last one took long.
func (l *problemsCache) get(clock func() time.Time, h *Hub) (message []byte, isOld bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, revision := clock(), h.inventory.ProblemsRevision()
	began, pause := now, min(share*l.took, latest)
	if h.ofPast != nil { // its clock stands still, and the latest limit does not apply
		clock, began, pause = time.Now, time.Now(), share*l.took
	}
	since, isOld := began.Sub(l.at), revision != l.revision
	if since >= max(pause, time.Second) || isOld && since >= pause {
		l.message = encode(problemsOf(h, h.inventory.Problems(now, maxProblems, h.Compare), now))
		l.at, l.revision, isOld = clock(), revision, false
		l.took = l.at.Sub(began)
	}
	return l.message, isOld
}

func problemsOf(h *Hub, all []inventory.Problem, now time.Time) problemsMessage {
	m := problemsMessage{Type: "problems", Items: []problemItem{}, Stateless: !inventory.HasHealth(h.targets.links.All()), Fights: h.fights.now(now, h.inventory)}
	for n := range all[:min(len(all), maxProblems)] {
		p := &all[n]
		one := problemItem{
			Key: p.State.Entry.ID, Root: rootRef{clip(p.Root.Kind, maxName), clip(p.Root.Name, maxName)}, Cluster: p.State.Entry.Cluster, Namespace: p.Root.Namespace,
			Why: clip(p.State.Message, maxMessage), Failed: p.Failed, Objects: p.ObjectCount,
			Since: millis(p.Since), First: millis(p.State.Entry.FirstSeen), Over: millis(p.RecoveredAt),
		}
		if p.Resource.Resource != "" {
			one.Resource = p.Resource.String()
		}
		if c := p.Cause; c != nil {
			one.Cause = causeOf(c)
		}
		if c := p.NamedCause; c != nil {
			one.Named = &namedCause{*causeOf(c), c.Entry.Resource.String(), clip(c.Entry.Name, maxName)}
		}
		m.Items = append(m.Items, one)
	}
	m.More = len(all) - len(m.Items)
	return m
}

func causeOf(c *inventory.Cause) *cause {
	return &cause{c.Entry.ID, millis(c.State.Time), clip(c.Manager, maxName), clip(c.Summary, maxMessage)}
}

// sendProblems sends the message about problems to the viewer if it differs from the last one. If isOld is true, the
// caller must call again.
func (v *viewer) sendProblems(ctx context.Context) (isOld bool, err error) {
	message, isOld := v.problemsCache.get(v.clock, v.Hub)
	if bytes.Equal(message, v.lastProblems) {
		return isOld, nil
	}
	v.lastProblems = message
	return isOld, v.to.send(ctx, message)
}
