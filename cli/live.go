package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/output/live"
	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

// newScreen returns the live table of what is planned.
func (j *job) newScreen(ctx context.Context, targets []event.Target) *live.Screen {
	t := j.print.Table
	return live.New(live.Options{
		Title:         titleOf(targets),
		Targets:       targets,
		Namespaces:    j.allNamespaces || len(j.namespaces) > 1,
		Wide:          j.print.Format == "wide",
		Labels:        t.Labels,
		ShowLabels:    t.ShowLabels,
		Color:         j.print.Color,
		ManagedFields: j.managedFields,
		Timestamps:    j.view.timestamps,
		Full:          j.view.full,
		Compare:       j.print.Compare,
		ShortName:     j.shortNames(ctx),
		Where:         j.passes(),
		Condition:     j.conditionOf,
		Events:        j.eventsAbout,
	})
}

// maxTitled is how many resources a title names.
const maxTitled = 4

// titleOf says in few words what is watched, and where.
func titleOf(targets []event.Target) string {
	var names, places []string
	add := func(list *[]string, text string) {
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, t := range targets {
		name := t.Resource().Resource
		if t.Name != "" {
			name += "/" + t.Name
		}
		add(&names, name)
		switch {
		case t.Namespace != "":
			add(&places, t.Namespace)
		case t.Namespaced():
			add(&places, "all namespaces")
		}
	}
	if more := len(names) - maxTitled; more > 0 {
		names = append(names[:maxTitled], fmt.Sprintf("%d more", more))
	}
	if len(places) > maxTitled {
		places = []string{fmt.Sprintf("%d namespaces", len(places))}
	}
	title := strings.Join(names, ", ")
	if len(places) > 0 {
		title += " in " + strings.Join(places, ", ")
	}
	return title
}

// conditionOf reads an expression for objects as they are.
func (j *job) conditionOf(text string) (func(event.Object) bool, error) {
	x, err := expression.Compile(text)
	if err != nil {
		return nil, err
	}
	options := j.input()
	return func(o event.Object) bool {
		holds, err := x.Holds(expression.NewInput(event.Event{Type: event.Added, Object: o}, options))
		return holds && err == nil
	}, nil
}

// maxHappenings is how many Events about an object are asked for.
const maxHappenings = 500

// eventsAbout asks the server for the Events about an object, the newest first.
func (j *job) eventsAbout(ctx context.Context, o event.Object) ([]live.Happening, error) {
	h, err := j.newHelper()
	if err != nil {
		return nil, err
	}
	namespace := cmp.Or(o.Namespace, metav1.NamespaceDefault)
	about := fields.Set{"involvedObject.kind": o.Kind, "involvedObject.name": o.Name}
	list, err := h.content.Resource(events).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: about.String(), Limit: maxHappenings})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("this user may not list events in namespace %s", namespace)
	case err != nil:
		return nil, fmt.Errorf("ask for events in namespace %s: %w", namespace, err)
	}
	var found []live.Happening
	for _, item := range list.Items {
		var e corev1.Event
		if runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &e) != nil || !isAbout(&e, o) {
			continue
		}
		found = append(found, happeningOf(&e))
	}
	slices.SortStableFunc(found, func(a, b live.Happening) int { return b.Last.Compare(a.Last) })
	return found, nil
}

// isAbout leaves out what is about an earlier object of the same name. Of a node Events
// have the name in the place of the UID.
func isAbout(e *corev1.Event, o event.Object) bool {
	uid := e.InvolvedObject.UID
	return uid == "" || uid == o.UID || uid == types.UID(o.Name)
}

func happeningOf(e *corev1.Event) live.Happening {
	count := int(e.Count)
	if e.Series != nil {
		count = max(count, int(e.Series.Count))
	}
	return live.Happening{
		Last: lastSeen(e), Warning: e.Type == corev1.EventTypeWarning, Reason: e.Reason, Message: e.Message,
		By: cmp.Or(e.ReportingController, e.Source.Component), Count: count,
	}
}

// onScreen runs watch while a screen is shown, and ends it when the user ends that. It
// runs nothing but watch if there is no screen.
func (j *job) onScreen(ctx context.Context, cancel context.CancelCauseFunc, s *live.Screen, watch func() error) error {
	if s == nil {
		return watch()
	}
	hangup, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // the terminal is closed
	defer stop()
	defer context.AfterFunc(hangup, func() { cancel(context.Cause(hangup)) })()
	shown, hide := context.WithCancel(ctx)
	ended := make(chan error, 1)
	j.talk.divert(func(line string) { s.Note(time.Now(), line) })
	go func() {
		err := s.Run(shown, j.stdout)
		cancel(err)
		ended <- err
	}()
	closed := false
	leave := func() (err error) {
		if !closed {
			closed = true
			hide()
			err = <-ended
			j.talk.release()
		}
		return err
	}
	defer leave() // also after a panic, before it is shown
	err := watch()
	if failed := leave(); err == nil && failed != nil && failed != live.ErrQuit {
		return failed
	}
	return err
}

// drawers is how many goroutines draw.
func (r *request) drawers() int {
	if r.live {
		return 1
	}
	return 0
}

// talk is a stderr whose lines are shown elsewhere while something else has the terminal.
type talk struct {
	w    io.Writer
	mu   sync.Mutex
	show func(line string) // nil: they go to w
	rest string            // the begin of a line
	kept []string
}

// maxKept is how many of the last lines are printed when the terminal is free again.
const maxKept = 20

// Write implements io.Writer.
func (t *talk) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.show == nil {
		return t.w.Write(p)
	}
	t.rest += string(p)
	for {
		line, rest, whole := strings.Cut(t.rest, "\n")
		if !whole {
			return len(p), nil
		}
		t.rest = rest
		t.keep(line)
	}
}

func (t *talk) keep(line string) {
	t.kept = append(t.kept, line)
	t.show(line)
}

func (t *talk) divert(show func(string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.show = show
}

// release prints what was said meanwhile, of very much the last.
func (t *talk) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rest != "" {
		t.kept, t.rest = append(t.kept, t.rest), ""
	}
	t.show = nil
	if more := len(t.kept) - maxKept; more > 0 {
		fmt.Fprintf(t.w, "%d lines before these were shown on the screen\n", more)
		t.kept = t.kept[more:]
	}
	for _, line := range t.kept {
		fmt.Fprintln(t.w, line)
	}
	t.kept = nil
}

// isDumb reports whether a terminal can't be drawn on.
func isDumb() bool {
	name := os.Getenv("TERM")
	return name == "dumb" || name == "" && goruntime.GOOS != "windows"
}
