// Package inventory holds what is there and how it came to be, for who shows it.
//
//	events -> Inventory: objects, their states -> a view, which gets each change
//	                            ^ At, Between, History
//
// An [Inventory] is an event.Sink. Of each [Object] it has the states that it had since it was seen
// first: each a [State], with its content, compressed, and with what is seen at a glance. What was
// there, and what changed, is asked by time: the present ([Now]), or with [Options.Past] any time; without that, [AsOf] is what is held of one. What is
// wrong is noted as it comes; who asks for [Inventory.Problems] gets it by root, with its cause.
//
// # Contract
//
// The content of objects is held here and nowhere else: the watcher need not keep it
// (watcher.Options.KeepContent). The states before the present ones have one budget in bytes, of
// all objects together; the oldest go first.
//
// A State never changes, nor what an Object exports, so that who has one may read it without a
// lock. Everything else is under the one lock of the Inventory, which is held for no longer than it
// takes to put some states in place. Objects are decoded, compressed and compared before it is
// taken, and the view gets its changes when it has been released: a view may ask the Inventory
// under a lock of its own. All methods but Deliver may be called by any goroutine.
//
// What Options.Masks covers is masked in all that is read of a State, however it is read.
package inventory
