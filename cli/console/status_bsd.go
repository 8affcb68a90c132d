//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package console

import (
	"os"
	"syscall"
)

// statusSignals ask for the status of the run. Ctrl-T at a terminal sends SIGINFO.
var statusSignals = []os.Signal{syscall.SIGUSR1, syscall.SIGINFO}
