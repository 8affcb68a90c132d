package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/cli/fail"
	"dwatch/cli/lookup"
	"dwatch/output"
	"dwatch/watcher/until"
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
	return context.WithTimeout(signal, lookup.LogsTimeout)
}

// answer is what became of the question for the logs of a pod.
type answer struct {
	cluster string
	pod     *unstructured.Unstructured
	logs    []lookup.Log
	err     error
}

// sayAllLogs says what the failed containers wrote last, of pods or of those that keep objects from being ready,
// each once, until ctx ends. None waits for the kubelet of another.
func (w *wait) sayAllLogs(ctx context.Context, of []until.PendingItem, pods []*unstructured.Unstructured) {
	if w.ending.Logs.Lines == 0 || w.isQuiet() || w.isPast() {
		return
	}
	var answers []*answer
	var asking sync.WaitGroup
	seen := map[types.UID]bool{}
	for i, p := range of {
		pod := w.failing(ctx, p, pods[i])
		if pod == nil || seen[pod.GetUID()] {
			continue
		}
		seen[pod.GetUID()] = true
		a, causes := &answer{cluster: p.Target.Cluster, pod: pod}, w.causesAt(p.Target.Cluster)
		answers = append(answers, a)
		asking.Go(func() { a.logs, a.err = causes.Logs(ctx, pod, w.ending.Logs.Lines, w.ending.Logs.Explicit) })
	}
	asking.Wait()
	for _, a := range answers {
		w.sayLogs(ctx, a)
	}
}

// failing is the pod that keeps an object from being ready; nil if there is none.
func (w *wait) failing(ctx context.Context, p until.PendingItem, pod *unstructured.Unstructured) *unstructured.Unstructured {
	if pod != nil || p.Object.IsZero() {
		return pod
	}
	u, err := p.Object.Decode()
	if err != nil {
		return nil
	}
	return w.causesAt(p.Target.Cluster).FindFailingPod(ctx, u)
}

func (w *wait) sayLogs(ctx context.Context, a *answer) {
	for _, log := range a.logs {
		log.Source = within(a.cluster, log.Source)
		w.sayLog(log)
	}
	_, isUnmasked := errors.AsType[*lookup.UnmaskedError](a.err)
	if isUnmasked || a.err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		w.say(w.withoutLogs(a.pod, len(a.logs) > 0, a.err))
	}
}

func (w *wait) sayLog(log lookup.Log) {
	of := log.Source
	if log.Previous {
		of += ", before its restart"
	}
	if len(log.Lines) == 0 && !log.Truncated {
		w.say(of + ": it wrote nothing")
		return
	}
	if log.Truncated {
		of = "lines of " + of
	} else {
		of = "the last lines of " + of
	}
	w.say(of + ":")
	for _, line := range log.Lines {
		w.say("  | " + line)
	}
	if log.Truncated {
		w.say("  | … cut off: these are too many bytes")
	}
}

// withoutLogs says why there are no logs, or why they are not masked.
func (w *wait) withoutLogs(pod *unstructured.Unstructured, areThere bool, err error) string {
	unmasked, isUnmasked := errors.AsType[*lookup.UnmaskedError](err)
	subject := "the logs of po/" + output.EscapeLine(pod.GetName())
	switch {
	case isUnmasked && areThere && !unmasked.IsCertain():
		return err.Error()
	case isUnmasked && areThere:
		return "warning: " + err.Error()
	case isUnmasked:
		return fmt.Sprintf("%s are not shown, as %v; --logs %d shows them all the same", subject, err, w.ending.Logs.Lines)
	case lookup.IsForbidden(err):
		return fmt.Sprintf("%s are not shown: this user may not get pods/log in namespace %s; dwatch rbac with --logs %d prints a role with that", subject, pod.GetNamespace(), w.ending.Logs.Lines)
	}
	return subject + " are not shown: " + fail.ExplainDisconnect(err)
}
