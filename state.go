package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"dwatch/watcher/event"
	"dwatch/watcher/resume"
)

// state is the file of --state. Without that flag, it does nothing.
type state struct {
	// around puts the file around a sink.
	around func(event.Sink) event.Sink
	past   event.Past
	// orphans are what an earlier run watched, and is not among the targets.
	orphans []event.Target
	note    string // what there is to say about it
	// end closes the file, after a run that ended with err, and returns what the
	// run with its file ended with.
	end func(err error) error
}

// stateError is an error of the file of --state while it is written.
type stateError struct{ error }

func (e stateError) Unwrap() error { return e.error }

// openState opens the file of --state, if there is one. The context that it
// returns ends when the file or the output can't be written. What is wrong with
// the file at the start is wrong usage.
func (j *job) openState(ctx context.Context, p *plan) (context.Context, *state, error) {
	if j.state == "" {
		return ctx, &state{around: func(s event.Sink) event.Sink { return s }, end: func(err error) error { return err }}, nil
	}
	cluster, err := j.identity(ctx)
	if err != nil {
		return nil, nil, serverError{j.host, err}
	}
	file, err := resume.Open(j.state, resume.Header{Server: j.host, Cluster: cluster, Selection: resume.Selection{Resources: []string{j.told(p)}}})
	if err != nil {
		return nil, nil, usageError{err}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var stage *resume.Stage
	s := &state{past: file.Past}
	s.around = func(next event.Sink) event.Sink {
		stage = file.Stage(next, cancel)
		return stage
	}
	if p.live {
		s.orphans = file.Orphans(p.targets)
	}
	if !file.Fresh() {
		s.note = ", carrying on from " + j.state
	}
	s.end = func(err error) error {
		defer cancel(nil)
		return cmp.Or(unwritten(stage.Close()), unwritten(file.Close()), err)
	}
	return ctx, s, nil
}

// unwritten tells an error of the output, which is one of its own, from one of
// the file.
func unwritten(err error) error {
	var lost writeError
	if err == nil || errors.As(err, &lost) {
		return err
	}
	return stateError{err}
}

// identity returns what tells the cluster from all others, as the field does:
// the UID of the namespace kube-system. It is empty where the user may not see
// that.
func (c *cluster) identity(ctx context.Context) (string, error) {
	d, err := c.discovery()
	if err != nil {
		return "", err
	}
	ctx, cancel := c.ask(ctx)
	defer cancel()
	text, err := d.RESTClient().Get().AbsPath("/api/v1/namespaces", metav1.NamespaceSystem).DoRaw(ctx)
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) {
		return "", nil
	}
	var ns unstructured.Unstructured
	if err == nil {
		err = ns.UnmarshalJSON(text)
	}
	return string(ns.GetUID()), err
}

// told says which objects are told, the same always in the same way. What is
// printed of them has no part in it.
func (j *job) told(p *plan) string {
	text := strings.Join(sorted(p.asked), ", ")
	if len(j.exclude) > 0 {
		text += " without " + strings.ToLower(strings.Join(sorted(j.exclude), ", "))
	}
	var namespaces []string
	for _, t := range p.targets {
		if t.Namespaced() && !p.live {
			namespaces = append(namespaces, t.Namespace)
		}
	}
	if p.live { // and what is namespaced may come later
		namespaces = j.everywhere(j.namespace)
	}
	switch namespaces = sorted(namespaces); {
	case len(namespaces) == 1 && namespaces[0] == "":
		text += " in all namespaces"
	case len(namespaces) == 1:
		text += " in namespace " + namespaces[0]
	case len(namespaces) > 1:
		text += " in namespaces " + strings.Join(namespaces, ", ")
	}
	// Both have been parsed before.
	if selector, err := labels.Parse(j.selector); err == nil && !selector.Empty() {
		text += ", with labels " + strings.ReplaceAll(selector.String(), "==", "=")
	}
	if selector, err := fields.ParseSelector(j.fieldSelector); err == nil && !selector.Empty() {
		text += ", with fields " + selector.String()
	}
	return text
}

// sorted returns each of words once.
func sorted(words []string) []string { return slices.Compact(slices.Sorted(slices.Values(words))) }
