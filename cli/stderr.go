package cli

import (
	"bytes"
	"io"
	"os"
	"sync/atomic"
)

// caughtEnd is what release writes after the last text to a caught stderr.
var caughtEnd = []byte{0}

// catchStderr has what is written to the process's stderr go to w, until release is
// called. client-go gives that stderr to credential plugins and lets nobody choose, and
// while a screen is drawn their text would spoil it.
func catchStderr(w io.Writer) (release func()) {
	read, write, err := os.Pipe()
	if err != nil {
		return func() {} // it spoils the screen until that is drawn anew
	}
	was, copied := os.Stderr, make(chan struct{})
	var released atomic.Bool
	os.Stderr = write
	go func() {
		defer close(copied)
		for buf := make([]byte, 4096); ; {
			n, err := read.Read(buf)
			w.Write(bytes.ReplaceAll(buf[:n], caughtEnd, nil))
			if err != nil || released.Load() && bytes.Contains(buf[:n], caughtEnd) {
				return
			}
		}
	}()
	return func() {
		os.Stderr = was
		// The pipe is not closed: client-go may be starting a plugin with it at this very
		// moment, and one that hangs holds it open anyway.
		released.Store(true)
		write.Write(caughtEnd)
		<-copied
	}
}
