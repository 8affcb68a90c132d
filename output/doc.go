// Package output turns events into bytes.
//
// A [Printer] writes one event after the other, or one list, in one format. It
// is used from one goroutine. It collects what it writes; nothing has reached
// the reader before Flush, unless 64 KiB have come together. An error of the
// writer is returned by the call that met it and by all that follow.
//
// A new format is a file with an encoder of its own and a line in the table in
// printer.go.
package output
