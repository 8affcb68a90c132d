// Package output turns events into bytes.
//
// A [Printer] writes events, as an event.Sink, or one list, in one format. It is used from one
// goroutine. A batch goes to the writer in pieces of 64 KiB, and has gone there when Deliver
// returns. An error of the writer is returned by the call that met it and by all that follow.
//
// A new format is a file with an encoder of its own, and a line in encoders and in
// Formats, which are in printer.go.
package output
