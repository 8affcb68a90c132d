// Package changes shows a stream of events to people: what changed, in which object,
// and who did it. It is the format "changes".
//
//	10:28:02 = 3 deployments in default
//	10:28:06 ~ deploy/web  spec.replicas  3 → 5                          kubectl
//	10:28:06 + po/web-69b5-wx4vj  InProgress: Pod is in the Pending phase
//	10:28:07 ~ po/web-69b5-wx4vj                                         kubelet
//	           status.phase  Pending → Running
//	           status.containerStatuses[name=web].ready  false → true
//	10:28:07 - po/web-6965-r2qvh  was Current, 13 min old
//	10:28:09 > deploy/web  12 changes followed, done in 3 s; +2 -1 po
//	10:28:31 ! connection lost, trying again: 10.0.0.1:6443: connect: connection refused
//	10:28:40 ! reconnected, nothing missed
//	10:31:09 ! deploy/web  fight over spec.replicas: argocd 5 → 3, hpa 3 → 5, 4 times in 40 s
//
// The sign tells what a line is about:
//
//	=  existing objects            <  reconstructed from existing objects
//	+  added                       >  changes that followed another one (Options.Fold)
//	-  deleted                     !  the state of the watch ([View.Note]), a fight or a hot loop (package churn)
//	~  changed                     ✗  has failed
//	                               ◌  is not ready
//
// Colours are optional, and are those of the user's theme. If one value changed, the event has one line, otherwise a block. The
// author of a change is a field manager, which is a program (KEP-555).
//
// # Contract
//
// A [View] is an event.Sink. With Options.Fold it buffers events. Later calls of Deliver, FlushDue and FlushAll show them or count
// them in a line. Events that change only noise are counted and not shown. A View needs [event.Event.Old] and
// metadata.managedFields, and shows less without them. All text from a server is escaped.
package changes
