package deliver

import (
	"context"
	"fmt"
	"time"
)

// Receiver is where messages go.
type Receiver interface {
	// Send sends one message, and returns nil when the receiver has it. Any other error than a
	// RefusedError means that it is to be sent again. It ends with its context, by a DeadlineError
	// if it takes too long, and is called from several goroutines.
	Send(ctx context.Context, m *Message) error
}

// TLS says as whom to come to a receiver, and whom to trust. All are files in PEM, which are read
// again for each connection.
type TLS struct {
	Cert, Key string // a certificate of the client; empty: none
	CA        string // the authorities that are trusted in place of the system's; empty: those
}

// RefusedError says that the receiver will never take a message.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// DownError says that the receiver takes no message at all.
type DownError struct {
	Err error
	// RetryAfter is for how long it asks to be left alone; 0 if it does not say.
	RetryAfter time.Duration
}

func (e *DownError) Error() string { return e.Err.Error() }
func (e *DownError) Unwrap() error { return e.Err }

// SetupError says that a receiver takes nothing before somebody has made what it needs there.
type SetupError struct{ Err error }

func (e *SetupError) Error() string { return e.Err.Error() }
func (e *SetupError) Unwrap() error { return e.Err }

// DeadlineError is the cause by which the context of a try ends that takes too long.
type DeadlineError struct{ After time.Duration }

func (e *DeadlineError) Error() string { return fmt.Sprintf("it took longer than %s", e.After) }

// WithDeadline returns the context of a try that may take so long; 0: as long as it likes.
func WithDeadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, &DeadlineError{d})
}
