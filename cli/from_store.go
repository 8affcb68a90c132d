package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/output"
	"dwatch/output/deliver/secret"
	"dwatch/output/deliver/webhook"
	"dwatch/watcher/recording"
	"dwatch/watcher/recording/remote"
)

// partsOf are the recordings that are asked, at least one: each of a cluster with its name, or the only one without.
func partsOf(ctx context.Context, from flags.From) (parts []recording.ClusterRecording, err error) {
	if from.URL == nil {
		if parts, err = recording.FindClusterRecordings(from.Dir()); err == nil && len(parts) == 0 {
			parts = []recording.ClusterRecording{{Store: recording.Dir(from.Dir())}}
		}
		return parts, err
	}
	client := &remote.Client{URL: from.URL, UserAgent: userAgent(), WrapError: func(err error) error { return unasked(from, err, true) }}
	defer func() { client.WrapError = func(err error) error { return unasked(from, err, false) } }()
	if client.Token, err = webhook.LoadToken(from.Token); err != nil {
		return nil, err
	}
	if client.Transport, err = webhook.NewTransport(from.URL, from.CAFile, flags.FromCAFlag); err != nil {
		return nil, err
	}
	if parts, err = client.ListRecordings(ctx); err == nil && len(parts) == 0 {
		err = errors.New("nothing has been recorded there yet")
	}
	return parts, err
}

// failedFrom is the error of a recording that can't be asked: wrong usage, unless who has it does not answer.
func failedFrom(from flags.From, err error) error {
	if fail.Is[*unaskedError](err) {
		return err
	}
	if inPath, ok := errors.AsType[*os.PathError](err); ok {
		err = inPath.Err
	}
	return fail.Usage(fmt.Errorf("--from %s: %w", output.EscapeLine(from.String()), err))
}

// unaskedError is that somebody who has a recording does not give it.
type unaskedError struct{ error }

func (e *unaskedError) Unwrap() error { return e.error }

// unasked says whom an error is about, and what to do. isFirst: nothing has been given yet, so that what was typed may
// be wrong.
func unasked(from flags.From, err error, isFirst bool) error {
	said := fmt.Errorf("--from %s: %w", output.EscapeLine(from.String()), secret.ExplainConnectionError(err, flags.FromCAFlag))
	hint := ""
	if refused, ok := errors.AsType[*remote.RefusedError](err); ok {
		switch refused.StatusCode {
		case http.StatusUnauthorized:
			hint = "--from takes the address that this run of dwatch serve printed when it started, or --from-token-file the token in it"
		case http.StatusNotFound:
			hint = "it takes the address of a dwatch serve --record DIR"
		}
	}
	if hint == "" {
		return &unaskedError{said}
	}
	said = &unaskedError{fmt.Errorf("%w: %s", said, hint)}
	if isFirst {
		said = fail.Usage(said)
	}
	return said
}
