// Package supervisor runs the rules of a file (dwatch send -f). Each rule is a run of its own: with its own stages, receiver and file of
// --state. Rules that ask the server for the same share a watch.
//
//	sharedWatch -> broadcaster -> subscriber -> stages and receiver of a rule
//	                          \-> subscriber -> stages and receiver of another rule
//
// When the file changes (reload.go), unchanged rules keep their subscriber. A removed rule is unsubscribed and drained. A changed rule
// is, too, and then starts again with a watch of its own from its checkpoint: its state file, or what its subscriber has delivered. New
// rules start with a watch that they share only with each other. A watch ends with its last subscriber. Rules never join a watch that
// runs.
package supervisor
