// Package recording writes the events of runs into a directory. It replays them, returns the objects that existed at a
// time, and states for which periods the recording is incomplete.
//
//	events -> Recorder -> DIR/00000001-20260131T090000Z.zst ... -> Recording -> Replay, ObjectsAt -> Proof
//
// A recording consists of lines of JSON, compressed with zstd: the object and status events of the stream, and a few
// more types (line.go). It is divided into segments. Each segment begins with the objects that exist, so that it can be
// read separately, and ends with an index in a frame that other zstd readers skip. docs/reference/recordings.md specifies the layout.
//
// The Recorder and readers derive the coverage from the lines in the same way (coverage.go). The Recorder writes its
// state to the header of each segment, from which a reader continues.
//
// The Recorder flushes lines and writes a checksum once a second. If the process is killed, later lines are lost. In a
// damaged frame, readers lose the lines after the last checksum before the damage, or the whole frame if the header of a
// block is damaged. They report this as damage and as a gap.
package recording
