// Package watcher turns targets (a resource, a namespace, perhaps a name) into one stream of
// events, and into lists of what is there.
//
//	server -> source -> informer -> handler -> queue -> loop -> a Sink
//	              \______ while syncing ________/      progress, ledger
//
// Each target has a [source.Source], which knows the server, and in the loop a progress and a
// [ledger.Ledger], which know what was reported. The loop is one goroutine, to which all that
// sources note comes in order; it alone makes events and calls the Sink.
//
// # Contract
//
// Order: the events of one object arrive in the order of its changes. Events of different objects
// of one target keep the order in which the server sent them; between targets there is no order.
//
// Once: no (type, resource, UID, resourceVersion) is reported twice in a run, as long as the server
// goes on serving the resource. States that followed each other while the connection was down may
// be merged into the last one; a last state and a deletion are never lost.
//
// Resuming: where [Options.Past] says what earlier runs reported, only what is different from that
// is reported, as after a gap.
//
// Blocking: [Watcher.Run] blocks, calls the Sink from one goroutine, and returns only when all that
// it started has ended. What waits is one batch. A slow Sink holds back the server: what is on the
// way between the two is bounded to 4 MiB of content for all targets together; see [source.Gate].
//
// Memory: of an object that has been delivered only the identity is kept, less than a kilobyte,
// unless [Options.KeepContent] is set.
//
// Ending: when the context ends, what has been received is delivered before Run returns. When the
// Sink returns an error, nothing further is delivered and Run returns that error.
//
// Trust: a watch is renewed, where it stopped, after two minutes or so, see [source.Request]; so a
// right that was taken away, or a connection that died without a sign, is noticed.
//
// Starting: when the server's answer to all targets is no, or there is none, Run ends with the
// error; otherwise each is tried until the context ends, and none stops the others.
//
// Following: a target whose resource the server no longer has leaves, with the deletion of all its
// objects and a Gone. When the server has the resource again, or with [Options.Follow] another one
// that is asked for, a target joins with an Arrived: within two seconds where definitions and API
// services may be watched. In the same way the targets of a namespace join when it is chosen, with
// [Options.Namespaces], by a Joined, and leave by a Left when it no longer is. That is no deletion
// of what is in it; when it joins again, that is reported anew.
package watcher
