package cli

import (
	"fmt"
	"os"
	"runtime"

	"dwatch/cli/report"
	"dwatch/output"
)

// warnReadable says of a file that has contents of objects, and that dwatch did not make,
// that others may read it. Its mode is left as it is: it may be so on purpose.
func (j *job) warnReadable(flag, path string) {
	const readByOthers = 0o044
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&readByOthers == 0 || runtime.GOOS == "windows" {
		return
	}
	report.Line(j.reports, fmt.Sprintf("warning: other users can read %s %s, which has contents of objects: chmod 600 keeps them out", flag, output.Line(path)))
}
