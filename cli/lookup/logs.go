package lookup

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"dwatch/watcher/object/owner"
	"dwatch/watcher/object/reason"
	"dwatch/watcher/object/status"
)

const (
	// LogsTimeout is the timeout that callers of Logs should set. Kubelets answer these requests, and may be slow.
	LogsTimeout = 5 * time.Second
	// maxLog is the maximum number of bytes of a log that are read, and maxLogLine of characters of a line that are shown.
	maxLog     = 256 << 10
	maxLogLine = 500
)

// Log contains the last lines of a container's log.
type Log struct {
	// Source names the pod and container: po/web-x7, container web.
	Source string
	// Previous means that the log is from before the last restart.
	Previous bool
	// Lines are the last lines, masked. They may contain control characters.
	Lines []string
	// Truncated means that even the last line has too many bytes. Lines is then usually empty.
	Truncated bool
}

// UnmaskedError lists Secrets of a pod whose values are unknown, so that they can't be masked in its logs.
type UnmaskedError struct {
	Pod, Namespace string
	// Unreadable Secrets can't be read. Excess ones were not read, because the pod has more than maxSecrets. Deleted ones no
	// longer exist. Changed ones may have changed since the container started.
	Unreadable, Excess, Deleted, Changed []string
	// MissingOptional Secrets do not exist, and may never have existed, because the pod starts without them.
	MissingOptional []string
}

// IsCertain reports whether the pod certainly uses or used Secrets whose values can't be masked.
func (e *UnmaskedError) IsCertain() bool {
	return len(e.Unreadable)+len(e.Excess)+len(e.Deleted)+len(e.Changed) > 0
}

func (e *UnmaskedError) Error() string {
	var all []string
	for _, part := range []struct {
		secrets []string
		why     string
	}{
		{e.Unreadable, "they can't be read (get secrets in namespace " + e.Namespace + ")"},
		{e.Excess, fmt.Sprintf("dwatch reads at most %d Secrets of a pod", maxSecrets)},
		{e.Deleted, "there is no such Secret any more in namespace " + e.Namespace},
		{e.Changed, "it may have been changed after the container was started"},
	} {
		if len(part.secrets) > 0 {
			all = append(all, fmt.Sprintf("the values of Secret %s, which po/%s uses, are not masked in it: %s", strings.Join(part.secrets, ", "), e.Pod, part.why))
		}
	}
	if len(e.MissingOptional) > 0 {
		all = append(all, fmt.Sprintf("there is no Secret %s, without which po/%s starts: if there was one, its values are not masked", strings.Join(e.MissingOptional, ", "), e.Pod))
	}
	return strings.Join(all, "; ")
}

// FindFailingPod returns the object itself if it is a failing pod, or the failing pod of a workload as in
// [CauseFinder.FindCause]. It returns nil if there is none or if pods can't be listed.
func (c *CauseFinder) FindFailingPod(ctx context.Context, u *unstructured.Unstructured) *unstructured.Unstructured {
	kind := u.GroupVersionKind()
	switch {
	case !status.Of(u).IsNotReady():
		return nil
	case kind.Group == "" && kind.Kind == "Pod":
		return u
	case !owner.MayOwnPods(kind.GroupKind()) || u.GetNamespace() == "":
		return nil
	}
	return c.search(owner.Ref{GroupVersionKind: kind, Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID()}).pod(ctx, u)
}

// Logs returns the last lines of the failing container of a pod: from its current run, and from the run before the last
// restart. It leaves out the earlier run if the current one has ended, and the current run if it has not begun. It returns
// none if the container has not run. Values of the pod's Secrets, present and cached ones, are masked. If values are unknown,
// the error is an *UnmaskedError. If it is certain, Logs returns logs only if unmasked is true.
func (c *CauseFinder) Logs(ctx context.Context, u *unstructured.Unstructured, lines int, unmasked bool) ([]Log, error) {
	runs := runsOf(u)
	if len(runs) == 0 {
		return nil, nil
	}
	values, lack := c.secretsOf(ctx, u, runs)
	if lack != nil && lack.IsCertain() && !unmasked {
		return nil, lack
	}
	var logs []Log
	for _, r := range runs {
		text, isCut, err := c.log(ctx, u, r.container, lines, r.previous)
		switch {
		case err != nil && lack != nil && len(logs) > 0:
			return logs, lack // more important than err
		case err != nil:
			return logs, err
		}
		logs = append(logs, Log{"po/" + u.GetName() + ", container " + r.container, r.previous, lastLines(values.mask(colour.ReplaceAllString(text, "")), lines), isCut})
	}
	if lack != nil {
		return logs, lack
	}
	return logs, nil
}

// run is one run of a container.
type run struct {
	pod       types.UID
	container string
	previous  bool
	began     time.Time
}

// runsOf returns the runs of a pod's failing container whose logs may show the problem.
func runsOf(u *unstructured.Unstructured) (runs []run) {
	c := reason.Container(u)
	if c == nil {
		return nil
	}
	add := func(previous bool, began time.Time) {
		if began.IsZero() { // unknown, but not earlier than the pod
			began = u.GetCreationTimestamp().Time
		}
		runs = append(runs, run{u.GetUID(), c.Name, previous, began.UTC()})
	}
	switch {
	case c.Terminated != nil:
		add(false, c.Terminated.StartedAt)
	case c.Running && c.LastTerminated != nil:
		add(true, c.LastTerminated.StartedAt)
		add(false, c.StartedAt)
	case c.Running:
		add(false, c.StartedAt)
	case c.LastTerminated != nil:
		add(true, c.LastTerminated.StartedAt)
	}
	return runs
}

// log returns the last lines of a run. While they have more than maxLog bytes, it requests half as many. isCut means that
// even the last line has too many bytes.
func (c *CauseFinder) log(ctx context.Context, u *unstructured.Unstructured, container string, lines int, previous bool) (text string, isCut bool, err error) {
	for ; ; lines /= 2 {
		text, isCut, err = c.tail(ctx, u, container, lines, previous)
		if !isCut || err != nil || lines <= 1 {
			return text, isCut, err
		}
	}
}

// tail requests the last lines of a run. isCut means that the lines have too many bytes, and that text contains only the
// first lines that fit.
func (c *CauseFinder) tail(ctx context.Context, u *unstructured.Unstructured, container string, lines int, previous bool) (text string, isCut bool, err error) {
	client, err := rest.UnversionedRESTClientForConfigAndClient(dynamic.ConfigFor(c.cluster.QuietConfig()), c.cluster.HTTP)
	if err != nil {
		return "", false, err
	}
	answer, err := client.Get().AbsPath("api", "v1", "namespaces", u.GetNamespace(), "pods", u.GetName(), "log").
		Param("container", container).
		Param("previous", strconv.FormatBool(previous)).
		Param("tailLines", strconv.Itoa(lines)).
		Param("limitBytes", strconv.Itoa(maxLog)).
		Stream(ctx)
	if err != nil {
		return "", false, fmt.Errorf("get pods/log: %w", err)
	}
	defer answer.Close()
	read, err := io.ReadAll(io.LimitReader(answer, maxLog)) // in case the kubelet ignores limitBytes
	if err != nil {
		return "", false, fmt.Errorf("get pods/log: %w", err)
	}
	if len(read) == maxLog {
		return string(read[:bytes.LastIndexByte(read, '\n')+1]), true, nil
	}
	return string(read), false, nil
}

// colour matches escape sequences that set terminal colours.
var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// lastLines returns at most that many lines at the end of a text, and shortens long ones.
func lastLines(text string, most int) (lines []string) {
	text = strings.TrimRight(text, "\r\n\t ")
	if text == "" {
		return nil
	}
	lines = strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-most):]
	for i, line := range lines {
		line = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), "\r ")
		if long := []rune(line); len(long) > maxLogLine {
			line = string(long[:maxLogLine]) + "…"
		}
		lines[i] = line
	}
	return lines
}

// IsForbidden reports whether an error means that the user lacks a permission.
func IsForbidden(err error) bool { return apierrors.IsForbidden(err) }
