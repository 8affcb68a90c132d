package source

import "dwatch/watcher/event"

// Observer takes what a Source meets, in order. Observe is called by several
// goroutines, and must not block: what bounds it is the Gate.
type Observer interface {
	Observe(o Observation)
}

// Kind says what an Observation is.
type Kind uint8

const (
	// Began: a session has begun, whose informer knows nothing.
	Began Kind = iota
	// SyncBegan: the server names all that there is, from here on.
	SyncBegan
	// Listed: an object of a sync, right off the wire. Only where Shown is set are
	// the objects of a sync observed that way.
	Listed
	// SyncEnded: the server has named all that there was at ResourceVersion. From is
	// where the informer had been taken to before; empty at first.
	SyncEnded
	// Handed: the informer has handed out an object.
	Handed
	// Settled: the informer has handed out all of the session's first sync.
	Settled
	// Answered: the server answers, for the first time or again. ResourceVersion is
	// where the watch goes on; empty where a sync comes first.
	Answered
	// Lost: the connection is down, or a right is missing; Err says how. Each failed
	// try is observed.
	Lost
)

// Observation is one thing that a Source has met.
type Observation struct {
	Kind Kind
	// Object is what was seen, of Listed and Handed; of a deletion the last that is
	// known. Old is what the store had before, where content is kept.
	Object, Old event.Object
	// Deleted: the object is gone. Unknown: that was found out after the fact.
	Deleted, Unknown bool
	// InSync: the object is part of a session's first sync, which the informer has
	// not handed out in full.
	InSync bool
	// Shown: the objects of this sync are observed off the wire, all of them.
	Shown bool
	// Held is to leave the Gate when the observation has been dealt with.
	Held int64

	ResourceVersion, From string
	Err                   error
}
