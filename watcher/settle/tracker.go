package settle

import (
	"maps"
	"slices"
	"strings"
	"time"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/object/status"
)

// tracker tracks the owners of objects, and which objects are unhealthy.
type tracker struct {
	masks     *change.Masks
	owners    map[string]ownerEntry    // by object ID
	keys      map[event.Key]*event.Key // interned keys of the targets in owners
	unhealthy map[string]*unhealthyObject
	deleted   []deletedObject // in order of deletion; events of owned objects can follow the deletion of the owner
}

// ownerEntry is the owner of an object, and the target of the object.
type ownerEntry struct {
	id     string
	target *event.Key
}

// unhealthyObject is an object that is neither Current nor Unknown.
type unhealthyObject struct {
	event.UnhealthyObject
	// inProgress is true if the object has not failed. hasReason is true if it has failed or reports what is wrong.
	inProgress, hasReason bool
}

type deletedObject struct {
	id string
	at time.Time
}

func newTracker(masks *change.Masks) tracker {
	return tracker{masks: masks, owners: map[string]ownerEntry{}, keys: map[event.Key]*event.Key{}, unhealthy: map[string]*unhealthyObject{}}
}

// idOf returns a unique ID of an event's object.
func idOf(e *event.Event) string {
	if e.Object.UID != "" {
		return e.Target.Cluster + "/" + string(e.Object.UID)
	}
	n := nameOf(e)
	return strings.Join([]string{n.cluster, n.resource.String(), n.namespace, n.name}, "/")
}

// maxDepth bounds the length of an owner chain, because owner references can form a cycle.
const maxDepth = 16

// root returns the ID of the topmost owner of an object, and the number of steps to it.
func (k *tracker) root(id, up string) (root string, depth int) {
	for depth < maxDepth && up != "" {
		id, depth = up, depth+1
		up = k.owners[id].id
	}
	return id, depth
}

// observe takes an event and returns the ID of the owner of its object, or "".
func (k *tracker) observe(id string, e *event.Event) (up string) {
	if e.Object.IsEvent() {
		if about := kubeevent.Parse(e.Object.Raw()).InvolvedObject; about.UID != "" {
			up = e.Target.Cluster + "/" + string(about.UID)
		}
		return up
	}
	content := e.Object.Raw()
	if up = k.owners[id].id; !e.FinalStateUnknown { // otherwise the content may be missing
		up = ""
		if strings.Contains(content, `"ownerReferences"`) {
			if owners := owner.FromJSON(content); len(owners) > 0 {
				up = e.Target.Cluster + "/" + string(owner.ControllerOrFirst(owners).UID)
			}
		}
	}
	if up != "" {
		k.owners[id] = ownerEntry{up, k.key(e.Target)}
	} else {
		delete(k.owners, id)
	}
	if e.Type == event.Deleted {
		delete(k.unhealthy, id)
		k.deleted = append(k.deleted, deletedObject{id, e.Time})
	} else if w := k.check(e, content); w != nil {
		k.unhealthy[id] = w
	} else {
		delete(k.unhealthy, id)
	}
	return up
}

// check returns the status of an unhealthy object, or nil.
func (k *tracker) check(e *event.Event, content string) *unhealthyObject {
	if !status.MayNotBeCurrent(e.Object.GroupVersionKind(), content) {
		return nil
	}
	u, err := event.NewObject(e.Object.Identity, k.masks.MaskJSON(content)).Decode()
	if err != nil {
		return nil
	}
	is := status.Of(u)
	if is.Word == kstatus.CurrentStatus || is.Word == kstatus.UnknownStatus {
		return nil
	}
	return &unhealthyObject{
		UnhealthyObject: event.UnhealthyObject{Target: e.Target, Namespace: strings.Clone(e.Object.Namespace), Name: strings.Clone(e.Object.Name), Status: is.Word.String(), Message: strings.Clone(is.Message), IsFinished: status.IsFailedPod(u)},
		inProgress:      is.Word != kstatus.FailedStatus,
		hasReason:       is.SelfReported || is.Word == kstatus.FailedStatus,
	}
}

// key returns the interned key of a target.
func (k *tracker) key(t event.Target) *event.Key {
	key := t.Key()
	if k.keys[key] == nil {
		k.keys[key] = &key
	}
	return k.keys[key]
}

// dropTarget removes the objects of a target that is no longer watched, and of the targets that it had replaced.
func (k *tracker) dropTarget(key event.Key) {
	left := func(o event.Key) bool { return o == key || key.Covers(o) }
	maps.DeleteFunc(k.unhealthy, func(_ string, w *unhealthyObject) bool { return left(w.Target.Key()) })
	maps.DeleteFunc(k.owners, func(_ string, m ownerEntry) bool { return left(*m.target) })
	maps.DeleteFunc(k.keys, func(o event.Key, _ *event.Key) bool { return left(o) })
}

// forget removes the owners of objects that were deleted before a time.
func (k *tracker) forget(before time.Time) {
	n := slices.IndexFunc(k.deleted, func(g deletedObject) bool { return !g.at.Before(before) })
	if n < 0 {
		n = len(k.deleted)
	}
	for _, g := range k.deleted[:n] {
		delete(k.owners, g.id)
	}
	k.deleted = slices.Delete(k.deleted, 0, n)
}
