package cli

import (
	"context"
	"errors"
	"testing"
)

// TestForLogs: what is asked after --timeout has a time of its own, which Ctrl-C ends.
func TestForLogs(t *testing.T) {
	signal, interrupt := context.WithCancel(t.Context())
	late, end := context.WithTimeoutCause(context.WithValue(signal, signalKey{}, signal), 0, errTimeout)
	defer end()
	<-late.Done()
	logging, stop := forLogs(late)
	defer stop()
	if logging.Err() != nil {
		t.Error("it has ended before")
	}
	interrupt()
	if <-logging.Done(); !errors.Is(logging.Err(), context.Canceled) {
		t.Error(logging.Err())
	}
}
