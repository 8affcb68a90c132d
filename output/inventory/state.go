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

// State is an object as an event showed it. It never changes.
type State struct {
	Entry *Entry
	// What the event said.
	Type                               event.Type
	Time                               time.Time
	Target                             event.Target
	Initial, Listed, FinalStateUnknown bool
	// Object is compressed: each of its methods that looks into the content takes time.
	Object event.Object

	// Quiet is when a state was observed last in whose place this one's content is, as nothing that counts
	// had changed, nor what is seen at a glance; zero: that was not so.
	LastNoise time.Time
	// Changes is how often the object had changed by then in a way that Counts, and Changed when it did last; Turns is
	// how often Status, or the EventType, had become another one, the first among them.
	ChangeCount, StatusChangeCount int
	LastChanged                    time.Time

	// What is seen of it at a glance. Created is zero if it is not known.
	Created time.Time
	// Status is a word of kstatus, and Why says why it is not Current. Of an Event it is Unknown: what
	// that tells is EventType, Normal or Warning.
	Status       kstatus.Status
	Message      string
	HasReason    bool // that is what is wrong, and not only how far it is
	SelfReported bool // and the object itself says so, and nobody else has to be asked
	EventType    string
	KubeEvent    *KubeEvent // by an Event; nil of all else
	// Deletion says what the deletion of the object waits for; empty: it has not begun.
	DeletionMessage string
	deleting        time.Time // when that was asked for; zero: it was not, or is not known
	settled         time.Time // what existed at the start says that none of its conditions has changed since; zero: it does not
	isOver          bool      // it is a pod that has failed, and never runs again
	Owners          []owner.Owner
	// Managers are those who have set fields, but with Options.Bare.
	Managers []string
	// Repeat says whether the object changed so before, with Options.Compare; with Alike of objects with many
	// states.
	Repeat Repeat

	content *packed
	columns *columns
	// cells are the server's, and labels those of the object, as JSON; empty if there are none.
	cells, labels string
	times         []columnTime  // of the columns, where there is one that counts
	queued        *list.Element // where it stands in the archive
	number        int           // of how many states of the object it came behind
}

// Told is what an Event is about, and when that happened last.
type KubeEvent struct {
	InvolvedObject owner.Ref
	LastSeen       time.Time
	Warning        string // what is, by a Warning
}

// Size is how many bytes it takes, about.
func (s *State) Size() int { return s.content.Size() + len(s.cells) + len(s.labels) + overhead }

func (i *Inventory) read(e *event.Event) *State {
	s := &State{
		Type: e.Type, Time: e.Time, Target: e.Target,
		Initial: e.Initial, Listed: e.Listed, FinalStateUnknown: e.FinalStateUnknown,
	}
	if i.options.WithoutContent {
		i.glance(s, e)
		return s
	}
	resource := e.Target.Resource().GroupResource()
	content := e.Object.Raw()
	s.content = &packed{masks: i.options.Masks, unmanaged: i.options.OmitManagedFields}
	s.content.Packed = i.packer.Pack(resource, content)
	s.Object = event.NewLazyObject(e.Object.Identity, s.content)
	s.summarize(i.options.Masks.MaskJSON(content))
	s.Managers = i.shared(change.Managers(content))
	definitions := "" // the server makes no table
	if row := e.Object.Row(); row != "" && (i.options.Masks == nil || len(i.options.Masks.Paths) == 0) {
		definitions = gjson.Get(row, "columnDefinitions").Raw
		s.cells = cellsOf(row)
	}
	s.columns = i.columnsOf(e.Target.Mapping.GroupVersionKind.GroupKind(), definitions)
	s.findTimes(content)
	return s
}

// glance is read with Options.Bare. What can't be wrong is not decoded, which takes longer than all else.
func (i *Inventory) glance(s *State, e *event.Event) {
	content := e.Object.Raw()
	s.Object = event.NewObject(e.Object.Identity, "")
	if !e.Object.IsEvent() && !status.MayBeOther(e.Object.GroupVersionKind(), content) {
		s.Status, s.Owners = kstatus.CurrentStatus, owner.FromJSON(content)
		return
	}
	s.summarize(i.options.Masks.MaskJSON(content))
	s.labels = ""
}

// shared returns the same names in memory that other states have, too.
func (i *Inventory) shared(names []string) []string {
	key := strings.Join(names, " ")
	if known, is := i.managers[key]; is {
		return known
	}
	if len(i.managers) >= maxManagers { // somebody takes another name each time
		clear(i.managers)
	}
	i.managers[key] = names
	return names
}

// maxManagers is of how many sets of managers the memory is shared.
const maxManagers = 1000

// summarize finds what is seen at a glance, in content that may be seen.
func (s *State) summarize(content string) {
	before, after := event.CutManagedFields(content)
	content = status.Part(s.Object.APIVersion, s.Object.Kind, before+after)
	s.Status = kstatus.UnknownStatus
	if all := gjson.Get(content, "metadata.labels").Raw; all != "null" {
		s.labels = strings.Clone(all)
	}
	u, err := event.NewObject(s.Object.Identity, content).Decode()
	if err != nil { // a number that nothing can hold
		s.Message = shorten(err.Error()) // it may have all of the content in it
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
		is := status.Of(u)
		s.Status, s.Message, s.HasReason, s.SelfReported = is.Word, shorten(is.Message), is.HasReason, is.SaysWhy
	}
	if s.Initial {
		s.settled = status.Settled(u)
	}
	s.Owners, s.DeletionMessage, s.isOver = owner.FromObject(u), shorten(status.Deletion(u)), status.IsOver(u)
	if at := u.GetDeletionTimestamp(); at != nil {
		s.deleting = at.Time
		if grace := u.GetDeletionGracePeriodSeconds(); grace != nil { // the time is that of its end
			s.deleting = at.Add(-time.Duration(*grace) * time.Second)
		}
	}
}

// looksLike reports whether nothing of what is seen at a glance is another than in the state before: noise may tell how an
// object is, as status.observedGeneration does.
func (s *State) looksLike(before *State) bool {
	return s.Status == before.Status && s.Message == before.Message && s.HasReason == before.HasReason && s.SelfReported == before.SelfReported &&
		s.DeletionMessage == before.DeletionMessage && s.isOver == before.isOver && s.labels == before.labels &&
		slices.Equal(s.Owners, before.Owners) && sameNames(s.Managers, before.Managers) && s.sameCells(before)
}

// sameNames reports whether these are the same names, in whatever order.
func sameNames(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(name string) bool { return !slices.Contains(b, name) })
}

// follow counts the change that led to the state.
func (s *State) follow(c *Change) {
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

// keep takes over from before a deletion what that does not say: the server's cells, and all else
// where no more is known than which object it was.
func (s *State) keep(known *State) {
	if s.cells == "" {
		s.columns, s.cells, s.times = known.columns, known.cells, known.times
	}
	if s.FinalStateUnknown {
		s.Object, s.content, s.labels = known.Object, known.content, known.labels
		s.Created, s.Status, s.Message, s.DeletionMessage, s.Owners = known.Created, known.Status, known.Message, known.DeletionMessage, known.Owners
		s.EventType, s.KubeEvent = known.EventType, known.KubeEvent
	}
}

// Short is why an object is not as it should be, as shortly as that is said, or else the word of its state; empty if it is.
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

// Labels returns those of the object.
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

// Missing is how many states between an earlier one of the same object and this are no longer held:
// of what they changed it is not known which of them did.
func (s *State) EvictedSince(earlier *State) int { return s.number - earlier.number - 1 }

// Event returns the event that showed the state; before is the one before, or nil.
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

// Between returns what changed from one state to another. What o masks is masked; who made a change
// is said whatever Options leave out.
func DiffStates(before, after *State, o change.Options) change.Result {
	return change.Diff(before.content.unpack(), after.content.unpack(), o)
}
