package deliver

import (
	"os/exec"
	"strconv"
)

// inGroup has a program killed with what it has started when its context ends.
func inGroup(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		kill := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid))
		if kill.Run() == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
}
