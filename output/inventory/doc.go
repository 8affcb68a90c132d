// Package inventory stores the objects of a watch and their history for views: the live table, the page and the
// change view.
//
//	events -> Inventory: entries and their states -> view function, which receives each change
//	              ^ ListAt, Transitions, History, Problems: queries of the views
//
// An [Inventory] is an event.Sink. An [Entry] is one object. Its history is a list of states. A [State] has the
// compressed content of the object and a summary: status, message, owners, table cells.
//
// Queries take a time: [Now], or any time with [Options.FullHistory]. Without that option, [AsOf] returns an inventory
// of the retained states at a time. [Inventory.Problems] returns what is wrong, grouped by root owner, with the change
// that preceded it.
//
// # Contract
//
// Only the inventory retains the content of objects, so the watcher need not (watcher.Options.KeepContent). All
// historical states share one budget in bytes. The oldest are evicted first. Without [Options.FullHistory], the number of
// states of one object is limited as well. States that repeat earlier changes are then evicted first.
//
// A State (except its Repeat) and the exported fields of an Entry (except its ViewData) never change, so they can be
// read without a lock. All other data is guarded by the inventory's mutex. Deliver decodes, compresses and compares
// objects before it locks the mutex, except for an object that reaches the maximum number of states. It calls the view
// function after it has unlocked the mutex, so a view may query the inventory while it holds a lock of its own. All
// methods except Deliver, [Inventory.FindCause] and [Inventory.StartUnwatchedCause] are safe for concurrent use.
//
// Whatever is read from a State is masked by Options.Masks.
package inventory
