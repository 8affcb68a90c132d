// Package output formats events and lists of objects.
//
// A [Printer] is an event.Sink that writes events in one format, or writes a list. It must be used from one goroutine. It
// buffers up to 64 KiB, and has written the whole batch when Deliver returns. Once the writer has failed, each further call
// returns its error.
//
// A new format needs a file with an encoder, and a line in encoders in printer.go.
package output
