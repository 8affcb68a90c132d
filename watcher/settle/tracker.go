package settle

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	owners    map[string]ownerEntry    // by ID of the owned object
	keys      map[event.Key]*event.Key // interned keys of the targets in owners
	unhealthy map[string]*unhealthyObject
	// deleted lists deleted objects in order of deletion. They stay in owners for a while, because events of owned objects
	// can follow the deletion of the owner.
	deleted []deletedObject
}

// ownerEntry is the owner of an object.
type ownerEntry struct {
	id        string     // of the owner
	target    *event.Key // of the object
	isDeleted bool       // the object was deleted
}

// unhealthyObject is an object that is neither Current nor Unknown.
type unhealthyObject struct {
	event.UnhealthyObject
	// inProgress is true if the object has not failed. hasReason is true if it has failed or itself reports what is wrong.
	inProgress, hasReason bool
}

// deletedObject is an object that was deleted at a time.
type deletedObject struct {
	id string
	at time.Time
}

func newTracker(masks *change.Masks) tracker {
	return tracker{masks: masks, owners: map[string]ownerEntry{}, keys: map[event.Key]*event.Key{}, unhealthy: map[string]*unhealthyObject{}}
}

// idOf returns the ID of an event's object: its cluster and UID or, if it has no UID, its cluster, resource and name.
func idOf(e *event.Event) string {
	if e.Object.UID != "" {
		return e.Target.Cluster + "/" + string(e.Object.UID)
	}
	n := nameOf(e)
	return strings.Join([]string{n.cluster, n.resource.String(), n.namespace, n.name}, "/")
}

// maxDepth bounds the length of an owner chain, because owner references can form a cycle.
const maxDepth = 16

// root returns the ID of the topmost known owner of an object, and the number of owner references that lead to it. An
// object without an owner is its own root.
func (k *tracker) root(id, ownerID string) (root string, depth int) {
	for depth < maxDepth && ownerID != "" {
		id, depth = ownerID, depth+1
		ownerID = k.owners[id].id
	}
	return id, depth
}

// observe records the owner and the status of an event's object. It returns the ID of the owner, or "" if there is none.
func (k *tracker) observe(id string, e *event.Event) (ownerID string) {
	if e.Object.IsEvent() {
		if about := kubeevent.Parse(e.Object.Raw()).InvolvedObject; about.UID != "" {
			ownerID = e.Target.Cluster + "/" + string(about.UID)
		}
		return ownerID
	}
	content := e.Object.Raw()
	if ownerID = k.owners[id].id; !e.FinalStateUnknown { // otherwise the content may be missing
		ownerID = ""
		if strings.Contains(content, `"ownerReferences"`) {
			if owners := owner.FromJSON(content); len(owners) > 0 {
				ownerID = e.Target.Cluster + "/" + string(owner.ControllerOrFirst(owners).UID)
			}
		}
	}
	if ownerID != "" {
		k.owners[id] = ownerEntry{ownerID, k.key(e.Target), e.Type == event.Deleted}
	} else {
		delete(k.owners, id)
	}
	if e.Type == event.Deleted {
		delete(k.unhealthy, id)
		k.deleted = append(k.deleted, deletedObject{id, e.Time})
	} else if u := k.check(e, content); u != nil {
		k.unhealthy[id] = u
	} else {
		delete(k.unhealthy, id)
	}
	return ownerID
}

// check returns the status of an unhealthy object, or nil if it is Current or Unknown.
func (k *tracker) check(e *event.Event, content string) *unhealthyObject {
	state, u := k.evaluate(e, content)
	if state.Word == kstatus.CurrentStatus || state.Word == kstatus.UnknownStatus {
		return nil
	}
	return &unhealthyObject{
		UnhealthyObject: event.UnhealthyObject{Target: e.Target, Namespace: strings.Clone(e.Object.Namespace), Name: strings.Clone(e.Object.Name), Status: state.Word.String(), Message: strings.Clone(state.Message), IsFinished: status.IsFailedPod(u)},
		inProgress:      state.Word != kstatus.FailedStatus,
		hasReason:       state.SelfReported || state.Word == kstatus.FailedStatus,
	}
}

// evaluate returns the state of an event's object, with masked texts. decoded is nil if the state is Current or Unknown
// without decoding the object.
func (k *tracker) evaluate(e *event.Event, content string) (state status.State, decoded *unstructured.Unstructured) {
	if !status.MayNotBeCurrent(e.Object.GroupVersionKind(), content) {
		return status.State{Word: kstatus.CurrentStatus}, nil
	}
	u, err := event.NewObject(e.Object.Identity, k.masks.MaskJSON(content)).Decode()
	if err != nil {
		return status.State{Word: kstatus.UnknownStatus}, nil
	}
	return status.Of(u), u
}

// statusOf returns the kstatus status of an object whose latest event is e, and explains it unless it is Current.
func (k *tracker) statusOf(id string, e *event.Event) (word, message string) {
	if u := k.unhealthy[id]; u != nil {
		return u.Status, u.Message
	}
	state, _ := k.evaluate(e, e.Object.Raw())
	return state.Word.String(), state.Message
}

// key returns the key of a target. It returns the same pointer for all objects of a target, to save memory.
func (k *tracker) key(t event.Target) *event.Key {
	key := t.Key()
	if k.keys[key] == nil {
		k.keys[key] = &key
	}
	return k.keys[key]
}

// dropTarget removes the objects of a target that is no longer watched, and of the targets that it had replaced.
func (k *tracker) dropTarget(key event.Key) {
	isDropped := func(o event.Key) bool { return o == key || key.Covers(o) }
	maps.DeleteFunc(k.unhealthy, func(_ string, u *unhealthyObject) bool { return isDropped(u.Target.Key()) })
	maps.DeleteFunc(k.owners, func(_ string, entry ownerEntry) bool { return isDropped(*entry.target) })
	maps.DeleteFunc(k.keys, func(o event.Key, _ *event.Key) bool { return isDropped(o) })
}

// forget removes the owners of objects that were deleted before a time and have not been added again.
func (k *tracker) forget(before time.Time) {
	n := slices.IndexFunc(k.deleted, func(d deletedObject) bool { return !d.at.Before(before) })
	if n < 0 {
		n = len(k.deleted)
	}
	for _, d := range k.deleted[:n] {
		if k.owners[d.id].isDeleted {
			delete(k.owners, d.id)
		}
	}
	k.deleted = slices.Delete(k.deleted, 0, n)
}
