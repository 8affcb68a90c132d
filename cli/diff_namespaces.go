package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/recording"
)

// namespacesCompared is what is different between two namespaces: of a cluster, or at the end of a
// recording. Of a recording of several clusters it is what is different between these.
type namespacesCompared struct {
	clustersCompared
	from   flags.From // a recording; empty: the cluster is asked
	before time.Time  // of several clusters, what was there then is compared; zero: at the end
}

// areTwo reports whether two namespaces are named.
func (s selection) areTwo() bool {
	r := s.request
	return !r.AllNamespaces && !r.SelectsNamespaces() && len(r.Namespaces) == 2
}

func (d *namespacesCompared) run(ctx context.Context, c *console) error {
	ctx, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	if d.from.IsSet() {
		ctx, cancel := bounded(ctx, d.w.ending.Timeout)
		defer cancel()
		return unreadRecording(ended(ctx, d.ofRecording(ctx, c), true), "nothing was printed")
	}
	return c.at(ctx, d.w.connection, d.w.ending.Timeout, true, func(ctx context.Context, k *cluster.Cluster) error {
		is, err := d.list(ctx, c, k)
		if err := cmp.Or(err, is.lacking()); err != nil {
			return err
		}
		return d.compare(ctx, c, is, time.Now(), func(nothing string) error {
			if nothing != "" {
				c.say(nothing)
			}
			return nil
		})
	})
}

// lacking is an error if the cluster does not have the resource.
func (c *contents) lacking() error {
	if c == nil {
		return nil
	}
	return c.lacks
}

// ofRecording compares what was there at the end of a recording, if all of that is known.
func (d *namespacesCompared) ofRecording(ctx context.Context, c *console) error {
	from, err := c.openRecording(ctx, d.from, d.w.connection)
	switch {
	case err != nil:
		return err
	case len(from.parts) > 1:
		return d.ofRecordings(ctx, c, from)
	case !d.w.areTwo():
		return fail.Usage(errNoOther)
	case !d.before.IsZero():
		return fail.Usage(errBefore)
	}
	s, err := from.session(ctx, c, d.w.selection)
	if err != nil {
		return err
	}
	tuneLong()
	all, found, err := from.at(ctx, time.Time{})
	if err != nil {
		return err
	}
	proof, objects := found[0].proof, all[0].is
	if !proof.IsComplete() {
		return c.prove(proof, d.w.print.Timestamps, "")
	}
	if d.w.recorded = from; hasHashes(found[0].LastRun().Masks, objects) {
		c.warn(manyKeys)
	}
	return d.compare(ctx, c, &contents{session: s, objects: objects}, proof.To, func(nothing string) error {
		return d.prove(c, proof, nothing)
	})
}

const manyKeys = "what is masked was recorded as a hash, of which each run of dwatch record has a key of its own: equal values may be said to differ"

// ofRecordings compares what was there in each cluster, if all of that is known, with what was in the first.
func (d *namespacesCompared) ofRecordings(ctx context.Context, c *console, from *recordingOf) error {
	if _, err := from.session(ctx, c, d.w.selection); err != nil {
		return err
	}
	tuneLong()
	there, found, err := from.at(ctx, d.before)
	if err != nil {
		return err
	}
	var known []outcome[*contents]
	for i, o := range there {
		if found[i].proof.IsComplete() {
			known = append(known, outcome[*contents]{cluster: o.cluster, is: &contents{session: found[i].session, objects: o.is}})
		}
	}
	d.w.recorded, d.w.now, d.of = from, found.to, ofClusters
	if len(known) < 2 || known[0].cluster != from.parts[0].cluster {
		return cmp.Or(found.prove(d.w.print.Timestamps, nil), from.unrecorded()) // there is nothing to compare
	}
	if slices.ContainsFunc(known, func(o outcome[*contents]) bool { return hasHashes(from.about(o.cluster).Masks, o.is.objects) }) {
		c.warn(manyKeys)
	}
	err = d.clustersCompared.compare(ctx, c, known)
	return cmp.Or(err, found.prove(d.w.print.Timestamps, nil), from.unrecorded())
}

// hasHashes reports whether some of what was recorded of objects may be hashes.
func hasHashes(masks string, objects []event.Object) bool {
	none := masksText(&change.Masks{})
	isSecret := func(o event.Object) bool { return o.APIVersion == "v1" && o.Kind == "Secret" }
	return masks != none && (masks != masksText(&change.Masks{Secrets: true}) || slices.ContainsFunc(objects, isSecret))
}

func (d *namespacesCompared) prove(c *console, proof *recording.Proof, nothing string) error {
	return c.prove(proof, d.w.print.Timestamps, nothing)
}

// compare prints what is different at a time, and then says what end is for: that nothing is, if so.
func (d *namespacesCompared) compare(ctx context.Context, c *console, is *contents, at time.Time, end func(nothing string) error) error {
	w := d.w
	w.session, w.now = is.session, func() time.Time { return at }
	for _, t := range is.session.plan.Targets {
		if !t.Namespaced() {
			return fail.Usage(fmt.Errorf("%s are in no namespace, so two can't be compared by them", output.EscapeLine(t.Resource().Resource)))
		}
	}
	both := [2]contents{{session: is.session}, {session: is.session}}
	for _, o := range is.objects {
		n := 1
		if o.Namespace == w.request.Namespaces[0] {
			n = 0
		}
		both[n].objects = append(both[n].objects, o)
	}
	found := d.different(c, &both[0], &both[1], event.Target{})
	if err := w.to.prepare(c); err != nil {
		return err
	}
	defer w.to.close()
	if err := w.process(ctx, delivered(found)); err != nil {
		return err
	}
	all := []outcome[*contents]{{is: is}}
	if err := d.absent(all); err != nil {
		return err
	}
	if len(found) > 0 {
		return end("")
	}
	return end(d.nothing(all))
}
