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
	// LogsTimeout bounds all questions for logs: kubelets answer them, which may be slow.
	LogsTimeout = 5 * time.Second
	// maxLog is how many bytes of a log are read, and maxLogLine how many characters of a line shown.
	maxLog     = 256 << 10
	maxLogLine = 500
)

// Log is the end of what a container wrote.
type Log struct {
	// Of names it: po/web-x7, container web.
	Source string
	// Previous: it is of the run before the last restart.
	Previous bool
	// Lines are the last ones, masked. They may have control characters in them.
	Lines []string
	// Cut: Lines are other ones, since the last one alone has too many bytes.
	Truncated bool
}

// UnmaskedError says of which Secrets of a pod the values are not known, so that they could not be masked.
type UnmaskedError struct {
	Pod, Namespace string
	// Unread can't be read, Gone do not exist any more, and Changed were since the container was started.
	Unreadable, Deleted, Changed []string
	// Absent do not exist, and may never have: the pod starts without.
	MissingOptional []string
}

// IsSure reports whether there are such values for sure.
func (e *UnmaskedError) IsCertain() bool { return len(e.Unreadable)+len(e.Deleted)+len(e.Changed) > 0 }

func (e *UnmaskedError) Error() string {
	var all []string
	for _, part := range []struct {
		secrets []string
		why     string
	}{
		{e.Unreadable, "they can't be read (get secrets in namespace " + e.Namespace + ")"},
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

// Failing returns a pod that is wrong: the object itself, or the first of those that belong to it, as
// [Causes.Cause] has it; nil if there is none, or it may not be known.
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

// Logs returns the last lines of the container of a pod that does not work: of its run before the last
// restart, if it is that which failed, and of the present one. There are none if no container has run.
// What the Secrets that the pod uses hold, or held when they were learned, is masked; of those of which it is not
// known what they held an UnmaskedError says so, and where it is sure the logs are there only if unmasked is true.
// It may be called by several goroutines.
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
			return logs, lack // which matters more
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

// run is one of a container.
type run struct {
	pod       types.UID
	container string
	previous  bool
	began     time.Time
}

// runsOf are those of the container of a pod that does not work of which there are logs that tell why.
func runsOf(u *unstructured.Unstructured) (runs []run) {
	c := reason.Container(u)
	if c == nil {
		return nil
	}
	add := func(previous bool, began time.Time) {
		if began.IsZero() { // it was not before that
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

// log returns the last lines of one run of a container: fewer if so many have too many bytes. isCut: even
// the last one has, and the text is what the server sent first.
func (c *CauseFinder) log(ctx context.Context, u *unstructured.Unstructured, container string, lines int, previous bool) (text string, isCut bool, err error) {
	for ; ; lines /= 2 {
		text, isCut, err = c.tail(ctx, u, container, lines, previous)
		if !isCut || err != nil || lines <= 1 {
			return text, isCut, err
		}
	}
}

// tail asks for the last lines of one run of a container. isCut: there were too many bytes, and the text is
// the beginning of these lines, without a last one that is cut off.
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
	read, err := io.ReadAll(io.LimitReader(answer, maxLog)) // whatever the kubelet makes of the limit
	if err != nil {
		return "", false, fmt.Errorf("get pods/log: %w", err)
	}
	if len(read) == maxLog {
		return string(read[:bytes.LastIndexByte(read, '\n')+1]), true, nil
	}
	return string(read), false, nil
}

// colour is what turns the colour of a terminal.
var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// lastLines are at most so many lines, without what is too long of each.
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

// IsForbidden reports whether an error is that of a right that is missing.
func IsForbidden(err error) bool { return apierrors.IsForbidden(err) }
