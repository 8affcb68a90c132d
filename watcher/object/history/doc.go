// Package history says what happened to objects, as far as what is there still shows it: when an
// object was created, when each field manager last wrote it, which template a workload had before
// (in its ReplicaSets or ControllerRevisions), when a deletion was asked for, what Events tell. It
// is a pure function of the objects that it is given.
//
// It has one rule: an event that it makes happened, at the time that it has, in the second that
// begins there; and what the event shows of the object is what the object was. Where two pasts
// may have led to what is there, nothing is said. So it can't know what was deleted, what a value
// was before (but for templates), what somebody overwrote since, and what came first in a second.
//
// What it relies on: that the server sets creationTimestamp, deletionTimestamp and the managed
// fields (a client that writes managed fields by itself can make them say anything; those from
// before the object was created, as restored ones are, say nothing here), and that the
// controllers of Deployments, StatefulSets and DaemonSets number revisions as they do: each by one
// more than the last.
package history
