package deliver

import (
	"context"
	"fmt"
	"time"
)

// Receiver sends messages to a destination.
type Receiver interface {
	// Send makes one attempt to send a message. It returns nil once the destination has accepted the message, and a RefusedError
	// if that will never happen. After any other error the Queue calls it again, unless it gives up the message. Send must return
	// when ctx is done; the cause is a DeadlineError if the attempt took too long. It is called from several goroutines.
	Send(ctx context.Context, m *Message) error
}

// TLS has the paths of PEM files, which are read again for each connection.
type TLS struct {
	Cert, Key string // the client certificate; empty for none
	CA        string // the trusted authorities; if empty, the system's authorities are trusted
}

// RefusedError reports that the destination will never accept a message.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// DownError reports that the destination accepts no messages at present.
type DownError struct {
	Err error
	// RetryAfter is the delay that the destination asks for, or 0.
	RetryAfter time.Duration
}

func (e *DownError) Error() string { return e.Err.Error() }
func (e *DownError) Unwrap() error { return e.Err }

// SetupError reports that the destination lacks something that the user must create, such as a stream or topic.
type SetupError struct{ Err error }

func (e *SetupError) Error() string { return e.Err.Error() }
func (e *SetupError) Unwrap() error { return e.Err }

// DeadlineError is the cause of the context of an attempt that took too long.
type DeadlineError struct{ After time.Duration }

func (e *DeadlineError) Error() string { return fmt.Sprintf("it took longer than %s", e.After) }

// WithDeadline returns the context of an attempt, which is done after d with a DeadlineError. 0 means no deadline.
func WithDeadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, &DeadlineError{d})
}
