//go:build unix

package cli

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// watchReader calls gone, once, when the other end of out is closed. The
// returned function ends that and waits for it.
func watchReader(out *os.File, gone func()) (stop func()) {
	wakeRead, wakeWrite, err := os.Pipe()
	if err != nil {
		return func() {} // the next write will find out
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

// awaitClosed blocks until the reader of fd is gone (true), or wake is closed.
// An error is always reported by poll(2), whatever events were asked for.
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
			return false // not a descriptor that can be watched
		}
	}
}

// isBrokenPipe: a write to a pipe whose reader has gone.
func isBrokenPipe(err error) bool { return errors.Is(err, unix.EPIPE) }
