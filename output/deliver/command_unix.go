//go:build unix

package deliver

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// inGroup makes a program start in its own process group, which is killed as a whole when the context of the program is done. Ctrl-C
// at a terminal does not reach the group, so running programs can finish.
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
