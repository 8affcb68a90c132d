// Package deliver delivers events to a receiver that may fail. A [Queue] is an event.Sink. Each event becomes a [Message], which
// the Queue sends with a [Receiver]. The guarantees are:
//
//   - Delivery is at least once. The Queue sends a message until the receiver accepts it, refuses it permanently, or
//     Options.GiveUpAfter has passed. Each attempt has the same ID. Messages that the Queue gives up are reported and go to
//     Options.DeadLetters.
//   - The messages of one object are delivered in order, one at a time. Up to Options.Workers objects are served concurrently.
//   - Failed messages are retried with backoff, which each object has for itself. If several objects fail in a row, or an attempt
//     returns a DownError, the receiver counts as down. The Queue then sends one message at a time until the receiver accepts or
//     refuses one.
//   - The size of the waiting messages is bounded. Deliver blocks while there is no room, which applies backpressure to the
//     server. It does not block once its context is done, because the byte budget of the watcher bounds the rest.
//   - With Options.LatestOnly, a new event replaces the waiting one of the same object. Only the last state of each object is
//     delivered, and each deletion.
//
// Without a Store, messages wait in memory, and Deliver returns nil before they are delivered. Such a Queue must not be
// downstream of a stage that records what was delivered.
//
// With a Store, Deliver stores a batch as a whole before any of its messages is sent, and only the schedule is in memory. A
// delivered message is removed from the Store shortly afterwards. It is sent again if the process is killed in between. Restore
// schedules the messages of an earlier Queue in front of all new ones. They keep their IDs and times.
//
// Run sends until its context is done. After Drain, the Queue retries all waiting messages at once, and Run returns when no message
// waits or, with a Store, when the receiver is down.
package deliver
