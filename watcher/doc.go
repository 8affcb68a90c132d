// Package watcher turns targets into one stream of events, and lists their objects. A target is a
// resource, optionally limited to a namespace and a name.
//
//	server -> source -> informer -> handler -> queue -> loop -> Sink
//	              \______ while syncing ________/      progress, ledger
//
// Each target has a [source.Source], which talks to the server. In the loop, each target has a
// progress and a [ledger.Ledger], which record what has been reported. The loop is one goroutine. It
// receives the observations of all sources in order, and only the loop creates events and calls the
// Sink.
//
// # Contract
//
// Order: the events of one object arrive in the order of its changes. Events of different objects of
// one target keep the order in which the server sent them. There is no order between targets.
//
// No duplicates: a run reports no (type, resource, UID, resourceVersion) twice while the server
// serves the resource. States that followed each other during an outage may be merged into the last
// one. Last states and deletions are never lost.
//
// Resuming: if [Options.History] returns what earlier runs reported, Run reports only the
// differences, as after a gap.
//
// Blocking: [Watcher.Run] blocks and calls the Sink from one goroutine. It returns only after
// everything that it started has ended. A slow Sink applies backpressure to the server: the content
// that is in flight between the two is limited to 4 MiB for all targets together, see
// [source.ByteBudget].
//
// Memory: unless [Options.KeepContent] is set, only the identity of a delivered object is retained,
// which takes less than a kilobyte.
//
// Ending: if the context ends, Run delivers what has been received and then returns. If the Sink
// returns an error, Run delivers nothing more and returns that error.
//
// Trust: each watch is renewed about every two minutes and resumes where it stopped, see
// [source.Request]. Revoked permissions and silently dead connections are noticed by then.
//
// Starting: if the server refuses all targets or does not answer for any of them, Run returns the
// error. Otherwise, each target is retried until the context ends, independently of the others.
//
// Following: if the server no longer serves a target's resource, Run reports all its objects as
// deleted, and the target as Gone. If the server serves the resource again or, with
// [Options.Follow], another requested one, the target joins with an Arrived event. That takes up to
// two seconds if dwatch may watch CustomResourceDefinitions and APIServices. With
// [Options.Namespaces], the targets of a namespace join with a Joined event when the namespace is
// selected, and leave with a Left event when it is not selected any more. Left does not mean that
// objects were deleted. If the namespace is selected again, its objects are reported again.
package watcher
