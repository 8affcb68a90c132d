package mapper

import (
	"context"

	"k8s.io/klog/v2"
)

// quiet returns a context in which client-go's discovery logs no errors: all of
// them reach the caller as errors, and would be said twice. With -v=2 they are
// there, and the rest of the log is untouched.
func quiet(ctx context.Context) context.Context {
	logger := klog.FromContext(ctx)
	if logger.GetSink() == nil {
		return ctx // it logs nothing at all
	}
	return klog.NewContext(ctx, logger.WithSink(demoted{logger.GetSink()}))
}

// demoted is a log whose errors are information of level 2.
type demoted struct{ klog.LogSink }

func (d demoted) Error(err error, msg string, keysAndValues ...any) {
	if d.Enabled(2) {
		d.Info(2, msg, append(keysAndValues, "err", err)...)
	}
}

func (d demoted) WithName(name string) klog.LogSink { return demoted{d.LogSink.WithName(name)} }

func (d demoted) WithValues(keysAndValues ...any) klog.LogSink {
	return demoted{d.LogSink.WithValues(keysAndValues...)}
}
