//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package cli

import (
	"os"
	"syscall"
)

// statusSignals ask how the run is; Ctrl-T at a terminal is SIGINFO.
var statusSignals = []os.Signal{syscall.SIGUSR1, syscall.SIGINFO}
