// Package settle provides a stage that buffers the changes of an object, and of everything it owns, until they are
// quiet, and then emits one event per object (--settle).
//
//	events -> Stage: merges the changes of each object
//	              -> one event for each object of a group, when the group is quiet
//
// # Groups
//
// A group contains the changed objects that have the same root. The root of an object is its topmost owner, as far as the
// owner references of the watched objects show. It does not have to be watched itself. A Kubernetes Event belongs to the
// object that it is about. Objects that had the same name one after the other are in the same group.
//
// A group is quiet when there was no significant change for Options.QuietPeriod, and neither its objects nor the root are
// in progress. If any object below the root has failed or reports what is wrong, the group does not wait for objects in
// progress, because that may never end. A group is also not quiet while the watch of one of its objects is disconnected
// or relists, and until QuietPeriod after the watch has reconnected.
//
// The stage releases a group that is not quiet in these cases. SettledGroup.FlushReason contains the case:
//
//   - Options.MaxWait has passed since its first change.
//   - The run ends.
//   - The target of one of its objects is no longer watched, or is replaced by another target.
//   - An initial object with the name of one of its objects is reported.
//   - The buffer is full. The stage then releases the oldest groups.
//
// # Contract
//
// Each object of a group gets one event, which compares the states before its first and after its last change. A created
// object is ADDED with its last state. A deleted object is DELETED, even if it was created in the same period. If it is
// then added again, for example because it matches the label selector again, that is a second event. If two resources
// serve the same object, it gets an event for each. Events of objects with the same name keep their order.
//
// Status events, reconstructed events and initial objects are not buffered. An initial object is buffered only if
// changes of the same object already are.
//
// Deliver returns nil for buffered events. The checkpoint (watcher/resume) must therefore be downstream of the stage. It
// then does not contain buffered events, and the next run observes them again if the process is killed.
//
// The stage has no clock. It takes the time from heartbeat events, and does not pass them on. All methods except Pending
// and Status must be called from one goroutine.
package settle
