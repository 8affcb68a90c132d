package report

import (
	"context"
	"errors"
	"strings"

	"dwatch/cli/fail"
	"dwatch/watcher/event"
)

// Reports on rights take questions to the server: they are queued.

// deny reports that a target is denied.
func (r *Reporter) deny(ctx context.Context, e event.Event) {
	t := e.Target
	r.queue.add(ctx, func(ctx context.Context) {
		err := e.Err
		if of, ok := errors.AsType[*event.TargetError](err); ok {
			err = of.Err // t is named already
		}
		if r.Rights != nil {
			err = r.Rights.Detail(ctx, &event.TargetError{Target: t, Err: err})
		}
		r.miss(e.Time, "%s: denied, trying again until it is allowed: %s", describe(t), strings.Join(fail.Explain(err), "; "))
	})
}

// checkList reports that a target which can be watched can't be listed. It is asked when all
// that exists has been delivered, so no event waits for the answer.
func (r *Reporter) checkList(ctx context.Context, t event.Target) {
	if r.Rights == nil {
		return
	}
	r.queue.add(ctx, func(ctx context.Context) {
		if refusal, lacks := r.Rights.LacksList(ctx, t); lacks {
			r.say("%s: %s; it works without, as this server streams what exists, but not with every server", describe(t), refusal)
		}
	})
}
