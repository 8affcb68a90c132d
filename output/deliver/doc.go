// Package deliver delivers events to a receiver that may fail: a [Queue] is a Sink, each event
// becomes a [Message], and a [Receiver] is called with one at a time. What it promises:
//
//   - A message is sent until the receiver has taken it, or refuses it for ever, or
//     Options.GiveUpAfter has passed. So it arrives at least once, and each time with the same ID.
//     What is given up goes to Options.DeadLetters, and is reported.
//   - The messages of one object are sent one after the other, in their order. Up to
//     Options.Workers objects are sent at the same time.
//   - What can't be delivered is tried again later and later, each object by itself. If all fail,
//     the receiver is down: then it is tried with one message at a time, until it takes one.
//   - What waits is bounded by its size. Deliver blocks while there is no room, which holds back
//     the server; once its context has ended it no longer does, since what may come then is
//     bounded by the gate of the watcher.
//   - With Options.Latest what comes takes the place of what waits of the same object, so that of
//     each only the last state has to arrive, and each deletion.
//
// Without a Store all that waits is in memory. Deliver returns nil for what waits, too: so such a
// Queue must not stand behind a stage that records what was delivered.
//
// With a Store, Deliver puts a batch there as a whole before any of it is sent; in memory is only
// what decides what is sent next. What is done leaves the Store a little later: if the process was
// killed before, it may come again. Restore makes what an earlier Queue left wait again, before
// all that comes new: with its id, as old as it is.
//
// Run works until its context ends. After Finish all that waits is tried once more at once, and Run
// returns when nothing waits; with a Store also when the receiver is down.
package deliver
