// Package history reconstructs past events from existing objects: when an object was created, when
// each field manager last wrote it, which pod template a workload had before (from its ReplicaSets
// or ControllerRevisions), when deletion was requested, and what Kubernetes Events report. The
// result depends only on the objects that are added and on the time range.
//
// A reconstructed event must be true: it happened in the second that starts at its time, and the
// object had these fields then. A rollout has the time at which its ReplicaSet or ControllerRevision
// was created, which is shortly after the change of the template. A Kubernetes Event has the time
// that its reporter set. If the objects allow several explanations, the package returns no event. It
// therefore does not report deleted objects, overwritten changes, or earlier values except pod
// templates. The order of events within a second is not reliable.
//
// It trusts the server to set creationTimestamp, deletionTimestamp and the managed fields. A client
// that sets managed fields explicitly can forge them. Managed fields that are older than the object,
// for example after a restore, cause no events. They only make the creator uncertain. It also relies
// on the controllers of Deployments, StatefulSets and DaemonSets to increase the revision number by
// one for each revision.
package history
