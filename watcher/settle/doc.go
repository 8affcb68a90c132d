// Package settle provides a stage that buffers the changes of an object, and of everything it owns, until they are
// quiet, and then emits one event per object (--settle).
//
//	events -> Stage: merges the changes of each object
//	              -> one event for each object of a group, when the group is quiet
//
// # Groups
//
// A group is a root object with all watched objects below it, as their owner references say. A Kubernetes Event belongs
// to the object that it is about. Objects that had the same name one after the other are in the same group.
//
// A group is quiet when there was no significant change for Options.QuietPeriod and none of its objects is in progress.
// An object in progress that reports a reason does not delay its group, because it may stay like that. A group is not
// quiet while the watch of one of its objects is disconnected or relists, and for QuietPeriod after that.
//
// A group that is not quiet is released, too, and SettledGroup.FlushReason says why: after Options.MaxWait, at the end
// of the run, when its target is no longer watched, before an unbuffered event of an object that took one of its names,
// and when the buffer is full, the oldest first.
//
// # Contract
//
// Each object of a group gets one event, from its first buffered state to the last. A created object is ADDED with its
// last state. A deleted object is DELETED, even if it was created in the same period. The events of objects with the
// same name keep their order. Initial objects are not buffered.
//
// Deliver returns nil for buffered events. The stage must therefore be upstream of the checkpoint (watcher/resume):
// buffered events have not been reported when the process is killed, and are observed again.
//
// The clock of the stage are heartbeat events, which it consumes. All methods except Pending and Status must be called
// from one goroutine.
package settle
