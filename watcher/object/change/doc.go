// Package change compares two states of an object and finds out who changed it, as far as its managed fields show.
// [Diff] returns changes for people, [Patch] a JSON patch for programs, and [UnifiedDiff] compares long texts.
// Patterns ([ParsePattern]) name parts of objects. With them callers choose which changes are reported ([Options]),
// which are noise ([DefaultNoise]), and which values are hidden ([Masks]).
//
//	two objects -> walk (maps by name, lists by key) -> changes -> sorted
//	                            |                          ^
//	       noise, only: which changes count     writers, masks: how they are shown
//
// Objects are JSON text. Only the parts that differ are decoded. All functions are pure: they do not modify their
// arguments, and any number of goroutines may call them.
package change
