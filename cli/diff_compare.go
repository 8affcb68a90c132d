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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/replay"
	"dwatch/cli/run"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// comparison compares the objects of several places, each with the first.
type comparison struct {
	cfg       run.Config
	to        run.Destination
	noiseFlag string // the flag that says which differences count, or empty
	of        string // the kind of the places: cluster or namespace
}

// contents are the objects of a place.
type contents struct {
	session *run.Session
	objects []event.Object
	lacks   error // why the place has no such resource, or nil
}

// place is the contents of one place, with its name.
type place = run.ClusterResult[*contents]

func (c *contents) mappingOf(o event.Object) *meta.RESTMapping {
	kind := o.GroupVersionKind().GroupKind()
	i := slices.IndexFunc(c.session.Plan.Targets, func(t event.Target) bool { return t.Mapping.GroupVersionKind.GroupKind() == kind })
	return c.session.Plan.Targets[i].Mapping
}

// list lists the objects of one cluster. A cluster that lacks a resource has none of its objects.
func (d *comparison) list(ctx context.Context, c *console.Console, k *cluster.Cluster) (*contents, error) {
	of, found := d.cfg.Selection, &contents{}
	of.Request.ListOnly = true
	s, err := run.OpenSession(ctx, c, k, of)
	if unknown, ok := errors.AsType[*mapper.UnknownError](err); ok && unknown.Hint == "" {
		found.lacks, of.Request.WaitForResources = err, true
		s, err = run.OpenSession(ctx, c.WithoutReports(), k, of) // which does not wait
	}
	if err != nil {
		return nil, err
	}
	o := s.WatchOptions()
	o.IgnoreMissing, o.KeepManagedFields = true, true
	w, err := watcher.New(o)
	if err != nil {
		return nil, err
	}
	if found.objects, err = w.List(ctx); err != nil {
		return nil, s.Rights.DescribeDenials(ctx, err)
	}
	run.CheckMasks(ctx, s, &d.cfg.Print, found.objects)
	found.session = s
	return found, nil
}

// counterpart identifies an object in all places. It has no namespace if namespaces are compared, or if the command line names none:
// then each context has its own.
type counterpart struct{ group, kind, namespace, name string }

func (d *comparison) counterpart(o event.Object) counterpart {
	kind := o.GroupVersionKind()
	c := counterpart{kind.Group, kind.Kind, o.Namespace, o.Name}
	if !d.cfg.Selection.NamesNamespaces() || d.of == "namespace" {
		c.namespace = ""
	}
	return c
}

// differences returns the differences of a place from the first: objects of both with their state in the first, objects of the first
// alone as deleted, and objects of the other alone as added.
func (d *comparison) differences(c *console.Console, first, other *contents, cluster string, now time.Time) (found []event.Event) {
	compare, sameUID := d.cfg.Print.Compare, false
	others := map[counterpart]event.Object{}
	for _, o := range other.objects {
		others[d.counterpart(o)] = o
	}
	add := func(kind event.Type, of *contents, o, old event.Object) {
		target := event.Target{Cluster: cluster, Mapping: of.mappingOf(o), Namespace: o.Namespace}
		if flags.IsTable(d.cfg.Print.Format) {
			o = replay.WithRow(o, now)
		}
		found = append(found, event.Event{Type: kind, Target: target, Object: o, Old: old, Time: now})
	}
	for _, o := range first.objects {
		key := d.counterpart(o)
		there, both := others[key]
		delete(others, key)
		sameUID = sameUID || both && o.UID != "" && there.UID == o.UID
		switch {
		case !both:
			add(event.Deleted, first, o, event.Object{})
		case len(change.Diff(o.Raw(), there.Raw(), compare).Changes) > 0:
			add(event.Modified, other, there, o)
		}
	}
	for _, o := range other.objects {
		if _, left := others[d.counterpart(o)]; left {
			add(event.Added, other, o, event.Object{})
		}
	}
	if sameUID {
		c.Warn("this is the same cluster, or a copy of it: objects have the same UIDs")
	}
	return found
}

// compareClusters prints the differences of all clusters from the first. It returns an error if a cluster did not answer, or if a named
// object exists nowhere. recorded is the recording that they come from, or nil.
func (d *comparison) compareClusters(ctx context.Context, c *console.Console, all []place, recorded *replay.Recording, now func() time.Time) error {
	first := all[0].Value
	var found []event.Event
	for i, o := range all {
		if o.Err == nil && o.Value.lacks != nil {
			c.ForCluster(o.Cluster).Say(strings.Join(fail.Explain(o.Value.lacks), "; "))
		}
		if i > 0 && o.Err == nil {
			own := c.ForCluster(o.Cluster)
			own.Say("compared with " + output.EscapeLine(all[0].Cluster))
			found = append(found, d.differences(own, first, o.Value, o.Cluster, now())...)
		}
	}
	cfg := d.cfg
	cfg.Print.MultiCluster = true
	s := *first.session
	s.Console, s.Request = c, cfg.Selection.Request
	scope := s.Scope()
	scope.Recorded = &run.Recorded{Now: now}
	if recorded != nil {
		scope = recorded.Scope(&s, now)
	}
	scope.ShortName = shortestName(all)
	if err := replay.RunEvents(ctx, c, cfg, d.to, &s, scope, found); err != nil {
		return err
	}
	if err := cmp.Or(run.ErrorsOf(all), d.absent(all)); err != nil || len(found) > 0 {
		return err
	}
	c.Say(d.nothing(all))
	return nil
}

// shortestName returns the short name of a resource in the first place that has one.
func shortestName(all []place) func(schema.GroupVersionResource) string {
	return func(r schema.GroupVersionResource) string {
		full := r.GroupResource().String()
		for _, o := range all {
			if o.Err == nil {
				if short := o.Value.session.Mapper.ShortName(r); short != full {
					return short
				}
			}
		}
		return full
	}
}

// nothing returns the message for places without differences.
func (d *comparison) nothing(all []place) string {
	switch {
	case !slices.ContainsFunc(all, func(o place) bool { return len(o.Value.objects) > 0 }):
		return "No resources found"
	case d.noiseFlag != "":
		return "no differences with --" + d.noiseFlag
	}
	return "no differences, apart from fields that each " + d.of + " sets itself"
}

// absent returns an error if a named object exists nowhere.
func (d *comparison) absent(all []place) error {
	for _, t := range all[0].Value.session.Plan.Targets {
		isIt := func(o event.Object) bool { return o.Name == t.Name && o.Kind == t.Mapping.GroupVersionKind.Kind }
		has := func(o place) bool { return o.Err != nil || slices.ContainsFunc(o.Value.objects, isIt) }
		if t.Name != "" && !slices.ContainsFunc(all, has) {
			return fmt.Errorf("%s %q not found in any of the %ss", t.Resource().GroupResource(), output.EscapeLine(t.Name), d.of)
		}
	}
	return nil
}

// compareClustersTask compares several clusters.
type compareClustersTask struct{ comparison }

func (d *compareClustersTask) run(ctx context.Context, c *console.Console) error {
	ctx, stop := console.UntilReaderGone(ctx, c.Out.File)
	defer stop()
	contexts, err := d.cfg.Connection.SelectedContexts(d.cfg.Selection.NamesNamespaces())
	if err != nil {
		return err
	}
	if len(contexts) == 1 {
		names := append([]string{contexts[0].Name}, contexts[0].Aliases...)
		return fail.Usage(fmt.Errorf("dwatch diff compares several clusters, but the selected contexts are one cluster: %s", output.EscapeLine(strings.Join(names, ", "))))
	}
	ctx, cancel := run.WithTimeout(ctx, d.cfg.Ending.Timeout)
	defer cancel()
	run.TuneTargets(len(contexts))
	all := run.AtEachCluster(ctx, c, contexts, d.list)
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), run.ErrTimeout) {
		return run.EndOf(ctx, ctx.Err(), true)
	}
	if all[0].Err != nil || !slices.ContainsFunc(all[1:], func(o place) bool { return o.Err == nil }) {
		return run.ErrorsOf(all) // there is nothing to compare
	}
	if !slices.ContainsFunc(all, func(o place) bool { return o.Value != nil && o.Value.lacks == nil }) {
		return all[0].Value.lacks
	}
	// The differences are printed even if --timeout has passed.
	return d.compareClusters(context.WithoutCancel(ctx), c, all, nil, time.Now)
}
