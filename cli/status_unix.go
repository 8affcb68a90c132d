//go:build unix && !(darwin || dragonfly || freebsd || netbsd || openbsd)

package cli

import (
	"os"
	"syscall"
)

// statusSignals ask how the run is.
var statusSignals = []os.Signal{syscall.SIGUSR1}
