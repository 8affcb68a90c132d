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

// known is what objects belong to, and which of them are not as they should be.
type known struct {
	masks *change.Masks
	up    map[string]managed       // of what another one manages
	keys  map[event.Key]*event.Key // of the targets of up, each once
	wrong map[string]*wrong
	gone  []gone // in this order; what they owned may be told of later than they
}

// managed is that an object, of a target, is managed by one.
type managed struct {
	id string
	of *event.Key
}

// wrong is an object that is not Current.
type wrong struct {
	event.UnhealthyObject
	// waits: it is under way. says: it says what is wrong.
	waits, says bool
}

type gone struct {
	id string
	at time.Time
}

func newKnown(masks *change.Masks) known {
	return known{masks: masks, up: map[string]managed{}, keys: map[event.Key]*event.Key{}, wrong: map[string]*wrong{}}
}

// idOf names the object of an event for ever.
func idOf(e *event.Event) string {
	if e.Object.UID != "" {
		return e.Target.Cluster + "/" + string(e.Object.UID)
	}
	n := nameOf(e)
	return strings.Join([]string{n.cluster, n.resource.String(), n.namespace, n.name}, "/")
}

// maxDepth bounds owners above each other, which may own each other in a circle.
const maxDepth = 16

// root is the id of what an object belongs to in the end, and how far above it that is.
func (k *known) root(id, up string) (root string, depth int) {
	for depth < maxDepth && up != "" {
		id, depth = up, depth+1
		up = k.up[id].id
	}
	return id, depth
}

// observe takes an event, and returns what manages its object.
func (k *known) observe(id string, e *event.Event) (up string) {
	if e.Object.IsEvent() {
		if about := kubeevent.Parse(e.Object.Raw()).InvolvedObject; about.UID != "" {
			up = e.Target.Cluster + "/" + string(about.UID)
		}
		return up
	}
	content := e.Object.Raw()
	if up = k.up[id].id; !e.FinalStateUnknown { // else there may be nothing in it
		up = ""
		if strings.Contains(content, `"ownerReferences"`) {
			if owners := owner.FromJSON(content); len(owners) > 0 {
				up = e.Target.Cluster + "/" + string(owner.ControllerOrFirst(owners).UID)
			}
		}
	}
	if up != "" {
		k.up[id] = managed{up, k.key(e.Target)}
	} else {
		delete(k.up, id)
	}
	if e.Type == event.Deleted {
		delete(k.wrong, id)
		k.gone = append(k.gone, gone{id, e.Time})
	} else if w := k.diagnose(e, content); w != nil {
		k.wrong[id] = w
	} else {
		delete(k.wrong, id)
	}
	return up
}

// diagnose says what is wrong with an object; nil if nothing is.
func (k *known) diagnose(e *event.Event, content string) *wrong {
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
	return &wrong{
		UnhealthyObject: event.UnhealthyObject{Target: e.Target, Namespace: strings.Clone(e.Object.Namespace), Name: strings.Clone(e.Object.Name), Status: is.Word.String(), Message: strings.Clone(is.Message)},
		waits:           is.Word != kstatus.FailedStatus,
		says:            is.SelfReported || is.Word == kstatus.FailedStatus,
	}
}

// key is that of a target, of which there is one.
func (k *known) key(t event.Target) *event.Key {
	key := t.Key()
	if k.keys[key] == nil {
		k.keys[key] = &key
	}
	return k.keys[key]
}

// leave lets go of the objects of a target, and of those whose place it took, of which nothing is heard any more.
func (k *known) leave(key event.Key) {
	left := func(o event.Key) bool { return o == key || key.Covers(o) }
	maps.DeleteFunc(k.wrong, func(_ string, w *wrong) bool { return left(w.Target.Key()) })
	maps.DeleteFunc(k.up, func(_ string, m managed) bool { return left(*m.of) })
	maps.DeleteFunc(k.keys, func(o event.Key, _ *event.Key) bool { return left(o) })
}

// forget lets go of what went before a time.
func (k *known) forget(before time.Time) {
	n := slices.IndexFunc(k.gone, func(g gone) bool { return !g.at.Before(before) })
	if n < 0 {
		n = len(k.gone)
	}
	for _, g := range k.gone[:n] {
		delete(k.up, g.id)
	}
	k.gone = slices.Delete(k.gone, 0, n)
}
