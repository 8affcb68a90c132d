// Package broadcast gives one watch to several, each of which gets what it would get of a watch of its own.
//
//	watch -> Fan -> Branch -> its Sink
//	            \-> Branch -> its Sink
//
// # Contract
//
// A Fan is a Sink. It returns when the batch waits in each Branch, which delivers it in a goroutine of its own: so nothing that
// believes nil may stand in front of a Fan. Of a batch there is one copy for all, which nobody changes.
//
// Truth: a Branch has a ledger of what it has delivered, and finds out by that what an event is to its Sink: what was
// reported in an earlier run is not added again, and what is gone since then is deleted. The watch itself begins with what
// exists, and has no Past. Content for Event.Old is kept by the Branches that need it.
//
// Order: a Branch delivers in the order of the watch. Between Branches there is none.
//
// Blocking: what waits in a Branch is bounded. A Branch that is slow holds back the watch, and so the others. One that
// waits for somebody else (Held) does not: when too much waits for it, it is dropped from the Fan, with what
// waits, and as soon as it is not held any more it watches alone, for itself. That watch has its ledger for its
// past, and the targets that it has by then, so that it is brought up to the present: states in between are missing,
// which it is told as a Gap. The only Branch that is left in a Fan is not dropped.
//
// Joining: a Branch may be added while the watch runs. It is told what exists by a watch of its own, and then goes on
// with what the Fan has had since it was added: what that watch has not told of it, by resourceVersion. So it misses
// nothing, gets nothing twice, and the others don't notice.
//
// Ending: a Branch that is removed delivers what waits, and returns; nobody else notices. After Close of the Fan each
// Branch does.
package broadcast
