package deliver

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Opening opens what all messages go through: a connection, a session. The zero value works.
type Opener[T any] struct{ group singleflight.Group }

// Open returns what open does. All who need it wait for the same call, which may take longer than a try does: it has a time of
// its own, and ends early only if all of dwatch does.
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

// AsDown makes an error that is about all messages, and not about one, a DownError.
func AsDownError(err error) error {
	if _, isDown := errors.AsType[*DownError](err); err == nil || isDown {
		return err
	}
	return &DownError{Err: err}
}

// Notes passes on what is worth knowing, each line once. The zero value works.
type OnceLogger struct{ noted sync.Map }

// Once gives a line to who takes them; nil: nobody does.
func (n *OnceLogger) Log(to func(line string), line string) {
	if _, again := n.noted.LoadOrStore(line, true); to != nil && !again {
		to(line)
	}
}
