package main

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// errReaderGone ends dwatch when nobody reads its output any more. A write
// would only find out at the next event, which may be hours away.
var errReaderGone = errors.New("the reader closed the pipe")

// isReaderGone: for "dwatch ... | head" this is a good end.
func isReaderGone(err error) bool {
	return errors.Is(err, errReaderGone) || errors.Is(err, syscall.EPIPE)
}

// untilReaderGone returns a context that ends when the reader of out closes it.
// stop ends the watching of out, and returns when that has ended.
func untilReaderGone(ctx context.Context, out *os.File) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	wait := watchReader(out, func() { cancel(errReaderGone) })
	return ctx, func() {
		cancel(nil)
		wait()
	}
}
