// Package resume keeps on disk what was reported, so that a later run goes on from there.
//
//	file -> watcher.Options.Past                     what earlier runs reported
//	batch -> Stage -> file, next Sink, file          what this one reports
//	batch -> Stage -> next Sink -> Outbox -> file    the same, for a receiver
//
// # Contract
//
// At least once: of a process that is killed at any instant, each event that it had to report is
// reported by it or by the next one. The file is behind the next Sink, never ahead, by a second of
// time at most: those events come again. Only that an object is about to be reported as ADDED is in
// the file before; so its deletion will be reported, perhaps to a reader who never got its ADDED.
// What is hidden by the next Sink counts as reported.
//
// With an Outbox the file is what events are reported to, and neither behind nor ahead: a batch is
// in the outbox and counts as reported, both or neither. That an object came that is not sent is in the file
// on the return, too, and the rest of what is not sent a second later at most. What has left the outbox is out of the
// file a second later at most. As long as something waits in it, the file is for receivers only.
//
// Content: of each object its namespace, name, UID and resourceVersion, less than 200 bytes; never
// what it holds. With [File.KeepDigests] also digests of the state that was reported, in the same
// entry: they are of that state, always. The outbox has what its Sink puts there: events as they are sent, so masked.
//
// Clusters: a file for several has a part for each, with the targets of it, and what is recorded of one
// does not touch the others. The outbox is one.
//
// Targets: what was reported of an object belongs to one target. One of all objects takes it over,
// in one transaction, from one of a single object that it covers: at the start, or when it joins.
//
// Blocking: a batch with a new object waits for the disk before it is delivered. An error of the
// disk ends the run: nothing goes on unrecorded. So does somebody else who cuts or overwrites the
// file, as soon as that shows.
//
// Ending: Close records all that was delivered, and so waits for the disk. What is recorded is
// synced, and the file, which one process at a time has, stays sound when the machine loses power.
// It says nothing about the output.
//
// Memory: what is read of the file, as all of it is when it is opened, is given back.
package resume
