package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/lookup"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// maxFieldObjects is in how many objects fields are looked for before the server is asked.
const maxFieldObjects = 100

// namedFields are fields of objects, as a flag names them.
type namedFields struct {
	flag   string
	fields change.FieldPath
}

// fieldCheck is a Sink before next that finds fields which no object can have, so that nobody waits
// for one. It looks for them in the objects that come, and asks the server for the schema only when
// all that exists has come and one was in none.
type fieldCheck struct {
	*session
	say    func(line string)
	next   event.Sink
	links  *event.WatchStates
	named  []namedFields // that no object has had
	looked int
	asking sync.WaitGroup
}

// fieldsNamed are all that the command line names, of which a server can be asked: none of the past.
func fieldsNamed(w *watching) (named []namedFields) {
	if w.isPast() {
		return nil
	}
	for _, c := range w.conditions() {
		for _, f := range c.Fields {
			named = append(named, namedFields{c.Flag, f})
		}
	}
	named = appendNamed(named, "only", w.print.Compare.Only)
	named = appendNamed(named, "ignore", w.ignored)
	named = appendNamed(named, "mask", masked(&w.print))
	return named
}

// checkFields returns a Sink before next for the fields that are named; it is next itself where there
// are none.
func checkFields(s *session, named []namedFields, say func(line string), next event.Sink) (_ event.Sink, wait func()) {
	if len(named) == 0 || len(s.plan.Missing) > 0 { // which may have the field
		return next, func() {}
	}
	f := &fieldCheck{session: s, say: say, next: next, links: event.NewWatchStates(s.plan.Targets), named: named}
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

// masked is what --mask names.
func masked(p *output.Options) change.Patterns {
	if p.Masks == nil {
		return nil
	}
	return p.Masks.Paths
}

// checkMasks says which fields of --mask are in none of the objects that are listed, and can be in none: they
// hide nothing.
func checkMasks(ctx context.Context, s *session, p *output.Options, objects []event.Object) {
	named, kinds := appendNamed(nil, "mask", masked(p)), map[schema.GroupVersionKind]string{}
	if len(named) == 0 {
		return
	}
	for _, t := range s.plan.Targets {
		kinds[t.Mapping.GroupVersionKind] = t.Resource().GroupResource().String()
	}
	for _, o := range objects {
		named = slices.DeleteFunc(named, func(n namedFields) bool { return n.fields.ExistsIn(o.Raw()) })
	}
	if len(named) > 0 {
		(&fieldCheck{session: s, say: s.warn}).check(ctx, named, kinds)
	}
}

// Deliver implements event.Sink. The events do not wait for the server's answer.
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

// kinds are the resources that are watched, by their kinds.
func (f *fieldCheck) kinds() map[schema.GroupVersionKind]string {
	kinds := map[schema.GroupVersionKind]string{}
	for _, l := range f.links.All() {
		kinds[l.Target.Mapping.GroupVersionKind] = l.Target.Resource().GroupResource().String()
	}
	return kinds
}

// check says which fields are in the schema of no kind. One that some schema leaves open is said only if there is a
// near one in another: of some of many resources the schema mostly is so.
func (f *fieldCheck) check(ctx context.Context, named []namedFields, kinds map[schema.GroupVersionKind]string) {
	looks := make([]fieldLookup, len(named))
	for _, version := range versionsOf(kinds) {
		of := slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.Kind, b.Kind) })
		of = slices.DeleteFunc(of, func(k schema.GroupVersionKind) bool { return k.GroupVersion() != version })
		names := make([]string, len(of))
		for i, k := range of {
			names[i] = k.Kind
		}
		schemas, _ := lookup.FetchSchemas(ctx, f.Cluster, version, names) // of those that it does not get it knows nothing
		for i, s := range schemas {
			for n := range looks {
				looks[n].take(s, named[n].fields, kinds[of[i]])
			}
		}
		if ctx.Err() != nil || !slices.ContainsFunc(looks, func(l fieldLookup) bool { return !l.there }) {
			return
		}
	}
	said := map[string]bool{}
	for i, l := range looks {
		if line := l.line(kinds); line != "" && !said[l.missing.String()] {
			said[l.missing.String()] = true
			f.say("--" + named[i].flag + ": " + line)
		}
	}
}

// versionsOf are those of kinds, sorted.
func versionsOf(kinds map[schema.GroupVersionKind]string) []schema.GroupVersion {
	versions := map[schema.GroupVersion]bool{}
	for k := range kinds {
		versions[k.GroupVersion()] = true
	}
	return slices.SortedFunc(maps.Keys(versions), func(a, b schema.GroupVersion) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version))
	})
}

// fieldLookup is what the schemas say of fields.
type fieldLookup struct {
	there          bool // in one
	open           []string
	missing, meant change.FieldPath // of the one that goes furthest
}

// take looks into the schema of a resource.
func (l *fieldLookup) take(s lookup.Schema, fields change.FieldPath, resource string) {
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

// maxNamed is how many resources are named; of more it is said how many they are.
const maxNamed = 5

// line says what is missing in these; empty if nothing is, or that is not known.
func (l *fieldLookup) line(kinds map[schema.GroupVersionKind]string) string {
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
