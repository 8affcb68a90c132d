// Package resume records on disk what was reported, so that a later run can continue from there.
//
//	file -> watcher.Options.History                  what earlier runs reported
//	batch -> Stage -> file, next Sink, file          what this run reports
//	batch -> Stage -> next Sink -> Outbox -> file    the same with a receiver
//
// # Contract
//
// At least once: if a process is killed at any moment, each event that it had to report is reported
// by that process or by the next one. The file is never ahead of the next Sink, and at most a
// second behind. Events of that second are reported again. There is one exception: the file records
// an object before its ADDED event is reported. The object's deletion is therefore always reported,
// even if the ADDED event may not have arrived. Events that the next Sink drops count as reported.
//
// With an Outbox, events are reported to the file itself. In one transaction, a batch is added to
// the outbox and counts as reported. If the next Sink does not add some events of a batch to the
// outbox, [Stage.UpstreamBuffers] decides whether the file records new objects of them before
// Deliver returns. Everything else that is not added is recorded within a second. A record that was
// removed from the outbox leaves the file within a second. While the outbox has records, the file
// can only be used with a receiver.
//
// Content: the file contains namespace, name, UID and resourceVersion of each object, usually in less
// than 200 bytes, but not the object. With [File.EnableDigests], the entry also contains digests of the
// reported state. The outbox contains what its Sink adds: events as they are sent, so masked.
//
// Clusters: a file for several clusters has separate targets for each of them, and one outbox.
//
// Targets: each reported object belongs to one target. A target for all objects takes over the
// objects of targets for single objects that it covers, in one transaction, at the start or when it
// joins.
//
// Blocking: a batch with a new object waits for the disk before it is delivered. A disk error ends
// the run, because nothing may be delivered without a record. So does a process that truncates or
// overwrites the file, as soon as that is detected.
//
// Ending: Close records everything that was delivered and waits for the disk. Only one process at a
// time can open the file. Transactions are synced, so the file remains consistent if the machine
// loses power. That does not apply to the output.
//
// Memory: the whole file is read when it is opened. On Linux, the memory of its pages is released
// after reading.
package resume
