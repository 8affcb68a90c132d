package run

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

type signalKey struct{}

// WithSignals returns a context that also carries itself: reading logs continues after --timeout has ended a derived context.
func WithSignals(ctx context.Context) context.Context {
	return context.WithValue(ctx, signalKey{}, ctx)
}

// logsContext returns a context for reading logs after the run has ended, perhaps by --timeout. Ctrl-C ends it.
func logsContext(ctx context.Context) (context.Context, context.CancelFunc) {
	signal, ok := ctx.Value(signalKey{}).(context.Context)
	if !ok {
		signal = context.WithoutCancel(ctx)
	}
	return context.WithTimeout(signal, lookup.LogsTimeout)
}

// podLogs are the logs of the failed containers of a pod, or why there are none.
type podLogs struct {
	cluster string
	pod     *unstructured.Unstructured
	logs    []lookup.Log
	err     error
}

// reportLogs prints the last lines of failed containers, of the given pods or of the pods that keep the objects from being ready. It reads
// the logs of all pods at once.
func (w *conditionStage) reportLogs(ctx context.Context, of []until.PendingItem, pods []*unstructured.Unstructured) {
	if w.run.cfg.Ending.Logs.Lines == 0 || w.run.console.IsQuiet() || w.run.scope.IsRecorded() {
		return
	}
	var answers []*podLogs
	var asking sync.WaitGroup
	seen := map[types.UID]bool{}
	for i, p := range of {
		pod := w.failing(ctx, p, pods[i])
		if pod == nil || seen[pod.GetUID()] {
			continue
		}
		seen[pod.GetUID()] = true
		a, causes := &podLogs{cluster: p.Target.Cluster, pod: pod}, w.causeFinder(p.Target.Cluster)
		answers = append(answers, a)
		asking.Go(func() {
			a.logs, a.err = causes.Logs(ctx, pod, w.run.cfg.Ending.Logs.Lines, w.run.cfg.Ending.Logs.Explicit)
		})
	}
	asking.Wait()
	for _, a := range answers {
		w.printLogs(ctx, a)
	}
}

// failing returns the pod that keeps an object from being ready, or nil.
func (w *conditionStage) failing(ctx context.Context, p until.PendingItem, pod *unstructured.Unstructured) *unstructured.Unstructured {
	if pod != nil || p.Object.IsZero() {
		return pod
	}
	u, err := p.Object.Decode()
	if err != nil {
		return nil
	}
	return w.causeFinder(p.Target.Cluster).FindFailingPod(ctx, u)
}

func (w *conditionStage) printLogs(ctx context.Context, a *podLogs) {
	for _, log := range a.logs {
		log.Source = withCluster(a.cluster, log.Source)
		w.printLog(log)
	}
	_, isUnmasked := errors.AsType[*lookup.UnmaskedError](a.err)
	if isUnmasked || a.err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		w.say(w.withoutLogs(a.pod, len(a.logs) > 0, a.err))
	}
}

func (w *conditionStage) printLog(log lookup.Log) {
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

// withoutLogs says why there are no logs, or that they may contain unmasked Secrets.
func (w *conditionStage) withoutLogs(pod *unstructured.Unstructured, areThere bool, err error) string {
	unmasked, isUnmasked := errors.AsType[*lookup.UnmaskedError](err)
	subject := "the logs of po/" + output.EscapeLine(pod.GetName())
	switch {
	case isUnmasked && areThere && !unmasked.IsCertain():
		return err.Error()
	case isUnmasked && areThere:
		return "warning: " + err.Error()
	case isUnmasked:
		return fmt.Sprintf("%s are not shown, as %v; --logs %d shows them all the same", subject, err, w.run.cfg.Ending.Logs.Lines)
	case lookup.IsForbidden(err):
		return fmt.Sprintf("%s are not shown: this user may not get pods/log in namespace %s; dwatch rbac with --logs %d prints a role with that", subject, pod.GetNamespace(), w.run.cfg.Ending.Logs.Lines)
	}
	return subject + " are not shown: " + fail.ExplainDisconnect(err)
}
