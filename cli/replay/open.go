package replay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/version"
	"dwatch/output"
	"dwatch/output/deliver/secret"
	"dwatch/output/deliver/webhook"
	"dwatch/watcher/recording"
	"dwatch/watcher/recording/remote"
)

// Open reads the index of a recording, and warns about what cannot be read. If it is a recording of several clusters, of selects
// some of them.
func Open(ctx context.Context, c *console.Console, from flags.From, of *cluster.Flags) (*Recording, error) {
	failed := func(err error) error { return openError(from, err) }
	stores, err := findStores(ctx, from)
	if err != nil {
		return nil, failed(err)
	}
	if stores[0].Cluster == "" && of.SelectsContexts() {
		return nil, fail.Usage(errors.New("--from reads a recording instead of a cluster: it cannot be combined with --context"))
	}
	if stores[0].Cluster != "" {
		if stores, err = selectStores(stores, of); err != nil {
			return nil, failed(err)
		}
	}
	r := &Recording{from: from.String()}
	for _, s := range stores {
		p := &part{console: c, cluster: s.Cluster, from: r.from, store: s.Store}
		if p.cluster != "" {
			p.console, p.from = c.ForCluster(s.Cluster), strings.TrimSuffix(r.from, "/")+"/"+recording.ClusterDirName(s.Cluster)
		}
		if err := p.read(ctx); err != nil {
			return nil, failed(prefix(s.Cluster, err))
		}
		for _, note := range p.Warnings() {
			c.Warn(p.from + "/" + note)
		}
		r.parts = append(r.parts, p)
	}
	return r, nil
}

// selectStores returns the recordings of the clusters that are asked for, in the order in which they are named.
func selectStores(stores []recording.ClusterRecording, of *cluster.Flags) (chosen []recording.ClusterRecording, err error) {
	var names []string
	for _, s := range stores {
		names = append(names, s.Cluster)
	}
	if names, err = of.SelectFrom(names); err != nil {
		return nil, err
	}
	for _, name := range names {
		chosen = append(chosen, stores[slices.IndexFunc(stores, func(s recording.ClusterRecording) bool { return s.Cluster == name })])
	}
	return chosen, nil
}

// findStores returns at least one recording: one for each cluster with its name, or the only one without a name.
func findStores(ctx context.Context, from flags.From) (stores []recording.ClusterRecording, err error) {
	if from.URL == nil {
		if stores, err = recording.FindClusterRecordings(from.Dir()); err == nil && len(stores) == 0 {
			stores = []recording.ClusterRecording{{Store: recording.Dir(from.Dir())}}
		}
		return stores, err
	}
	client := &remote.Client{URL: from.URL, UserAgent: version.UserAgent(), WrapError: func(err error) error { return remoteFailure(from, err, true) }}
	defer func() { client.WrapError = func(err error) error { return remoteFailure(from, err, false) } }()
	if client.Token, err = webhook.LoadToken(from.Token); err != nil {
		return nil, err
	}
	if client.Transport, err = webhook.NewTransport(from.URL, from.CAFile, flags.FromCAFlag); err != nil {
		return nil, err
	}
	if stores, err = client.ListRecordings(ctx); err == nil && len(stores) == 0 {
		err = errors.New("nothing has been recorded there yet")
	}
	return stores, err
}

// openError is the error of a recording that cannot be read. It is a usage error, unless the server that has it does not answer.
func openError(from flags.From, err error) error {
	if fail.Is[*remoteError](err) {
		return err
	}
	if inPath, ok := errors.AsType[*os.PathError](err); ok {
		err = inPath.Err
	}
	return fail.Usage(fmt.Errorf("--from %s: %w", output.EscapeLine(from.String()), err))
}

// remoteError is an error of a server that has a recording.
type remoteError struct{ err error }

func (e *remoteError) Error() string { return e.err.Error() }

func (e *remoteError) Unwrap() error { return e.err }

// remoteFailure names the server in err and says what to do. If isFirst is set, nothing has been read yet, so that the command line may
// be wrong.
func remoteFailure(from flags.From, err error, isFirst bool) error {
	named := fmt.Errorf("--from %s: %w", output.EscapeLine(from.String()), secret.ExplainConnectionError(err, flags.FromCAFlag))
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
		return &remoteError{named}
	}
	named = &remoteError{fmt.Errorf("%w: %s", named, hint)}
	if isFirst {
		named = fail.Usage(named)
	}
	return named
}
