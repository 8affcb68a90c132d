// Package watcher turns targets (a resource, a namespace, perhaps a name) into
// one stream of events, and into lists of what is there.
//
//	server -> wire -> informer -> handler -> ledger -> channel -> Run's loop -> emit
//	             \______ while syncing ________/
//
// Each target owns a DynamicSharedInformerFactory with one unstructured
// informer. Below the informer, the wire decorates dynamic.Interface: it
// retries with its own backoff, resumes a watch where it broke off, and hands
// the informer only what the informer has to act on. Above it, the ledger
// remembers what the reader has been told and makes every event from that.
//
// # Contract
//
// Order: the events of one object arrive in the order of its changes. Events of
// different objects of one target keep the order in which the server sent them;
// between targets there is no order.
//
// Once: no (resource, UID, resourceVersion) is told twice in a run. States that
// followed each other while the connection was down may be merged into the last
// one; a last state and a deletion are never lost.
//
// Carrying on: where [Options.Past] says what earlier runs told, only what is
// different from that is told, as after a gap.
//
// Blocking: [Watcher.Run] blocks, calls emit from one goroutine, and returns
// only when all it started has ended. A slow emit holds back the server: what is
// on the way between the two is bounded to 16 MiB of content for all targets
// together; see the gate.
//
// Memory: of an object that has been emitted only the identity is kept, about a
// kilobyte, unless [Options.KeepContent] is set or for [Watcher.List].
//
// Ending: when the context ends, what has been received is emitted before Run
// returns. When emit returns an error, nothing further is emitted and Run
// returns that error.
//
// Trust: no connection is trusted for longer than two minutes or so. A watch is
// renewed where it stopped, see [Options.WatchLife]; so a right that was taken
// away, or a connection that died without a sign, does not go unnoticed.
//
// Starting: a target has started when the server first answered it. When the
// answer to all of them is no, or there is none, Run ends with the error;
// otherwise each carries on until the context ends, and none stops the others.
//
// Following: a target whose resource the server no longer has leaves, with the
// deletion of all its objects and a Gone. When the server has the resource again,
// or with [Options.Follow] another one that is asked for, a target joins with an
// Arrived: within two seconds where definitions and API services may be watched.
package watcher
