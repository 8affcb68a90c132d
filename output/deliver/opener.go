package deliver

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Opener opens a connection or session that all messages share. The zero value is ready for use.
type Opener[T any] struct{ group singleflight.Group }

// Open returns the result of open. Concurrent callers share one call of open. takes is the timeout of that call, which may be longer
// than an attempt: the deadline of try does not cancel the call, but cancellation of try for another reason does.
func (o *Opener[T]) Open(try context.Context, takes time.Duration, open func(ctx context.Context) (T, error)) (opened T, err error) {
	all := o.group.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(try), takes)
		defer cancel()
		defer context.AfterFunc(try, func() {
			if _, late := errors.AsType[*DeadlineError](context.Cause(try)); !late {
				cancel()
			}
		})()
		return open(ctx)
	})
	select {
	case one := <-all:
		opened, _ = one.Val.(T)
		return opened, one.Err
	case <-try.Done():
		return opened, context.Cause(try)
	}
}

// AsDownError wraps an error that affects all messages in a DownError.
func AsDownError(err error) error {
	if _, isDown := errors.AsType[*DownError](err); err == nil || isDown {
		return err
	}
	return &DownError{Err: err}
}

// OnceLogger logs each line only once. The zero value is ready for use.
type OnceLogger struct{ noted sync.Map }

// Log calls to with a line, unless that was logged before or to is nil.
func (n *OnceLogger) Log(to func(line string), line string) {
	if _, again := n.noted.LoadOrStore(line, true); to != nil && !again {
		to(line)
	}
}
