//go:build unix

package destination

import (
	"os/exec"
	"syscall"
)

// detach keeps a command from the Ctrl-C that ends dwatch: a browser that was not running
// before stays.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
