package cli

import "context"

const isWindows = true

// notifyHangup does nothing: there is no such signal.
func notifyHangup(context.CancelCauseFunc) (stop func()) { return func() {} }
