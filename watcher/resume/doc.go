// Package resume keeps on disk what the reader has been told, so that a later
// run of dwatch carries on from there: it is the ledger of package watcher, in a
// file.
//
//	file -> watcher.Options.Past                     what earlier runs told
//	emit -> Recorder -> next -> Recorder.Write       what this one tells
//	            \_______ batches _______/
//	                        |
//	                      writer -> file, output     each after the other
//
// # Contract
//
// At least once: of a process that is killed at any instant, each line that it
// had to tell is told by it or by the next one. The file is behind the output,
// never ahead, by a second of time at most: those lines are told again. Only that
// an object is about to be told as ADDED is in the file before; so its deletion
// will be told, whatever comes between. It may then be told of an object whose
// ADDED the reader never got.
//
// What is hidden by next counts as told.
//
// Content: of each object its namespace, name, UID and resourceVersion, less than
// 200 bytes; never what it holds.
//
// Locking: one process at a time has the file.
//
// Blocking: the stream waits only when the disk or the reader falls some thousand
// events, or a megabyte of text, behind. What is printed waits for the disk where
// it tells of a new object: all that has gathered meanwhile, for one commit. An
// error of the disk ends the run: nothing goes on unrecorded.
//
// Ending: Close writes and records all that was flushed, and so waits for the disk
// and for the reader, however long they take: as the stream does without a file. A
// process that can't wait is killed, as a second signal does: the contract covers it.
//
// Durability: what is recorded is synced to the disk, and the file stays sound
// when the machine loses power. Whether the output does is its own affair.
package resume
