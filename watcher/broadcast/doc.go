// Package broadcast shares one watch among several subscribers. Each gets what its own watch would
// deliver.
//
//	watch -> Broadcaster -> Subscriber -> its Sink
//	                    \-> Subscriber -> its Sink
//
// # Contract
//
// A Broadcaster is a Sink. Deliver puts the batch into the buffer of each Subscriber, which delivers
// it in its own goroutine, and returns when each buffer has room for another batch or its context
// ends. Therefore, no stage that relies on a nil error may be upstream of a Broadcaster. The buffers share one copy of
// the batch, which must not be changed.
//
// Accuracy: a Subscriber has a ledger of the events that it has delivered. It decides what an event
// means for its Sink: an object that an earlier run reported is not added again, and one that no
// longer exists is deleted. The shared watch itself starts with all existing objects and has no
// history. Subscribers that need Event.Old retain the content themselves.
//
// Order: a Subscriber delivers in the order of the watch. There is no order between subscribers.
//
// Blocking: the buffer of a Subscriber is limited. A slow Subscriber holds back the watch, and thus
// the others. One that waits for another process ([Subscriber.SetBlocked]) does not: when its
// buffer is full, it is detached and its buffer is discarded. When it is no longer blocked, it
// starts a watch of its own, with its current targets and with its ledger as the history. It is
// then up to date, and a Gap event reports that states in between are missing. A full buffer does
// not detach the only attached Subscriber of a Broadcaster, because it holds back no other.
//
// Ending: a Subscriber that is removed delivers its buffer and ends. After Close of the
// Broadcaster, all do. This does not end the own watch of a detached Subscriber, which runs until
// the context of Run ends.
package broadcast
