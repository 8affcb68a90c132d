//go:build unix

package live

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopsWithin is how long a process that sends itself the signal to stop may still run.
const stopsWithin = 300 * time.Millisecond

// stopSelf stops this process and those it was started with, until the shell continues
// them. Where there is no shell that could (a command of ssh -t, the first process of a
// container), the system does not stop it: then it goes on after a moment.
func stopSelf() {
	continued, end := notifyContinued()
	defer end()
	if syscall.Kill(0, syscall.SIGTSTP) != nil {
		return
	}
	select {
	case <-continued:
	case <-time.After(stopsWithin):
	}
}

// stopForTerminal stops them because they have the terminal no more.
func stopForTerminal() { _ = syscall.Kill(0, syscall.SIGTTOU) }

// ownsTerminal reports whether the shell has given the terminal to this process.
func ownsTerminal(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// notifyContinued tells when the process goes on after it was stopped.
func notifyContinued() (<-chan os.Signal, func()) {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	return continued, func() { signal.Stop(continued) }
}
