package inventory

import (
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/labels"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/object/reason"
	"dwatch/watcher/object/status"
)

// Summary is what the content of an object says about its condition. Its fields are the results of newSummary.
type Summary struct {
	Created time.Time // zero if unknown
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
	labels            string    // JSON; empty if there are none
	Owners            []owner.Owner
}

// KubeEvent is the summary of an Event.
type KubeEvent struct {
	InvolvedObject owner.Ref
	LastSeen       time.Time
	Warning        string // message of a Warning; empty for other types
}

// newSummary returns the summary of an object at a time from its masked content. isInitial is true if the object existed at
// the start.
func newSummary(o *event.Identity, content string, at time.Time, isInitial bool) (s Summary) {
	before, after := event.CutManagedFields(content)
	content = status.TrimContent(o.APIVersion, o.Kind, before+after)
	s.Status = kstatus.UnknownStatus
	if all := gjson.Get(content, "metadata.labels").Raw; all != "null" {
		s.labels = strings.Clone(all)
	}
	u, err := event.NewObject(o, content).Decode()
	if err != nil { // for example a number out of range
		s.Message = shorten(err.Error()) // the error may quote the whole content
		return s
	}
	s.Created = u.GetCreationTimestamp().Time
	if o.IsEvent() {
		e := kubeevent.Parse(content)
		s.EventType, s.KubeEvent = shorten(strings.Clone(e.Type)), &KubeEvent{InvolvedObject: e.InvolvedObject, LastSeen: e.LastSeen}
		if e.IsWarning() {
			s.KubeEvent.Warning = shorten(strings.Clone(reason.Event(e)))
		}
	} else {
		is := status.At(u, at)
		if s.clearsAt, s.failsAt = is.ClearsAt, is.FailsAt; !s.failsAt.IsZero() {
			s.failMessage = shorten(status.At(u, s.failsAt).Message)
		}
		s.Status, s.Message, s.HasReason, s.SelfReported = is.Word, shorten(is.Message), is.HasReason, is.SelfReported
	}
	if isInitial {
		s.stableSince = status.LastTransition(u)
	}
	s.Owners, s.DeletionMessage, s.isFinishedPod = owner.FromObject(u), shorten(status.Deletion(u)), status.IsFailedPod(u)
	s.revision = strings.Clone(status.TemplateRevision(u))
	if deleted := u.GetDeletionTimestamp(); deleted != nil {
		s.deletionRequested = deleted.Time
		if grace := u.GetDeletionGracePeriodSeconds(); grace != nil { // the timestamp includes the grace period
			s.deletionRequested = deleted.Add(-time.Duration(*grace) * time.Second)
		}
	}
	return s
}

// asOf returns the summary at a later time, if nothing happens to the object: after clearsAt it is Current, and after failsAt
// it has failed. changed is false if time changes nothing.
func (s Summary) asOf(now time.Time) (_ Summary, changed bool) {
	switch {
	case !s.failsAt.IsZero() && !now.Before(s.failsAt):
		s.Status, s.Message, s.HasReason, s.SelfReported, s.failsAt = kstatus.FailedStatus, s.failMessage, true, true, time.Time{}
	case !s.clearsAt.IsZero() && !now.Before(s.clearsAt):
		s.Status, s.Message, s.HasReason, s.SelfReported, s.clearsAt = kstatus.CurrentStatus, "", false, false, time.Time{}
	default:
		return s, false
	}
	return s, true
}

// looksLike reports whether two summaries are equal, except for times.
func (s *Summary) looksLike(before *Summary) bool {
	return s.Status == before.Status && s.Message == before.Message && s.HasReason == before.HasReason && s.SelfReported == before.SelfReported &&
		s.DeletionMessage == before.DeletionMessage && s.isFinishedPod == before.isFinishedPod && s.labels == before.labels && slices.Equal(s.Owners, before.Owners)
}

// ShortReason returns the shortest form of Message, or the word of Status if there is none. It is empty if the object is
// Current, Unknown or an Event.
func (s *Summary) ShortReason() string {
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
func (s *Summary) Labels() labels.Set {
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
