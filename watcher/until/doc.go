// Package until ends a run when a condition holds: a [Stage] is a Sink around another one,
// and its error is what decided.
//
//	events, marks -> Stage (looks at every event, also an initial one) -> next
//	                   |
//	                   what exists, and what of it holds -> decided: *Outcome
//
// What exists is known when every target is synced. Before that, only one object can
// decide: by Any, or by what makes the run fail.
package until
