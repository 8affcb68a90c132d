//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

const isWindows = false

// errHangup ends a run whose terminal is closed.
var errHangup = errors.New("the terminal is closed")

// notifyHangup ends a run in good order when its terminal is closed. stop ends that.
func notifyHangup(cancel context.CancelCauseFunc) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		defer close(done)
		if _, ok := <-signals; ok {
			cancel(errHangup)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-done
	}
}
