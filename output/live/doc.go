// Package live shows what there is at a terminal, in place: a table of the present
// objects, of one resource or several, that changes as they do.
//
//	    events                  at most 30 times a second
//	Deliver ----> store (rows) ----------------------------> model ----> screen
//	 (watcher)      a lock        what is visible of it     (bubbletea)
//	                                                            ^ keys, mouse, sizes
//
// Rows are the server's own ([event.Object.Row]). A sign in front of a row says what
// happened to it lately: + added, ~ changed, - deleted; a second one that it is not
// ready (◌) or has failed (✗). Cells that changed stand out and fade. Colours only help.
//
// # Contract
//
// A [Screen] is a Sink. Deliver takes a batch into the store, under a lock that is held
// for no longer than it takes to put some rows in place, and never waits for the
// terminal. The screen is drawn when something has changed, and no more than is visible.
// The content of objects is kept, packed: of each its present state, and of what changed
// since the start as many states as history.go says.
//
// Nothing that comes from a server can steer the terminal: control characters and marks
// of direction are escaped. What is masked in what changes is masked everywhere.
package live
