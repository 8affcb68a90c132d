package console

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// watchReader does nothing on Windows: the next write fails instead.
func watchReader(*os.File, func()) (stop func()) { return func() {} }

// isBrokenPipe reports whether err comes from a write to a pipe that its reader has closed or is closing.
func isBrokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
