package event

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Type is the type of an event. Added, Modified and Deleted have the same meaning as in the
// Kubernetes watch API and carry an Object. All other types are status events, which describe the
// watch of a target instead of an object.
type Type string

const (
	Added    Type = "ADDED"
	Modified Type = "MODIFIED"
	Deleted  Type = "DELETED"

	// Synced ends the initial list: every existing object has been reported. Count and
	// ResourceVersion are set. If the watch has to start over, for example in another version of the
	// resource, Synced is reported again, after a Gap.
	Synced Type = "SYNCED"
	// Disconnected reports a lost connection. Err is the cause, and Heard is when the server was
	// last heard from, or zero if it never was. dwatch keeps retrying.
	Disconnected Type = "DISCONNECTED"
	// Reconnected reports that the watch resumed at ResourceVersion without missing a change.
	Reconnected Type = "RECONNECTED"
	// Gap reports that all objects were listed again, at ResourceVersion, because the watch could not
	// resume at From or missed a change. Every object's current state has been reported, now or
	// before, but states since From may be missing. From is empty if dwatch dropped events because
	// the Sink was too slow.
	Gap Type = "GAP"
	// Gone reports that the server no longer serves the resource. dwatch waits for it to return.
	Gone Type = "GONE"
	// Arrived reports that the server now serves a resource that it did not serve before.
	Arrived Type = "ARRIVED"
	// Joined reports that dwatch starts to watch the target: its namespace now matches, a watched
	// object now refers to it, or one of several clusters has been connected.
	Joined Type = "JOINED"
	// Left reports that dwatch no longer watches the target. Err is the reason. Its objects may still
	// exist, but no more events about them follow, unless the target joins again. With several
	// clusters, Left also reports that the watch of a cluster failed, which dwatch then retries.
	Left Type = "LEFT"
	// Denied reports that the user lacks the permission that Err names. Heard is set as for
	// Disconnected. dwatch keeps retrying.
	Denied Type = "DENIED"
	// Heartbeat shows at intervals that dwatch is running. It covers all targets that are not gone:
	// Count is their number, and Connected reports whether all of them are live. LastEvent is when an
	// object event was last reported. Target is zero, except that its Cluster is set if the run watches
	// several clusters, each of which has its own heartbeats. While a cluster is not being watched, its
	// heartbeats have no Count.
	Heartbeat Type = "HEARTBEAT"
	// Bookmark confirms that every change to the target up to the time Heard, the last one at
	// ResourceVersion, has been reported. If Heard is zero, it confirms nothing: events since the
	// previous bookmark may have arrived late. Only consumers that request bookmarks receive them.
	Bookmark Type = "BOOKMARK"
)

// ErrNotRequested is the Err of a Left event if the caller withdrew its request for the target.
var ErrNotRequested = errors.New("no longer requested")

// ErrSilentSync is the Err of Disconnected if the server does not complete the initial events. dwatch
// then sends list requests instead. If one fails, another Disconnected event reports the cause.
var ErrSilentSync = errors.New("the server does not finish the initial events; listing what exists instead")

// IsStatus reports whether t is the type of a status event, which carries no Object.
func (t Type) IsStatus() bool { return t != Added && t != Modified && t != Deleted }

// IsKeepalive reports whether t is Heartbeat or Bookmark. These status events don't change the
// state of a watch.
func (t Type) IsKeepalive() bool { return t == Heartbeat || t == Bookmark }

// IsCaughtUp reports whether a watch delivers changes promptly. confirmed is the time up to which all
// changes are known to have been reported, and lastChange is when the watch last delivered one.
// confirmed may be one second ago, or five seconds if the watch has delivered nothing since, because
// an idle watch has to wait for a bookmark.
func IsCaughtUp(confirmed, lastChange, now time.Time) bool {
	lag := now.Sub(confirmed)
	return lag <= time.Second || lag <= 5*time.Second && !lastChange.After(confirmed)
}

// A freshness probe asks the server for its current resourceVersion and checks that the watch
// reaches it.
const (
	// ProbeInterval is the time from one probe to the next.
	ProbeInterval = 5 * time.Second
	// ProbeTimeout is the time within which the server must answer and every change up to that
	// resourceVersion must arrive. Without such changes, the watch may reach it later, by a bookmark.
	// A watch that passes its probes is at most ProbeInterval + ProbeTimeout behind.
	ProbeTimeout = 2 * time.Second
)

// Event is one event of the stream. It describes a change to an object or, if it is a status event, the watch of a target.
// It is one type because a stream has events of all types in one order.
type Event struct {
	Type   Type
	Target Target

	// Object is the state after the change. In a Deleted event, it is the last known state. In a
	// status event, it is zero.
	Object Object
	// Old is the state before a Modified event. It is zero if the watcher does not retain content
	// or does not know that state.
	Old Object
	// Digests contains digests of the previous state's fields, if an earlier run saved them. It is
	// empty if Old is set.
	Digests string
	// Initial is true in an Added event of an object that existed when the run started or, with several
	// clusters, when the watch of its cluster last started. If an earlier run, which this one resumes,
	// had reported all objects of the target, it is false, because any other object is new. Exceptions
	// are objects that belonged to another shard in that run. If the target arrived after
	// that start, it is false. If the target joined after that start, it depends on the
	// creationTimestamp, with two seconds of tolerance, and is false if the namespace did not exist at
	// that start.
	Initial bool
	// Listed is true if a list revealed the change, not the watch. This includes the initial list.
	// States between the previous event and this one may be missing. Until the next Gap or Synced
	// event, the known states of the target's other objects may be outdated. Listed is also true if
	// an object was deleted with its namespace or its resource and no watch event reported it.
	Listed bool
	// FinalStateUnknown is true if dwatch detected a deletion after the fact. Object may then have
	// only an identity. Compare cache.DeletedFinalStateUnknown.
	FinalStateUnknown bool

	// Reconstructed is set if dwatch derived the event from data in the cluster instead of observing
	// it. Time is then accurate to the second. Unless HasFullObject, Object contains only the fields
	// whose values at that time are known, and no resourceVersion, and so does Old.
	Reconstructed *Evidence

	// Settled is set if dwatch buffered the event to combine it with others, usually until the object
	// and those related to it stopped changing.
	Settled *Settled

	// Time is when dwatch received the change, or when the status changed as far as dwatch can tell.
	Time time.Time

	// The following fields belong to status events. Each Type documents the fields that it sets.

	Count           int
	From            string
	ResourceVersion string
	Err             error
	Connected       bool
	LastEvent       time.Time
	Heard           time.Time
}

// Sink consumes the events of a run. Examples are a printer, the state file, and a filter, which
// wraps another Sink.
type Sink interface {
	// Deliver consumes all events of batch in order. An error ends the run. A Sink that buffers
	// output should flush it before it returns, because the next batch may be hours away.
	//
	// The watcher calls Deliver from one goroutine. A call that blocks applies backpressure to the
	// server. Deliver may modify the events in batch until it returns, but must not retain batch. It
	// may retain Objects, and copies of events.
	//
	// If ctx is done, the run is ending. Deliver must still consume batch, which the watcher has
	// already received, unless that means waiting for another process. It must then stop waiting and
	// return an error.
	Deliver(ctx context.Context, batch []Event) error
}

// SinkFunc adapts a function to a Sink.
type SinkFunc func(ctx context.Context, batch []Event) error

func (f SinkFunc) Deliver(ctx context.Context, batch []Event) error { return f(ctx, batch) }

// ReportedObject is an object that an earlier run reported, in the last state that it reported.
type ReportedObject struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// Unconfirmed is true if the earlier run ended while it delivered the object's Added event, which
	// may or may not have arrived. Several unconfirmed objects can have the same name: each of them
	// replaced the one before it, whose Deleted event may not have arrived either.
	Unconfirmed bool
	// Digests are the digests of the state, or empty if the earlier run saved none.
	Digests string
}

// HistoryFunc reads what earlier runs reported about a target. It calls yield for each object that
// was reported and whose deletion was not confirmed. Objects with the same name come in order of
// creation. complete is true if the earlier runs reported every object that existed when they
// started. Any object that they did not report is then new.
type HistoryFunc func(t Target, yield func(ReportedObject)) (complete bool, err error)
