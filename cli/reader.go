package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
)

// errReaderGone ends dwatch when nobody reads its output any more. A write
// would only find out at the next event, which may be hours away.
var errReaderGone = errors.New("the reader closed the pipe")

// isReaderGone: for "dwatch ... | head" this is a good end. A broken pipe of
// another file than the output, such as a connection to the server, is not.
func isReaderGone(err error) bool {
	failed, isWrite := errors.AsType[writeError](err)
	return errors.Is(err, errReaderGone) || isWrite && isBrokenPipe(failed)
}

// stdout is an output whose errors can be distinguished from all others.
type stdout struct {
	file    *os.File
	written *atomic.Int64 // in parts as small as a reader makes room for; nil: nobody asks
}

func (s stdout) Write(p []byte) (n int, err error) {
	part := len(p)
	if s.written != nil {
		part = os.Getpagesize()
	}
	for n < len(p) && err == nil {
		var more int
		more, err = s.file.Write(p[n:min(n+part, len(p))])
		n += more
		if s.written != nil {
			s.written.Add(int64(more))
		}
	}
	if err != nil {
		return n, writeError{err}
	}
	return n, nil
}

// writeError is an error of the output.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// Error leaves out the name that Go gives to the file: it has another one.
func (e writeError) Error() string {
	if path, ok := errors.AsType[*fs.PathError](e.error); ok {
		e.error = path.Err
	}
	return fmt.Sprintf("write to stdout: %v", e.error)
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
