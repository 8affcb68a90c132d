package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// What clustersCompared is of.
const ofClusters, ofNamespaces = "cluster", "namespace"

// clustersCompared is what is different between clusters: each is compared with the first.
type clustersCompared struct {
	w     *watching
	noise string // the flag that says which differences count; empty if none does
	of    string // what is compared: cluster or namespace
}

func (d *clustersCompared) run(ctx context.Context, c *console) error {
	ctx, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	members, err := d.w.connection.SelectedContexts(d.w.isPlaced())
	if err != nil {
		return err
	}
	if len(members) == 1 {
		names := append([]string{members[0].Name}, members[0].Aliases...)
		return fail.Usage(fmt.Errorf("dwatch diff compares several clusters, and this is but one: %s", output.EscapeLine(strings.Join(names, ", "))))
	}
	ctx, cancel := bounded(ctx, d.w.ending.Timeout)
	defer cancel()
	tuneRun(len(members))
	all := atEach(ctx, c, members, d.list)
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTimeout) {
		return ended(ctx, ctx.Err(), true)
	}
	if all[0].err != nil || !slices.ContainsFunc(all[1:], outcome[*contents].isAnswer) {
		return failures(all) // there is nothing to compare
	}
	if !slices.ContainsFunc(all, func(o outcome[*contents]) bool { return o.is != nil && o.is.lacks == nil }) {
		return all[0].is.lacks
	}
	// What is known is printed, however late.
	return d.compare(context.WithoutCancel(ctx), c, all)
}

// contents are what a cluster has of what is asked for.
type contents struct {
	session *session
	objects []event.Object
	lacks   error // the cluster has no such resource; nil: it has all
}

func (o outcome[T]) isAnswer() bool { return o.err == nil }

// list lists what one cluster has. What it lacks a resource for it does not have.
func (d *clustersCompared) list(ctx context.Context, c *console, k *cluster.Cluster) (*contents, error) {
	of, is := d.w.selection, &contents{}
	s, err := c.open(ctx, k, of)
	if unknown, ok := errors.AsType[*mapper.UnknownError](err); ok && unknown.Hint == "" {
		is.lacks, of.request.WaitForResources = err, true
		s, err = c.silent().open(ctx, k, of) // nothing is waited for
	}
	if err != nil {
		return nil, err
	}
	o := s.watched()
	o.IgnoreMissing, o.KeepManagedFields = true, true
	w, err := watcher.New(o)
	if err != nil {
		return nil, err
	}
	if is.objects, err = w.List(ctx); err != nil {
		return nil, s.rights.DescribeDenials(ctx, err)
	}
	checkMasks(ctx, s, &d.w.print, is.objects)
	is.session = s
	return is, nil
}

// mappingOf is that of an object of these.
func (c *contents) mappingOf(o event.Object) *meta.RESTMapping {
	kind := o.GroupVersionKind().GroupKind()
	i := slices.IndexFunc(c.session.plan.Targets, func(t event.Target) bool { return t.Mapping.GroupVersionKind.GroupKind() == kind })
	return c.session.plan.Targets[i].Mapping
}

// compare prints what is different, and returns what is missing from it.
func (d *clustersCompared) compare(ctx context.Context, c *console, all []outcome[*contents]) error {
	w, first := d.w, all[0].is
	w.session = &session{console: c, scope: w.request, mapper: first.session.mapper, planner: first.session.planner, plan: first.session.plan}
	for _, o := range all[1:] {
		if o.err == nil {
			w.session.others = append(w.session.others, o.is.session.mapper)
		}
	}
	if w.print.MultiCluster = true; w.now == nil {
		w.now = time.Now
	}
	var found []event.Event
	for i, o := range all {
		if o.err == nil && o.is.lacks != nil {
			c.atCluster(o.cluster).say(strings.Join(fail.Explain(o.is.lacks), "; "))
		}
		if i > 0 && o.err == nil {
			c.atCluster(o.cluster).say("compared with " + output.EscapeLine(all[0].cluster))
			found = append(found, d.different(c.atCluster(o.cluster), first, o.is, event.Target{Cluster: o.cluster})...)
		}
	}
	if err := w.to.prepare(c); err != nil {
		return err
	}
	defer w.to.close()
	if err := w.process(ctx, delivered(found)); err != nil {
		return err
	}
	if err := cmp.Or(failures(all), d.absent(all)); err != nil || len(found) > 0 {
		return err
	}
	c.say(d.nothing(all))
	return nil
}

// nothing says that nothing is different.
func (d *clustersCompared) nothing(all []outcome[*contents]) string {
	switch {
	case !slices.ContainsFunc(all, func(o outcome[*contents]) bool { return len(o.is.objects) > 0 }):
		return "No resources found"
	case d.noise != "":
		return "nothing of that is different"
	}
	return "nothing is different but what each " + d.of + " makes for itself"
}

// absent is an error if a named object is in none of the clusters.
func (d *clustersCompared) absent(all []outcome[*contents]) error {
	for _, t := range all[0].is.session.plan.Targets {
		isIt := func(o event.Object) bool { return o.Name == t.Name && o.Kind == t.Mapping.GroupVersionKind.Kind }
		has := func(o outcome[*contents]) bool { return o.err != nil || slices.ContainsFunc(o.is.objects, isIt) }
		if t.Name != "" && !slices.ContainsFunc(all, has) {
			return fmt.Errorf("%s %q not found in any of the %ss", t.Resource().GroupResource(), output.EscapeLine(t.Name), d.of)
		}
	}
	return nil
}

// delivered are events that are known, as an origin.
type delivered []event.Event

// Run implements origin.
func (d delivered) Run(ctx context.Context, sink event.Sink) error {
	if len(d) == 0 {
		return nil
	}
	return sink.Deliver(ctx, d)
}

// counterpart is what the same object has in all clusters. Where it is not said in which namespaces to
// look, that of each context takes the place of the others'.
type counterpart struct{ group, kind, namespace, name string }

func (d *clustersCompared) counterpart(o event.Object) counterpart {
	kind := o.GroupVersionKind()
	c := counterpart{kind.Group, kind.Kind, o.Namespace, o.Name}
	if !d.w.isPlaced() || d.of == ofNamespaces {
		c.namespace = ""
	}
	return c
}

// different says what is different in a cluster from the first: what is in both with its state in the
// first, what the first alone has as deleted, and what it lacks as added.
func (d *clustersCompared) different(c *console, first, other *contents, at event.Target) (found []event.Event) {
	compare, now, isSame := d.w.print.Compare, d.w.now(), false
	is := map[counterpart]event.Object{}
	for _, o := range other.objects {
		is[d.counterpart(o)] = o
	}
	add := func(kind event.Type, of *contents, o, old event.Object) {
		at.Mapping, at.Namespace = of.mappingOf(o), o.Namespace
		if flags.IsTable(d.w.print.Format) {
			o = withRow(o, now)
		}
		found = append(found, event.Event{Type: kind, Target: at, Object: o, Old: old, Time: now})
	}
	for _, o := range first.objects {
		key := d.counterpart(o)
		there, both := is[key]
		delete(is, key)
		isSame = isSame || both && o.UID != "" && there.UID == o.UID
		switch {
		case !both:
			add(event.Deleted, first, o, event.Object{})
		case len(change.Diff(o.Raw(), there.Raw(), compare).Changes) > 0:
			add(event.Modified, other, there, o)
		}
	}
	for _, o := range other.objects {
		if _, left := is[d.counterpart(o)]; left {
			add(event.Added, other, o, event.Object{})
		}
	}
	if isSame {
		c.warn("this is the same cluster, or a copy of it: objects have the same UIDs")
	}
	return found
}
