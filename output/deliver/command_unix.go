//go:build unix

package deliver

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// inGroup starts a program in a process group of its own, all of which is killed when its context
// ends. So Ctrl-C at a terminal is not its end: what is under way is finished.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
