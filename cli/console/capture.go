package console

import (
	"bytes"
	"io"
	"os"
	"sync/atomic"
)

// captureEnd is what release writes to mark the end of the captured text.
var captureEnd = []byte{0}

// CaptureStderr redirects the process's stderr to w until release is called. client-go gives the process's stderr to
// credential plugins, and their text would spoil a drawn screen or the JSON of --log json.
func CaptureStderr(w io.Writer) (release func()) {
	read, write, err := os.Pipe()
	if err != nil {
		return func() {} // a plugin may spoil the screen until it is drawn again
	}
	previous, copied := os.Stderr, make(chan struct{})
	var released atomic.Bool
	os.Stderr = write
	go func() {
		defer close(copied)
		for buf := make([]byte, 4096); ; {
			n, err := read.Read(buf)
			w.Write(bytes.ReplaceAll(buf[:n], captureEnd, nil))
			if err != nil || released.Load() && bytes.Contains(buf[:n], captureEnd) {
				return
			}
		}
	}()
	return func() {
		os.Stderr = previous
		// The pipe is not closed: client-go may be starting a plugin with it at this moment,
		// and a plugin that hangs keeps it open in any case.
		released.Store(true)
		write.Write(captureEnd)
		<-copied
	}
}
