package cli

import (
	"fmt"
	"os"
	"runtime"

	"dwatch/output"
)

// warnReadable says of a file that has contents of objects, and that dwatch did not make,
// that others may read it. Its mode is left as it is: it may be so on purpose.
func (c *console) warnReadable(flag, path string) {
	const readByOthers = 0o044
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&readByOthers == 0 || runtime.GOOS == "windows" {
		return
	}
	c.say(fmt.Sprintf("warning: other users can read %s %s, which has contents of objects: chmod 600 keeps them out", flag, output.Line(path)))
}
