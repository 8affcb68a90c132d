//go:build unix && !(darwin || dragonfly || freebsd || netbsd || openbsd)

package console

import (
	"os"
	"syscall"
)

// statusSignals ask for the status of the run.
var statusSignals = []os.Signal{syscall.SIGUSR1}
