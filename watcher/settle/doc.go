// Package settle has a stage that holds events until what they are about is quiet, so that it is told of
// once.
//
//	events -> Stage: of each object that changes the first state and the last
//	              -> one event for each, of all that belongs together, when nothing more comes
//
// # Contract
//
// What belongs together is an object that nothing owns, and what it owns, and what that owns, as far as it
// is watched: each is known by the owner that it names. An Event of Kubernetes belongs to the object that it
// is about. It is quiet when for Options.Quiet nothing has changed but noise, and nothing of it is under way:
// unless something says what is wrong, for then nobody knows when it will go on. While the watch of it is lost, or
// all is listed anew, it is not quiet, nor until it has been heard of for as long. After Options.Max it is told
// of all the same, and Settlement.Cut says so; so it is at the end, where its target leaves, before what took its
// name and does not wait, and the oldest first where too much waits.
//
// Of each object there is one event, of the first state to the last. An object that came is Added, in its last
// state; one that went is Deleted, also if it had only come meanwhile. The events of one object, and of
// those that had its name one after the other, go on in their order: these are told of together, whatever they
// belong to. What existed at the start does not wait.
//
// A Stage returns nil for what it holds. So it stands in front of a stage that believes that (watcher/resume):
// what it holds when the process is killed has not been reported, and is observed again.
//
// Time passes by heartbeats: they come from the goroutine of all other events, and go no further. Everything
// is called from that goroutine but Waiting and Status.
package settle
