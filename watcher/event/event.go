package event

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Type says what an event reports. The first three are those of the Kubernetes watch API and carry
// an Object; the others are marks: they report on the watch itself.
type Type string

const (
	Added    Type = "ADDED"
	Modified Type = "MODIFIED"
	Deleted  Type = "DELETED"

	// Synced: all that existed at the start has been reported. Count and ResourceVersion are set.
	Synced Type = "SYNCED"
	// Disconnected: the connection is lost; Err says how, and Heard when something was last heard
	// of the server. Retries go on.
	Disconnected Type = "DISCONNECTED"
	// Reconnected: the watch goes on at ResourceVersion, and nothing was missed.
	Reconnected Type = "RECONNECTED"
	// Gap: all was relisted, from From to ResourceVersion. Only states in between may be missing.
	Gap Type = "GAP"
	// Gone: the server no longer has the resource. It is waited for.
	Gone Type = "GONE"
	// Arrived: the server has the resource (again).
	Arrived Type = "ARRIVED"
	// Joined: what is asked for has come to include the target: its namespace matches now, or something
	// refers to it.
	Joined Type = "JOINED"
	// Left: it does so no more, as Err says. Of the objects of the target nothing is reported from
	// here on, which does not say that they were deleted.
	Left Type = "LEFT"
	// Denied: the user lacks a right; Err says which. Retries go on.
	Denied Type = "DENIED"
	// Heartbeat: the run is alive. It is about all targets: Target is zero, Count is their number,
	// Connected says whether all of them are, and LastEvent when an object was last reported.
	Heartbeat Type = "HEARTBEAT"
	// Bookmark: all that happened to the target up to Heard has been reported, as its server has
	// shown; without Heard: some of what was reported since the one before may have come late. Only
	// who asks for them gets them.
	Bookmark Type = "BOOKMARK"
)

// ErrUnasked is the Err of Left where who asked for the target does so no more.
var ErrUnasked = errors.New("it is not asked for any more")

// IsPrompt reports whether a watch has caught up, of which by now all has come that happened up to
// heard, and nothing since moved: it may be a second behind, or as long as bookmarks take to come
// if nothing has.
func IsPrompt(heard, moved, now time.Time) bool {
	behind := now.Sub(heard)
	return behind <= time.Second || behind <= 5*time.Second && !moved.After(heard)
}

// AskEvery is how often a server is asked where it is by who wants to know how far behind a watch is,
// and AnswerWithin how soon it is to answer, and the watch to have come there: a watch for which that
// is so is behind by both at most, at any time.
const (
	AskEvery     = 5 * time.Second
	AnswerWithin = 2 * time.Second
)

// IsMark reports whether events of this type are about the watch and carry no object.
func (t Type) IsMark() bool { return t != Added && t != Modified && t != Deleted }

// IsSign reports whether marks of this type are signs of life alone: nothing has become of a watch.
func (t Type) IsSign() bool { return t == Heartbeat || t == Bookmark }

// Event is one line of the stream.
type Event struct {
	Type   Type
	Target Target

	// Object is the state after the change; for Deleted the last one. Zero for a mark.
	Object Object
	// Old is the state before a Modified, where content is kept and was there.
	Old Object
	// Digests are what an earlier run has kept of the state before, where that is not here.
	Digests string
	// Initial: an Added object existed when the watch began, which was not an earlier run. In what
	// joins later it may have been created up to two seconds after that.
	Initial bool
	// Listed: it was found out while the server named all that there is. There may have been other
	// states in between; and of other objects the last known state may be of before, until a Gap or
	// Synced of the target.
	Listed bool
	// FinalStateUnknown: a deletion found out after the fact. At least the identity of Object is
	// known.
	FinalStateUnknown bool

	// Reconstructed: it was not seen, but follows from what the cluster remembers. Time is when it
	// happened, in whole seconds, and Object, and Old if it is there, have nothing but what is known
	// of the object at that time; the resourceVersion is not. nil: it was seen.
	Reconstructed *Evidence

	// Settled is what it stands for, if it waited until its object was quiet; nil: it did not.
	Settled *Settled

	// Time is when it was seen, or of a mark when it happened, as far as this side knows.
	Time time.Time

	// The fields of marks.
	Count           int
	From            string
	ResourceVersion string
	Err             error
	Connected       bool
	LastEvent       time.Time
	Heard           time.Time
}

// Sink takes the events of a run: a printer, a filter before it, the file of --state. A stage is a
// Sink around another one.
type Sink interface {
	// Deliver delivers all of batch, in its order; nil means that it is delivered, and an error
	// ends the run. The end of a batch is the time to flush: nothing else may come for hours.
	//
	// It is called from one goroutine. It may block, which holds back the server. batch and what it
	// holds may be read until the return, and is not kept; its Objects may be. That ctx has ended
	// means that the run is to end: what is in batch has been received, and is to be delivered all
	// the same, but a Sink that waits for somebody else gives up then, with an error.
	Deliver(ctx context.Context, batch []Event) error
}

// SinkFunc is a function that is a Sink.
type SinkFunc func(ctx context.Context, batch []Event) error

func (f SinkFunc) Deliver(ctx context.Context, batch []Event) error { return f(ctx, batch) }

// Reported is what was reported of one object in an earlier run, up to which state.
type Reported struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// Unsure: that run was ended while it reported that the object had been added, and its reader
	// may have got that or not. Of several with one name, each comes after those that it took the
	// place of; their deletion is as unsure.
	Unsure bool
	// Digests are what that run has kept of the state; empty if nothing.
	Digests string
}

// Past knows what earlier runs reported of a target. It calls take for each object that was
// reported and not deleted since. complete means that they reported all that existed at their
// start: what is new is then new since.
type Past func(t Target, take func(Reported)) (complete bool, err error)
