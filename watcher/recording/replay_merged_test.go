package recording

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dwatch/watcher/event"
)

// TestReplayMerged checks that the events of two clusters come in order of time, each with the name of its cluster, and that
// each cluster has a proof of its own. If the sink returns an error, the proofs end at the last delivered event.
func TestReplayMerged(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	r := begunRun(t, one)
	deliver(t, r, of(t, event.Modified, "web", 2, 10), of(t, event.Modified, "web", 3, 14), proven(20))
	r = begunRun(t, two)
	deliver(t, r, of(t, event.Modified, "web", 7, 12), of(t, event.Modified, "web", 8, 13), proven(15), statusEvent(event.Disconnected, 16), statusEvent(event.Gap, 18), proven(20))
	queryOf := func(dir, cluster string, from time.Time) ClusterQuery {
		target := configMaps
		target.Cluster = cluster
		return ClusterQuery{read(t, dir), Query{Targets: []event.Target{target}, From: from}}
	}
	enough := errors.New("enough")
	for _, test := range []struct {
		last    string // resourceVersion of the event at which the sink returns an error; empty means none
		want    []string
		unknown []bool // whether the proof of each cluster has gaps
		to      int
	}{
		{"", []string{"eu 2", "us 7", "us 8", "eu 3"}, []bool{false, true}, 20},
		{"7", []string{"eu 2", "us 7"}, []bool{false, false}, 12},
	} {
		var got []string
		sink := event.SinkFunc(func(_ context.Context, batch []event.Event) error {
			for _, e := range batch {
				if e.Type == event.Modified {
					got = append(got, fmt.Sprint(e.Target.Cluster, " ", e.Object.ResourceVersion))
				}
				if test.last != "" && !e.Type.IsStatus() && e.Object.ResourceVersion == test.last {
					return enough
				}
			}
			return nil
		})
		all := []ClusterQuery{queryOf(one, "eu", at(8)), queryOf(two, "us", at(8))}
		all[0].Query.BatchSize, all[1].Query.BatchSize = 1, 1
		proofs, err := ReplayMerged(t.Context(), all, sink)
		if test.last != "" != errors.Is(err, enough) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Error(diff)
		}
		for i, p := range proofs {
			if p.IsComplete() == test.unknown[i] || p.To.After(at(test.to)) || !p.From.Equal(at(8)) {
				t.Errorf("up to event %q, cluster %d: got a proof for %s to %s with gaps %v, want gaps: %t", test.last, i, p.From, p.To, gaps(p), test.unknown[i])
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReplayMerged(ended, []ClusterQuery{queryOf(one, "eu", at(8)), queryOf(two, "us", at(8))}, event.SinkFunc(func(context.Context, []event.Event) error { return nil })); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancellation: got %v, want %v", err, context.Canceled)
	}
}

// TestClusterDirName checks that each cluster name has a safe directory name.
func TestClusterDirName(t *testing.T) {
	for name, want := range map[string]string{
		"prod-eu": "prod-eu", "arn:aws:eks:eu-1:1:cluster/a": "arn%3Aaws%3Aeks%3Aeu-1%3A1%3Acluster%2Fa", "..": "%2E%2E", ".a.b.": "%2Ea.b%2E", "a%b c": "a%25b%20c", "ü": "%C3%BC",
	} {
		if got := ClusterDirName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
