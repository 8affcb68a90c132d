package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/cli/plan"
	"dwatch/watcher/event"
	"dwatch/watcher/resume"
)

// state is where the output of the stream goes: on its way, the file of --state
// is kept. Without that flag, that does nothing.
type state struct {
	io.Writer
	// stage puts the file around a stage that prints events to Write, and flushes.
	stage func(emit func(event.Event) error, flush func() error) (func(event.Event) error, func() error)
	past  event.Past
	// orphans are what an earlier run watched, and is not among the targets.
	orphans []event.Target
	note    string // what there is to say about it
	// end closes the file, after a run that ended with err, and returns what the
	// run with its file ended with.
	end func(err error) error
}

// noState is the way of a stream without --state.
func noState(out io.Writer) *state {
	return &state{
		Writer: out,
		stage: func(emit func(event.Event) error, flush func() error) (func(event.Event) error, func() error) {
			return emit, flush
		},
		end: func(err error) error { return err },
	}
}

// stateError is an error of the file of --state while it is written.
type stateError struct{ error }

func (e stateError) Unwrap() error { return e.error }

// openState opens the file of --state, if there is one. The context that it
// returns ends when the file or the output can't be written. What is wrong with
// the file at the start is wrong usage.
func (j *job) openState(ctx context.Context, p *plan.Plan) (context.Context, *state, error) {
	if j.state == "" {
		return ctx, noState(j.out), nil
	}
	cluster, err := j.identity(ctx)
	if err != nil {
		return nil, nil, serverError{j.host, err}
	}
	selection, err := p.Selection.WithSelectors(j.selector, j.fieldSelector)
	if err != nil {
		return nil, nil, usageError{err}
	}
	file, err := resume.Open(j.state, resume.Header{Server: j.host, Cluster: cluster, Arguments: selection.String()})
	if err != nil {
		return nil, nil, usageError{err}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	recorder := file.Record(j.out, cancel)
	s := &state{Writer: recorder, stage: recorder.Stage, past: file.Past}
	if p.Live {
		s.orphans = file.Orphans(p.Targets)
	}
	if !file.Fresh() {
		s.note = ", carrying on from " + j.state
	}
	s.end = func(err error) error {
		defer cancel(nil)
		return cmp.Or(unwritten(recorder.Close()), unwritten(file.Close()), err)
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
