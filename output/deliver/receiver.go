package deliver

import (
	"context"
	"time"
)

// Receiver is where messages go.
type Receiver interface {
	// Send sends one message, and returns nil when the receiver has it. Any other
	// error than a RefusedError means that it is to be sent again. It ends with its
	// context, and is called from several goroutines.
	Send(ctx context.Context, m *Message) error
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
