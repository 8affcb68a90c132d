package cli

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/cli/ask"
	"dwatch/cli/fail"
	"dwatch/output"
	"dwatch/watcher/event"
)

// signalKey is that of the context that ends with a signal, and with nothing else.
type signalKey struct{}

// forLogs returns a context to ask for logs in, after the run has ended. Ctrl-C ends it, even after
// --timeout has passed.
func forLogs(ctx context.Context) (context.Context, context.CancelFunc) {
	signal, ok := ctx.Value(signalKey{}).(context.Context)
	if !ok {
		signal = context.WithoutCancel(ctx)
	}
	return context.WithTimeout(signal, ask.LogsTimeout)
}

// sayLogs says what the failed container wrote last, of pod or of the one that keeps an object from being
// ready, if there is one, until ctx ends. said: there is nothing more to say.
func (w *wait) sayLogs(ctx context.Context, cluster string, o event.Object, pod *unstructured.Unstructured) (said bool) {
	l := w.ending.Logs
	if l.Lines == 0 || w.isQuiet() || o.IsZero() {
		return false
	}
	if u, err := o.Open(); pod == nil && err == nil {
		pod = w.causesAt(cluster).Failing(ctx, u)
	}
	if pod == nil {
		return ctx.Err() != nil
	}
	logs, err := w.causesAt(cluster).Logs(ctx, pod, l.Lines, l.Asked)
	for _, log := range logs {
		log.Of = within(cluster, log.Of)
		w.sayLog(log)
	}
	_, isUnmasked := errors.AsType[*ask.UnmaskedError](err)
	if isUnmasked || err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		w.say(w.withoutLogs(pod, len(logs) > 0, err))
	}
	return len(logs) > 0 || err != nil
}

func (w *wait) sayLog(log ask.Log) {
	of := log.Of
	if log.Previous {
		of += ", before its restart"
	}
	if len(log.Lines) == 0 && !log.Cut {
		w.say(of + ": it wrote nothing")
		return
	}
	if log.Cut {
		of = "lines of " + of
	} else {
		of = "the last lines of " + of
	}
	w.say(of + ":")
	for _, line := range log.Lines {
		w.say("  | " + line)
	}
	if log.Cut {
		w.say("  | … cut off: these are too many bytes")
	}
}

// withoutLogs says why there are no logs, or why they are not masked.
func (w *wait) withoutLogs(pod *unstructured.Unstructured, areThere bool, err error) string {
	_, isUnmasked := errors.AsType[*ask.UnmaskedError](err)
	subject := "the logs of po/" + output.Line(pod.GetName())
	switch {
	case isUnmasked && areThere:
		return "warning: " + err.Error()
	case isUnmasked:
		return fmt.Sprintf("%s are not shown, as %v; --logs %d shows them all the same", subject, err, w.ending.Logs.Lines)
	case ask.IsForbidden(err):
		return fmt.Sprintf("%s are not shown: this user may not get pods/log in namespace %s; dwatch rbac with --logs %d prints a role with that", subject, pod.GetNamespace(), w.ending.Logs.Lines)
	}
	return subject + " are not shown: " + fail.Loss(err)
}
