package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/replay"
	"dwatch/cli/run"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// compareNamespacesTask compares two namespaces, of a cluster or at the end of a recording. If the recording has several clusters, it
// compares the clusters.
type compareNamespacesTask struct {
	comparison
	from   flags.From // a recording, or empty
	before time.Time  // for clusters: when they are compared; zero means the end
}

func (d *compareNamespacesTask) run(ctx context.Context, c *console.Console) error {
	ctx, stop := console.UntilReaderGone(ctx, c.Out.File)
	defer stop()
	if d.from.IsSet() {
		ctx, cancel := run.WithTimeout(ctx, d.cfg.Ending.Timeout)
		defer cancel()
		return replay.ExplainTimeout(run.EndOf(ctx, d.compareRecorded(ctx, c), true), "nothing was printed")
	}
	return run.AtCluster(ctx, c, d.cfg.Connection, d.cfg.Ending.Timeout, true, func(ctx context.Context, k *cluster.Cluster) error {
		found, err := d.list(ctx, c, k)
		if err != nil {
			return err
		}
		if found.lacks != nil {
			return found.lacks
		}
		return d.compare(ctx, c, found, found.session.Scope(), time.Now(), func(nothing string) error {
			if nothing != "" {
				c.Say(nothing)
			}
			return nil
		})
	})
}

// compareRecorded compares the objects at the end of a recording, unless it has gaps.
func (d *compareNamespacesTask) compareRecorded(ctx context.Context, c *console.Console) error {
	from, err := replay.Open(ctx, c, d.from, d.cfg.Connection)
	switch {
	case err != nil:
		return err
	case from.Parts() > 1:
		return d.compareRecordedClusters(ctx, c, from)
	case !d.cfg.Selection.IsTwoNamespaces():
		return fail.Usage(errNeedsOtherSide)
	case !d.before.IsZero():
		return fail.Usage(errNeedsAt)
	}
	s, err := from.Session(ctx, c, d.cfg.Selection)
	if err != nil {
		return err
	}
	run.TuneLong()
	all, _, err := from.At(ctx, time.Time{})
	if err != nil {
		return err
	}
	there := all[0]
	if !there.Proof.IsComplete() {
		return replay.ReportProof(c, there.Proof, d.cfg.Print.Timestamps, "")
	}
	if hasHashes(from.About(there.Cluster).Masks, there.Objects) {
		c.Warn(manyKeys)
	}
	scope := from.Scope(s, func() time.Time { return there.Proof.To })
	return d.compare(ctx, c, &contents{session: s, objects: there.Objects}, scope, there.Proof.To, func(nothing string) error {
		return replay.ReportProof(c, there.Proof, d.cfg.Print.Timestamps, nothing)
	})
}

const manyKeys = "masked values were recorded as hashes, with another key in each run of dwatch record: equal values may be shown as different"

// compareRecordedClusters compares the clusters of a recording that are completely known with the first.
func (d *compareNamespacesTask) compareRecordedClusters(ctx context.Context, c *console.Console, from *replay.Recording) error {
	if _, err := from.Session(ctx, c, d.cfg.Selection); err != nil {
		return err
	}
	run.TuneLong()
	there, proofs, err := from.At(ctx, d.before)
	if err != nil {
		return err
	}
	var known []place
	for _, o := range there {
		if o.Proof.IsComplete() {
			known = append(known, place{Cluster: o.Cluster, Value: &contents{session: o.Session, objects: o.Objects}})
		}
	}
	d.of = "cluster"
	if len(known) < 2 || known[0].Cluster != from.FirstCluster() {
		return cmp.Or(proofs.Report(d.cfg.Print.Timestamps, nil), from.CheckRecorded()) // there is nothing to compare
	}
	if slices.ContainsFunc(known, func(o place) bool { return hasHashes(from.About(o.Cluster).Masks, o.Value.objects) }) {
		c.Warn(manyKeys)
	}
	err = d.compareClusters(ctx, c, known, from, proofs.To)
	return cmp.Or(err, proofs.Report(d.cfg.Print.Timestamps, nil), from.CheckRecorded())
}

// hasHashes reports whether values of objects may have been recorded as hashes.
func hasHashes(masks string, objects []event.Object) bool {
	none := run.MasksText(&change.Masks{})
	isSecret := func(o event.Object) bool { return o.APIVersion == "v1" && o.Kind == "Secret" }
	return masks != none && (masks != run.MasksText(&change.Masks{Secrets: true}) || slices.ContainsFunc(objects, isSecret))
}

// compare prints the differences between the two namespaces. If there are none, end gets a message, otherwise an empty text.
func (d *compareNamespacesTask) compare(ctx context.Context, c *console.Console, found *contents, scope *run.Scope, at time.Time, end func(nothing string) error) error {
	for _, t := range found.session.Plan.Targets {
		if !t.Namespaced() {
			return fail.Usage(fmt.Errorf("%s are cluster-scoped, so namespaces can't be compared by them", output.EscapeLine(t.Resource().Resource)))
		}
	}
	both := [2]contents{{session: found.session}, {session: found.session}}
	for _, o := range found.objects {
		n := 1
		if o.Namespace == d.cfg.Selection.Request.Namespaces[0] {
			n = 0
		}
		both[n].objects = append(both[n].objects, o)
	}
	differences := d.differences(c, &both[0], &both[1], "", at)
	if scope.Recorded == nil {
		scope.Recorded = &run.Recorded{Now: func() time.Time { return at }}
	}
	if err := replay.RunEvents(ctx, c, d.cfg, d.to, found.session, scope, differences); err != nil {
		return err
	}
	all := []place{{Value: found}}
	if err := d.absent(all); err != nil {
		return err
	}
	if len(differences) > 0 {
		return end("")
	}
	return end(d.nothing(all))
}
