package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"dwatch/cli/fail"
	"dwatch/watcher/event"
	"dwatch/watcher/resume"
)

// state is where the output of the stream goes: on its way, the file of --state
// is kept. Without that flag, that does nothing.
type state struct {
	io.Writer
	// around puts the file around a Sink that prints events to Write.
	around func(next event.Sink) event.Sink
	past   event.Past
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
		around: func(next event.Sink) event.Sink { return next },
		end:    func(err error) error { return err },
	}
}

// stateError is an error of the file of --state while it is written.
type stateError struct{ error }

func (e stateError) Unwrap() error { return e.error }

// openState opens the file of --state, if there is one. The context that it
// returns ends when the file or the output can't be written. What is wrong with
// the file at the start is wrong usage.
func (j *job) openState(ctx context.Context, p *plan) (context.Context, *state, error) {
	if j.state == "" {
		return ctx, noState(j.out), nil
	}
	cluster, err := j.Identity(ctx)
	if err != nil {
		return nil, nil, fail.Server(j.Host, err)
	}
	file, err := resume.Open(j.state, resume.Header{Server: j.Host, Cluster: cluster, Arguments: j.told(p)})
	if err != nil {
		return nil, nil, fail.Usage(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	recorder := file.Record(j.out, cancel)
	s := &state{Writer: recorder, around: recorded(recorder), past: file.Past}
	if p.live {
		s.orphans = file.Orphans(p.targets)
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

// recorded puts a recorder around a Sink.
func recorded(r *resume.Recorder) func(event.Sink) event.Sink {
	return func(next event.Sink) event.Sink {
		return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
			emit, flush := r.Stage(
				func(e event.Event) error { return next.Deliver(ctx, []event.Event{e}) },
				func() error { return nil },
			)
			for _, e := range batch {
				if err := emit(e); err != nil {
					return err
				}
			}
			return flush()
		})
	}
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
		namespaces = j.everywhere(j.Namespace)
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
