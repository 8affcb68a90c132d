//go:build unix

package console

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// watchReader calls gone once when the other end of out is closed. stop ends this and waits for the goroutine.
func watchReader(out *os.File, gone func()) (stop func()) {
	wakeRead, wakeWrite, err := os.Pipe()
	if err != nil {
		return func() {} // the next write fails instead
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if awaitClosed(int32(out.Fd()), int32(wakeRead.Fd())) {
			gone()
		}
	}()
	return func() {
		wakeWrite.Close()
		<-done
		wakeRead.Close()
	}
}

// awaitClosed blocks until the reader of fd has closed it (true) or wake is closed (false). poll(2) always reports errors,
// whichever events are requested.
func awaitClosed(fd, wake int32) bool {
	fds := []unix.PollFd{{Fd: fd}, {Fd: wake, Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return false
		case fds[1].Revents != 0:
			return false
		case fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0:
			return true
		case fds[0].Revents != 0:
			return false // poll cannot watch this descriptor
		}
	}
}

// isBrokenPipe reports whether err comes from a write to a pipe that its reader has closed.
func isBrokenPipe(err error) bool { return errors.Is(err, unix.EPIPE) }
