package destination

import (
	"os/exec"
	"syscall"
)

// detach keeps a command from the Ctrl-C that ends dwatch.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
