package run

import (
	"context"
	"errors"
	"testing"
)

// TestLogsContext: logs are read after --timeout has passed, until Ctrl-C.
func TestLogsContext(t *testing.T) {
	signal, interrupt := context.WithCancel(t.Context())
	late, end := context.WithTimeoutCause(WithSignals(signal), 0, ErrTimeout)
	defer end()
	<-late.Done()
	logging, stop := logsContext(late)
	defer stop()
	if logging.Err() != nil {
		t.Error("the context has ended already")
	}
	interrupt()
	if <-logging.Done(); !errors.Is(logging.Err(), context.Canceled) {
		t.Error(logging.Err())
	}
}
