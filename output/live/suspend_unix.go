//go:build unix

package live

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopTimeout is how long a process may still run after it has sent itself SIGTSTP.
const stopTimeout = 300 * time.Millisecond

// stopSelf stops the process group until the shell continues it. Without a shell with job control (a command of ssh -t,
// the first process of a container) the system ignores the signal, and stopSelf returns after stopTimeout.
func stopSelf() {
	continued, end := notifyContinued()
	defer end()
	if syscall.Kill(0, syscall.SIGTSTP) != nil {
		return
	}
	select {
	case <-continued:
	case <-time.After(stopTimeout):
	}
}

// stopForTerminal stops the process group because it is in the background.
func stopForTerminal() { _ = syscall.Kill(0, syscall.SIGTTOU) }

// ownsTerminal reports whether the process is in the foreground.
func ownsTerminal(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// notifyContinued returns a channel that receives SIGCONT, and a function that ends this.
func notifyContinued() (<-chan os.Signal, func()) {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	return continued, func() { signal.Stop(continued) }
}
