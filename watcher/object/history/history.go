package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
)

// TimeRange limits events by time: from Since, which is included, to Before, which is not. A zero Since means no
// beginning, and a zero Before no end.
type TimeRange struct{ Since, Before time.Time }

// has reports whether a time is in the range. Objects have times in whole seconds, so has includes the whole second of
// Since. The zero time is in no range.
func (s TimeRange) has(t time.Time) bool {
	return !t.IsZero() && !t.Before(s.Since.Truncate(time.Second)) && (s.Before.IsZero() || t.Before(s.Before))
}

// History reconstructs events from the objects that are added. A zero TimeRange includes all times. It is not safe for
// concurrent use.
type History struct {
	TimeRange TimeRange
	events    []event.Event
	undated   []event.Event
	workloads []workload
	revisions map[types.UID][]*revision // by UID of the workload
	seen      map[types.UID]bool        // UIDs of the ReplicaSets and ControllerRevisions in revisions
}

// Add adds an existing object, which must be complete and have its managed fields. History retains Kubernetes Events in
// the time range, and the content of workloads until Events is called. It does not retain other objects.
func (h *History) Add(t event.Target, o event.Object) {
	if o.IsEvent() {
		h.addEvent(t, o)
		return
	}
	content := o.Raw()
	if created := timeAt(content, "metadata.creationTimestamp"); h.TimeRange.has(created) || h.wrote(content) {
		writes := change.LastWrites(content)
		h.addCreation(t, o, content, created, writes)
		h.addWrites(t, o, content, created, writes)
	}
	h.addDeletion(t, o, content)
	if isWorkload(o) {
		h.workloads = append(h.workloads, workload{t, o, content})
	}
	h.AddRevision(o)
}

// Events returns the events in order of time. No objects may be added after the call.
func (h *History) Events() []event.Event {
	for _, w := range h.workloads {
		h.addRollouts(w)
	}
	h.workloads, h.revisions = nil, nil
	slices.SortStableFunc(h.events, func(a, b event.Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(rank(a), rank(b)),
			cmp.Compare(a.Target.Resource().Resource, b.Target.Resource().Resource),
			cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return h.events
}

// Undated returns the writes that have no time, such as those to the subresource scale. Their Time is zero. They are
// limited to objects that were created, or written by any manager, in the time range.
func (h *History) Undated() []event.Event { return h.undated }

// rank orders events with the same time. The creation comes first.
func rank(e event.Event) int {
	return slices.Index([]event.EvidenceSource{event.FromCreation, event.FromRevision, event.FromManagedFields, event.FromDeletion, event.FromEvent}, e.Reconstructed.From)
}

func (h *History) add(e event.Event) {
	if h.TimeRange.has(e.Time) {
		h.events = append(h.events, e)
	}
}

func (h *History) addEvent(t event.Target, o event.Object) {
	h.add(event.Event{
		Type: event.Added, Target: t, Object: o, Time: kubeevent.Parse(o.Raw()).LastSeen,
		Reconstructed: &event.Evidence{From: event.FromEvent},
	})
}

// addCreation adds the creation. Its writers are the managers that wrote in the second of the creation, except through
// a subresource, which needs an existing object. The evidence is conclusive if the managed fields contain no write at
// another time, except through a subresource, and no entry that LastWrites leaves out, and if there is at
// least one writer.
func (h *History) addCreation(t event.Target, o event.Object, content string, created time.Time, writes []change.Write) {
	evidence := &event.Evidence{From: event.FromCreation, Conclusive: len(writes) == int(gjson.Get(content, "metadata.managedFields.#").Int())}
	for _, w := range writes {
		switch {
		case w.Subresource != "":
		case w.Time.Equal(created):
			evidence.Writers = append(evidence.Writers, writerOf(w.Writer))
		default:
			evidence.Conclusive = false
		}
	}
	evidence.Conclusive = evidence.Conclusive && len(evidence.Writers) > 0
	h.add(event.Event{Type: event.Added, Target: t, Object: partialObject(o, content, nil), Time: created, Reconstructed: evidence})
}

// addWrites adds the last write of each manager. It ignores writes in the same second as the creation, which may be the
// creation itself. It also ignores earlier writes, which were made to another object, such as the one that a backup was
// made of.
func (h *History) addWrites(t event.Target, o event.Object, content string, created time.Time, writes []change.Write) {
	for _, w := range writes {
		e := event.Event{
			Type: event.Modified, Target: t, Time: w.Time,
			Reconstructed: &event.Evidence{From: event.FromManagedFields, Writers: []event.Writer{writerOf(w.Writer)}},
		}
		if w.Time.IsZero() || w.Time.After(created) && h.TimeRange.has(w.Time) {
			e.Object, e.Reconstructed.Base = partialObject(o, content, w.OwnedFields), partialObject(o, content, w.Base)
		}
		switch {
		case w.Time.IsZero():
			h.undated = append(h.undated, e)
		case w.Time.After(created):
			h.add(e)
		}
	}
}

// wrote reports whether a manager wrote in the time range. If TimeRange is short, that is false for most objects, whose
// managed fields Add then does not decode any further.
func (h *History) wrote(content string) (found bool) {
	gjson.Get(content, "metadata.managedFields").ForEach(func(_, entry gjson.Result) bool {
		found = h.TimeRange.has(timeAt(entry.Raw, "time"))
		return !found
	})
	return found
}

// addDeletion adds the first request to delete an object. Its time is deletionTimestamp minus the grace period: a later
// request that shortens the grace period also moves deletionTimestamp. The event does not contain the grace period,
// because it may not be the one of the first request.
func (h *History) addDeletion(t event.Target, o event.Object, content string) {
	ends := timeAt(content, "metadata.deletionTimestamp")
	if ends.IsZero() {
		return
	}
	grace := time.Duration(gjson.Get(content, "metadata.deletionGracePeriodSeconds").Int()) * time.Second
	h.add(event.Event{
		Type: event.Modified, Target: t, Object: partialObject(o, content, nil), Time: ends.Add(-grace),
		Reconstructed: &event.Evidence{From: event.FromDeletion},
	})
}

func writerOf(w change.Writer) event.Writer {
	return event.Writer{Manager: w.Manager, Operation: w.Operation, Subresource: w.Subresource}
}

// timeAt returns the time at a path of an object, or the zero time if there is none or it is invalid.
func timeAt(content, path string) time.Time {
	at, err := time.Parse(time.RFC3339, gjson.Get(content, path).Str)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}
