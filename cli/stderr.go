package cli

import (
	"io"
	"os"
	"time"
)

// stderrPatience bounds the wait for what was written to a caught stderr: a program that
// hangs may hold it open.
const stderrPatience = time.Second

// catchStderr has what is written to the process's stderr go to w, until release is
// called. client-go gives that stderr to credential plugins and lets nobody choose, and
// while a screen is drawn their text would spoil it.
func catchStderr(w io.Writer) (release func()) {
	read, write, err := os.Pipe()
	if err != nil {
		return func() {} // it spoils the screen until that is drawn anew
	}
	was, copied := os.Stderr, make(chan struct{})
	os.Stderr = write
	go func() {
		defer close(copied)
		io.Copy(w, read)
	}()
	return func() {
		os.Stderr = was
		write.Close()
		read.SetReadDeadline(time.Now().Add(stderrPatience))
		<-copied
		read.Close()
	}
}
