// Package recording writes the events of runs into a directory, and reads them again: which ones
// came from one time to another, what was there at a time, and where that is not known.
//
//	events -> Recorder -> DIR/00000001-20260131T090000Z.zst ... -> Recording -> Play, At -> Proof
//
// A recording is lines of JSON, those of the stream with managed fields and marks, and a few of its
// own (line.go), compressed with zstd. It is in segments. Each begins with what was there, so that
// it can be read by itself, and ends with an index in a frame that other readers skip. The layout is
// a contract: docs/recording.md has it.
//
// What is known is derived from the marks alone, by one fold (sight.go): the Recorder writes its
// state at the begin of each segment, and a reader goes on from there.
//
// What is delivered is given to the system once a second, with a sum: a process that is killed costs what
// it has delivered since. A damaged frame costs what follows the last sum before the damage, or all of it
// where the header of a block is hit; that is said, and what there may have been is not known.
package recording
