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
//	10:28:09 > deploy/web  12 changes followed in 3 s, done; +2 -1 po
//	10:28:31 ! connection lost, trying again: 10.0.0.1:6443: connect: connection refused
//	10:28:40 ! reconnected, nothing missed
//	10:31:09 ! deploy/web  fight over spec.replicas: argocd 5 → 3, hpa 3 → 5, 4 times in 40 s
//
// Signs carry the meaning: = what is there, + added, - deleted, ~ changed, < what happened before,
// as the cluster remembers it, > what followed a change (Options.Fold), ! what becomes of the watch, which somebody else puts into words
// ([View.Note]), or once, when it is found, a fight or a hot loop (package churn). Colours only help; they are ANSI's
// numbers, so that the user's theme decides. One line if one value changed, a block if more. Who
// did it is a field manager, which is a program, as the object itself says (KEP-555).
//
// # Contract
//
// A [View] is a Sink. With Options.Fold it holds events back: they are shown, or counted in a line,
// by later calls of Deliver, Tick and End. Events in which nothing but noise changed are counted, not
// shown. It needs the state before ([event.Event.Old]) and metadata.managedFields;
// without them it shows less. Nothing that comes from a server can steer the terminal:
// control characters and marks of direction are escaped.
package changes
