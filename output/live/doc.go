// Package live shows the current objects of some resources as a table on a terminal, and updates it in place.
//
//	    events                       changes            at most 30 times a second
//	Deliver ----> output/inventory ----> store (table) ----------------------> model
//	 (watcher)                            a lock         (bubbletea)
//
// The model dispatches keys and messages and assembles the frame, from top to bottom: the statusLine, the problems, the
// table (view) or a text about one object (pager, with content from details), the statusLine's message, and the keys or
// the filterInput. All of them draw on a canvas.
//
// Rows are the server's own ([event.Object.Row]). A sign in front of a row shows the latest event: + added, ~ changed,
// - deleted. A second sign shows the state: ◌ not ready, ✗ failed. Changed cells are highlighted and fade. Colors carry
// no information of their own.
//
// # Contract
//
// A [Screen] is a Sink. Deliver passes a batch to the inventory, which stores the objects and their history, and then
// updates the rows of the table under a lock. It never waits for the terminal. The screen is drawn after changes, and once
// or twice a second so that ages advance and highlights fade. Only the visible part is drawn.
//
// Control characters and bidirectional formatting characters from the server are escaped. Values are masked in every
// text about an object.
package live
