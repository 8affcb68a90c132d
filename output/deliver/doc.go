// Package deliver delivers events to a receiver that may fail: it queues, tries again
// and says how it is.
//
// A [Queue] is a Sink. Each event becomes a [Message], and a [Receiver] is called with
// one at a time. What it promises:
//
//   - A message is sent until the receiver has taken it, or refuses it for ever, or
//     Options.GiveUpAfter has passed. So it arrives at least once, and each time with
//     the same ID. What is given up goes to Options.DeadLetters, and is reported.
//   - The messages of one object are sent one after the other, in their order. Up to
//     Options.Workers objects are sent at the same time.
//   - What can't be delivered is tried again later and later, each object by itself. One
//     that fails does not hold up the others. If all fail, the receiver is down: then it
//     is tried with one message at a time, until it takes one.
//   - What waits is bounded by its size. Deliver blocks while there is no room, which
//     holds back the server; once its context has ended it no longer does, since what
//     may come then is bounded by the gate of the watcher.
//   - With Options.Latest what comes takes the place of what waits of the same object, so
//     that of each only the last state has to arrive, and each deletion.
//
// Without a Store all that waits is in memory. Deliver returns nil for what waits, too: so
// such a Queue must not stand behind a stage that records what was delivered.
//
// With a Store, Deliver puts a batch there as a whole, with one call of Add, before any of
// it is sent; in memory is only what decides what is sent next. What was delivered, merged
// or given up leaves the Store. Restore makes what an earlier Queue left wait again, before
// all that comes new: with its id, as old as it is. What was delivered may come again if
// the process was killed, as it leaves the Store a little later.
//
// Run works until its context ends. Finish says that nothing more comes: all that waits
// is tried once more at once, and Run returns when nothing waits. With a Store it also
// returns when the receiver is down: what waits is for a later Queue.
package deliver
