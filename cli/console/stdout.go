package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
)

// ErrReaderGone is the cause of a context that ends because the reader of stdout closed the pipe. A write would fail only at the
// next event, which may be hours away.
var ErrReaderGone = errors.New("the reader closed the pipe")

// IsReaderGone reports whether err means that the reader of stdout closed the pipe, which is a good end for "dwatch ... | head".
// A broken pipe of another file or connection is not meant.
func IsReaderGone(err error) bool {
	failed, isWrite := errors.AsType[WriteError](err)
	return errors.Is(err, ErrReaderGone) || isWrite && isBrokenPipe(failed)
}

// Stdout is stdout. Its errors are of type WriteError.
type Stdout struct {
	File *os.File
	// Written, if not nil, counts the bytes written. Writes are then split into pages, so that it advances while a reader is slow.
	Written *atomic.Int64
}

// Write implements io.Writer.
func (s Stdout) Write(p []byte) (n int, err error) {
	part := len(p)
	if s.Written != nil {
		part = os.Getpagesize()
	}
	for n < len(p) && err == nil {
		var more int
		more, err = s.File.Write(p[n:min(n+part, len(p))])
		n += more
		if s.Written != nil {
			s.Written.Add(int64(more))
		}
	}
	if err != nil {
		return n, WriteError{err}
	}
	return n, nil
}

// WriteError is an error of stdout.
type WriteError struct{ Err error }

// Unwrap returns the error of the file.
func (e WriteError) Unwrap() error { return e.Err }

// Error leaves out the file name that Go uses for stdout.
func (e WriteError) Error() string {
	err := e.Err
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return fmt.Sprintf("write to stdout: %v", err)
}

// UntilReaderGone returns a context that ends with ErrReaderGone when the reader of out closes the pipe. stop ends the context and
// waits for the goroutine behind it.
func UntilReaderGone(ctx context.Context, out *os.File) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	wait := watchReader(out, func() { cancel(ErrReaderGone) })
	return ctx, func() {
		cancel(nil)
		wait()
	}
}
