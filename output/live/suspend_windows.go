package live

import "os"

// There is no signal that stops a process.

func stopSelf() {}

func stopForTerminal() {}

func ownsTerminal(*os.File) bool { return true }

func notifyContinued() (<-chan os.Signal, func()) { return nil, func() {} }
