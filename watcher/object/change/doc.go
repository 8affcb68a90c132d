// Package change tells what changed between two states of an object, and who did it,
// as far as the object itself says. It has [Between] for people, [Patch] for programs
// and [Text] for long texts; a language for parts of objects ([ParsePattern]), with
// which callers say what counts ([Options]); what is noise in the objects of
// Kubernetes ([DefaultNoise]); and [Masks], which hide values.
//
//	two objects -> walk (maps by name, lists by key) -> changes -> sorted
//	                            |                          ^
//	             noise, only: what counts          who, masks: what is shown
//
// Objects are JSON text, of which only what differs is decoded. All functions are pure:
// they change nothing that they are given, and any number of goroutines may call them.
package change
