package deliver

import (
	"os/exec"
	"strconv"
)

// inGroup makes the cancellation of a program's context kill the program and its child processes.
func inGroup(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		kill := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid))
		if kill.Run() == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
}
