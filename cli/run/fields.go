package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/flags"
	"dwatch/cli/lookup"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// maxFieldObjects is in how many objects a field is searched before dwatch asks the server for the schema.
const maxFieldObjects = 100

// namedFields is a field that the command line names, and the flag that names it.
type namedFields struct {
	flag   string
	fields change.FieldPath
}

// fieldCheck is a Sink before next that finds fields which no object can have, so that the user learns why a condition on one never
// holds. It searches the first maxFieldObjects objects. Once no target is connecting and none is gone, it asks the server for the
// schemas if a field was in none of these objects.
type fieldCheck struct {
	session *Session
	say     func(line string)
	next    event.Sink
	links   *event.WatchStates
	named   []namedFields // fields that were in no object so far
	looked  int
	asking  sync.WaitGroup
}

// namedFields are all fields that the command line names.
func (c *Config) namedFields() (named []namedFields) {
	for _, c := range c.Conditions() {
		for _, f := range c.Fields {
			named = append(named, namedFields{c.Flag, f})
		}
	}
	named = appendNamed(named, "only", c.Print.Compare.Only)
	named = appendNamed(named, "ignore", c.Ignored)
	named = appendNamed(named, "mask", maskedFields(&c.Print))
	return named
}

// checkFields returns a fieldCheck before next, and a function that waits for its questions to the server. If there is nothing to
// check, it returns next.
func checkFields(s *Session, named []namedFields, say func(line string), next event.Sink) (_ event.Sink, wait func()) {
	if len(named) == 0 || len(s.Plan.Missing) > 0 { // a missing resource may have the field
		return next, func() {}
	}
	f := &fieldCheck{session: s, say: say, next: next, links: event.NewWatchStates(s.Plan.Targets), named: named}
	return f, f.asking.Wait
}

func appendNamed(named []namedFields, flag string, patterns change.Patterns) []namedFields {
	for _, p := range patterns {
		if f := p.FieldPath(); len(f) > 0 {
			named = append(named, namedFields{flag, f})
		}
	}
	return named
}

// maskedFields are the fields of --mask.
func maskedFields(p *output.Options) change.Patterns {
	if p.Masks == nil {
		return nil
	}
	return p.Masks.Paths
}

// CheckMasks warns about fields of --mask that none of the listed objects has or can have: they hide nothing.
func CheckMasks(ctx context.Context, s *Session, p *output.Options, objects []event.Object) {
	checkListFields(ctx, s, appendNamed(nil, "mask", maskedFields(p)), objects)
}

// CheckListWhere warns about fields in --where that none of the listed objects has or can have.
func CheckListWhere(ctx context.Context, s *Session, where []flags.Condition, objects []event.Object) {
	var named []namedFields
	for _, c := range where {
		for _, f := range c.Fields {
			named = append(named, namedFields{c.Flag, f})
		}
	}
	checkListFields(ctx, s, named, objects)
}

func checkListFields(ctx context.Context, s *Session, named []namedFields, objects []event.Object) {
	if len(named) == 0 {
		return
	}
	kinds := map[schema.GroupVersionKind]string{}
	for _, t := range s.Plan.Targets {
		kinds[t.Mapping.GroupVersionKind] = t.Resource().GroupResource().String()
	}
	for _, o := range objects {
		named = slices.DeleteFunc(named, func(n namedFields) bool { return n.fields.ExistsIn(o.Raw()) })
	}
	if len(named) > 0 {
		(&fieldCheck{session: s, say: s.Console.Warn}).check(ctx, named, kinds)
	}
}

// Deliver implements event.Sink. It does not wait for the server's answer.
func (f *fieldCheck) Deliver(ctx context.Context, batch []event.Event) error {
	for i := range batch {
		if len(f.named) == 0 {
			break
		}
		f.observe(ctx, &batch[i])
	}
	return f.next.Deliver(ctx, batch)
}

func (f *fieldCheck) observe(ctx context.Context, e *event.Event) {
	f.links.Observe(e)
	switch {
	case !e.Type.IsStatus() && f.looked < maxFieldObjects && e.HasFullObject():
		f.looked++
		text := e.Object.Raw()
		f.named = slices.DeleteFunc(f.named, func(n namedFields) bool { return n.fields.ExistsIn(text) })
	case e.Type.IsStatus() && !e.Type.IsKeepalive() && len(f.links.All()) > 0 && f.links.Count(event.PhaseConnecting) == 0 && f.links.Count(event.PhaseGone) == 0:
		named, kinds := f.named, f.kinds()
		f.named = nil
		if len(kinds) > 0 {
			f.asking.Go(func() { f.check(ctx, named, kinds) })
		}
	}
}

// kinds maps the kinds that are watched to their resources.
func (f *fieldCheck) kinds() map[schema.GroupVersionKind]string {
	kinds := map[schema.GroupVersionKind]string{}
	for _, l := range f.links.All() {
		kinds[l.Target.Mapping.GroupVersionKind] = l.Target.Resource().GroupResource().String()
	}
	return kinds
}

// check warns about fields that are in no schema. If some schema allows arbitrary fields, it warns only if another schema has a
// similar field.
func (f *fieldCheck) check(ctx context.Context, named []namedFields, kinds map[schema.GroupVersionKind]string) {
	found := make([]schemaLookup, len(named))
	for _, version := range versionsOf(kinds) {
		of := slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.Kind, b.Kind) })
		of = slices.DeleteFunc(of, func(k schema.GroupVersionKind) bool { return k.GroupVersion() != version })
		names := make([]string, len(of))
		for i, k := range of {
			names[i] = k.Kind
		}
		schemas, _ := lookup.FetchSchemas(ctx, f.session.Cluster, version, names) // after an error they are zero, and allow all fields
		for i, s := range schemas {
			for n := range found {
				found[n].take(s, named[n].fields, kinds[of[i]])
			}
		}
		if ctx.Err() != nil || !slices.ContainsFunc(found, func(l schemaLookup) bool { return !l.there }) {
			return
		}
	}
	reported := map[string]bool{}
	for i, l := range found {
		if line := l.line(kinds); line != "" && !reported[l.missing.String()] {
			reported[l.missing.String()] = true
			f.say("--" + named[i].flag + ": " + line)
		}
	}
}

// versionsOf returns the sorted group versions of kinds.
func versionsOf(kinds map[schema.GroupVersionKind]string) []schema.GroupVersion {
	versions := map[schema.GroupVersion]bool{}
	for k := range kinds {
		versions[k.GroupVersion()] = true
	}
	return slices.SortedFunc(maps.Keys(versions), func(a, b schema.GroupVersion) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version))
	})
}

// schemaLookup is what the schemas of several kinds say about one field.
type schemaLookup struct {
	there          bool             // one schema has the field
	open           []string         // resources whose schema allows arbitrary fields
	missing, meant change.FieldPath // of the schema that contains most of the path
}

// take looks up fields in the schema of a resource.
func (l *schemaLookup) take(s lookup.Schema, fields change.FieldPath, resource string) {
	missing, meant, isOpen := s.FindUnknownField(fields)
	switch {
	case isOpen:
		l.open = append(l.open, resource)
	case missing == nil:
		l.there = true
	case len(missing) > len(l.missing) || len(missing) == len(l.missing) && l.meant == nil:
		l.missing, l.meant = missing, meant
	}
}

// maxNamed is how many resources a message names. If there are more, it gives only their number.
const maxNamed = 5

// line is the warning, or empty if the field exists or may exist.
func (l *schemaLookup) line(kinds map[schema.GroupVersionKind]string) string {
	if l.there || l.missing == nil || len(l.open) > 0 && l.meant == nil {
		return ""
	}
	in := slices.DeleteFunc(slices.Sorted(maps.Values(kinds)), func(name string) bool { return slices.Contains(l.open, name) })
	line := fmt.Sprintf("there is no field %s in %s", l.missing, inResources(in))
	if l.meant != nil {
		line += fmt.Sprintf("; did you mean %s?", l.meant)
	}
	if len(l.open) > 0 {
		slices.Sort(l.open)
		line += " " + inResources(l.open) + " may have it"
	}
	return line
}

func inResources(names []string) string {
	if len(names) > maxNamed {
		return fmt.Sprintf("%d resources", len(names))
	}
	return strings.Join(names, ", ")
}
