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
	// Listed: an object of a sync, right off the wire.
	Listed
	// SyncEnded: the server has named all that there was at ResourceVersion. From is
	// where the informer had been taken to before; empty at first.
	SyncEnded
	// Changed: an object that changed after the sync, as the informer passed it on.
	Changed
	// Answered: the server answers, for the first time or again. ResourceVersion is
	// where the watch goes on; empty where a sync comes first.
	Answered
	// Lost: the connection is down, or a right is missing; Err says how, and Heard when
	// something was last heard of the server. Each failed try is observed.
	Lost
)

// Observation is one thing that a Source has observed.
type Observation struct {
	Kind Kind
	// Of Listed and Changed, Object is what was seen, which of a deletion is the last that
	// is known, and Type what the server calls it.
	event.Event
	// Held is to leave the Gate when the observation has been dealt with.
	Held int64
}
