// Package live shows the present objects of some resources as a table on a terminal, in place.
//
//	    events                       changes            at most 30 times a second
//	Deliver ----> output/inventory ----> store (table) ----------------------> model
//	 (watcher)                            a lock         (bubbletea)
//
// The model passes keys and messages on to what they are about, and puts the frame together: the
// statusLine at the top and above the keys, below it the lines of the view, which knows the
// selected row and what is seen of the table, or of a pager, with what details says of one object;
// at the bottom the finder's filter while it is typed. All of them write on a canvas.
//
// Rows are the server's own ([event.Object.Row]). A sign in front of a row says what
// happened to it lately: + added, ~ changed, - deleted; a second one that it is not
// ready (◌) or has failed (✗). Cells that changed stand out and fade. Colours only help.
//
// # Contract
//
// A [Screen] is a Sink. Deliver takes a batch into the inventory, which holds what is
// there and how it came to be, and then into the table, under a lock that is held for no
// longer than it takes to put some rows in place. It never waits for the terminal. The
// screen is drawn when something has changed, and no more than is visible.
//
// Nothing that comes from a server can steer the terminal: control characters and marks
// of direction are escaped. What is masked in what changes is masked everywhere.
package live
