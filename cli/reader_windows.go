package cli

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// watchReader does nothing here: a closed pipe is found out by the next write.
func watchReader(*os.File, func()) (stop func()) { return func() {} }

// isBrokenPipe: a write to a pipe whose reader has gone, or is going.
func isBrokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
