package inventory

import (
	"container/list"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/labels"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/object/reason"
	"dwatch/watcher/object/status"
)

// State is an object as one event showed it. It never changes, except for Repeat of an object's first state.
type State struct {
	Entry *Entry
	// Members of the event.
	Type                               event.Type
	Time                               time.Time
	Target                             event.Target
	Initial, Listed, FinalStateUnknown bool
	// Object is compressed. Each method that reads its content decompresses it.
	Object event.Object

	// LastNoise is when this state last replaced one that differed from it only in noise. Zero means never.
	LastNoise time.Time
	// ChangeCount is the number of significant changes up to this state, and LastChanged the time of the latest one.
	// StatusChangeCount is how often Status or EventType changed, including the first value.
	ChangeCount, StatusChangeCount int
	LastChanged                    time.Time

	// Summary. Created is zero if it is unknown.
	Created time.Time
	// Status is a word of kstatus. Message is the reason if it is not Current. The status of an Event is Unknown; its
	// EventType is Normal or Warning.
	Status       kstatus.Status
	Message      string
	HasReason    bool // Message is the reason of a problem, not only the progress of the object
	SelfReported bool // Message comes from the object itself, so that no lookup is needed
	EventType    string
	KubeEvent    *KubeEvent // nil unless the object is an Event
	// DeletionMessage says what the deletion of the object waits for. Empty means that the deletion was not requested.
	DeletionMessage   string
	deletionRequested time.Time // when the deletion was requested; zero if it was not, or if that is unknown
	clearsAt          time.Time // when Status becomes Current without a change, as a crash loop ends; zero if it does not
	failsAt           time.Time // when Status becomes Failed without a change, with failMessage; zero if it does not
	failMessage       string
	stableSince       time.Time // latest transition of the conditions of an initial object; zero if it has none
	isFinishedPod     bool      // a failed Pod that never runs again
	revision          string    // of the template of a Deployment or ReplicaSet; empty if unknown
	Owners            []owner.Owner
	// Managers are the field managers of the object. It is empty with Options.WithoutContent.
	Managers []string
	// Repeat counts equal changes of the object. It is set with Options.Compare, and with EvictionCompare for objects
	// with many states.
	Repeat Repeat

	content *packed
	columns *columns
	// cells of the server's table, and labels of the object, as JSON. Empty if there are none.
	cells, labels string
	times         []columnTime  // by column; nil if no column counts from a time in the object
	queued        *list.Element // element of archive.queue
	number        int           // number of earlier states of the object
}

// KubeEvent is the summary of an Event.
type KubeEvent struct {
	InvolvedObject owner.Ref
	LastSeen       time.Time
	Warning        string // message of a Warning; empty for other types
}

// Size returns the approximate memory use in bytes.
func (s *State) Size() int { return s.content.Size() + len(s.cells) + len(s.labels) + overhead }

// asOf returns the state at a later time, if nothing happens to the object: after clearsAt it is Current, and after failsAt
// it has failed. It returns s if time changes nothing.
func (s *State) asOf(now time.Time) *State {
	clears, fails := !s.clearsAt.IsZero() && !now.Before(s.clearsAt), !s.failsAt.IsZero() && !now.Before(s.failsAt)
	if !clears && !fails {
		return s
	}
	after := *s
	if fails {
		after.Status, after.Message, after.HasReason, after.SelfReported, after.failsAt = kstatus.FailedStatus, s.failMessage, true, true, time.Time{}
		return &after
	}
	after.Status, after.Message, after.HasReason, after.SelfReported, after.clearsAt = kstatus.CurrentStatus, "", false, false, time.Time{}
	return &after
}

func (i *Inventory) read(e *event.Event) *State {
	s := &State{
		Type: e.Type, Time: e.Time, Target: e.Target,
		Initial: e.Initial, Listed: e.Listed, FinalStateUnknown: e.FinalStateUnknown,
	}
	if i.options.WithoutContent {
		i.readWithoutContent(s, e)
		return s
	}
	resource := e.Target.Resource().GroupResource()
	content := e.Object.Raw()
	s.content = &packed{masks: i.options.Masks, omitManagedFields: i.options.OmitManagedFields}
	s.content.Packed = i.packer.Pack(resource, content)
	s.Object = event.NewLazyObject(e.Object.Identity, s.content)
	s.summarize(i.options.Masks.MaskJSON(content))
	s.Managers = i.internNames(change.Managers(content))
	definitions := "" // without a table from the server
	if row := e.Object.Row(); row != "" && (i.options.Masks == nil || len(i.options.Masks.Paths) == 0) {
		definitions = gjson.Get(row, "columnDefinitions").Raw
		s.cells = cellsOf(row)
	}
	s.columns = i.columnsOf(e.Target.Mapping.GroupVersionKind.GroupKind(), definitions)
	s.findTimes(content)
	return s
}

// readWithoutContent is read for Options.WithoutContent. It does not decode objects whose status can only be Current,
// because decoding dominates the cost.
func (i *Inventory) readWithoutContent(s *State, e *event.Event) {
	content := e.Object.Raw()
	s.Object = event.NewObject(e.Object.Identity, "")
	if !e.Object.IsEvent() && !status.MayNotBeCurrent(e.Object.GroupVersionKind(), content) {
		s.Status, s.Owners = kstatus.CurrentStatus, owner.FromJSON(content)
		return
	}
	s.summarize(i.options.Masks.MaskJSON(content))
	s.labels = ""
}

// internNames returns an equal slice that other states already use, to save memory.
func (i *Inventory) internNames(names []string) []string {
	key := strings.Join(names, " ")
	if known, is := i.managers[key]; is {
		return known
	}
	if len(i.managers) >= maxManagers { // some client uses a new name each time
		clear(i.managers)
	}
	i.managers[key] = names
	return names
}

// maxManagers bounds the number of interned lists of managers.
const maxManagers = 1000

// summarize sets the summary from masked content.
func (s *State) summarize(content string) {
	before, after := event.CutManagedFields(content)
	content = status.TrimContent(s.Object.APIVersion, s.Object.Kind, before+after)
	s.Status = kstatus.UnknownStatus
	if all := gjson.Get(content, "metadata.labels").Raw; all != "null" {
		s.labels = strings.Clone(all)
	}
	u, err := event.NewObject(s.Object.Identity, content).Decode()
	if err != nil { // for example a number out of range
		s.Message = shorten(err.Error()) // the error may quote the whole content
		return
	}
	s.Created = u.GetCreationTimestamp().Time
	if s.Object.IsEvent() {
		e := kubeevent.Parse(content)
		s.EventType, s.KubeEvent = shorten(strings.Clone(e.Type)), &KubeEvent{InvolvedObject: e.InvolvedObject, LastSeen: e.LastSeen}
		if e.IsWarning() {
			s.KubeEvent.Warning = shorten(strings.Clone(reason.Event(e)))
		}
	} else {
		is := status.At(u, s.Time)
		if s.clearsAt, s.failsAt = is.ClearsAt, is.FailsAt; !s.failsAt.IsZero() {
			s.failMessage = shorten(status.At(u, s.failsAt).Message)
		}
		s.Status, s.Message, s.HasReason, s.SelfReported = is.Word, shorten(is.Message), is.HasReason, is.SelfReported
	}
	if s.Initial {
		s.stableSince = status.LastTransition(u)
	}
	s.Owners, s.DeletionMessage, s.isFinishedPod = owner.FromObject(u), shorten(status.Deletion(u)), status.IsFailedPod(u)
	s.revision = strings.Clone(status.TemplateRevision(u))
	if at := u.GetDeletionTimestamp(); at != nil {
		s.deletionRequested = at.Time
		if grace := u.GetDeletionGracePeriodSeconds(); grace != nil { // the timestamp includes the grace period
			s.deletionRequested = at.Add(-time.Duration(*grace) * time.Second)
		}
	}
}

// looksLike reports whether the summaries of two states are equal. They can differ although only noise changed:
// status.observedGeneration is noise and affects Status.
func (s *State) looksLike(before *State) bool {
	return s.Status == before.Status && s.Message == before.Message && s.HasReason == before.HasReason && s.SelfReported == before.SelfReported &&
		s.DeletionMessage == before.DeletionMessage && s.isFinishedPod == before.isFinishedPod && s.labels == before.labels &&
		slices.Equal(s.Owners, before.Owners) && sameNames(s.Managers, before.Managers) && s.sameCells(before)
}

// sameNames reports whether a and b contain the same names in any order.
func sameNames(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(name string) bool { return !slices.Contains(b, name) })
}

// countChange sets the counters of the state from the previous state and the change.
func (s *State) countChange(c *Change) {
	turns := s.Type != event.Deleted
	if b := c.Before; b != nil {
		s.ChangeCount, s.LastChanged, s.StatusChangeCount = b.ChangeCount, b.LastChanged, b.StatusChangeCount
		turns = turns && (s.Status != b.Status || s.EventType != b.EventType)
	}
	if turns {
		s.StatusChangeCount++
	}
	if c.IsSignificant() {
		s.ChangeCount++
		s.LastChanged = s.Time
	}
}

// inheritFrom completes the state of a deletion from the last known state: the cells of the table, and everything else
// if the final state is unknown.
func (s *State) inheritFrom(known *State) {
	if s.cells == "" {
		s.columns, s.cells, s.times = known.columns, known.cells, known.times
	}
	if s.FinalStateUnknown {
		s.Object, s.content, s.labels = known.Object, known.content, known.labels
		s.clearsAt, s.failsAt, s.failMessage = known.clearsAt, known.failsAt, known.failMessage
		s.Created, s.Status, s.Message, s.DeletionMessage, s.Owners = known.Created, known.Status, known.Message, known.DeletionMessage, known.Owners
		s.EventType, s.KubeEvent = known.EventType, known.KubeEvent
	}
}

// ShortReason returns the shortest form of Message, or the word of Status if there is none. It is empty if the object is
// Current, Unknown or an Event.
func (s *State) ShortReason() string {
	if s.EventType != "" || s.Status == kstatus.CurrentStatus || s.Status == kstatus.UnknownStatus {
		return ""
	}
	short := s.Message
	for _, end := range []string{" (", ": ", ", "} {
		short, _, _ = strings.Cut(short, end)
	}
	if short == "" || s.Status == kstatus.TerminatingStatus {
		return s.Status.String()
	}
	return short
}

// Labels returns the labels of the object.
func (s *State) Labels() labels.Set {
	if s.labels == "" {
		return nil
	}
	set := labels.Set{}
	gjson.Parse(s.labels).ForEach(func(name, value gjson.Result) bool {
		set[strings.Clone(name.String())] = value.String()
		return true
	})
	return set
}

// EvictedSince returns the number of evicted states between an earlier state of the same object and this one.
func (s *State) EvictedSince(earlier *State) int { return s.number - earlier.number - 1 }

// ToEvent returns the event that showed the state. before is the previous state, or nil.
func (s *State) ToEvent(before *State) event.Event {
	e := event.Event{
		Type: s.Type, Target: s.Target, Object: s.Object, Time: s.Time,
		Initial: s.Initial, Listed: s.Listed, FinalStateUnknown: s.FinalStateUnknown,
	}
	if before != nil && s.Type == event.Modified {
		e.Old = before.Object
	}
	return e
}

// DiffStates returns the difference of two states with the masks of o. It includes the writers even if
// Options.OmitManagedFields is set.
func DiffStates(before, after *State, o change.Options) change.Result {
	return change.Diff(before.content.unpack(), after.content.unpack(), o)
}
