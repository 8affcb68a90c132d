// Package resume keeps on disk what the reader has been told, so that a later
// run of dwatch carries on from there: it is the ledger of package watcher, in a
// file.
//
//	file -> watcher.Options.Past          what earlier runs told
//	emit -> Recorder -> next, flush       what this one tells
//	           \-> writer -> file         about once a second
//
// # Contract
//
// At least once: what is recorded has left the process before. A process that is
// killed at any instant leaves a file that lacks at most what was told in the
// last moments, about a second; that is told again. What was hidden by next
// counts as told.
//
// Content: of each object its namespace, name, UID and resourceVersion, about
// 100 bytes; never what it holds.
//
// Locking: one process at a time has the file.
//
// Blocking: the stream does not wait for the disk, unless the disk falls some
// thousand objects behind. An error of the disk ends the run: nothing goes on
// unrecorded.
package resume
