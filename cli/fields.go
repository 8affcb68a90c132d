package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/ask"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

const (
	// maxFieldObjects is in how many objects fields are looked for before the server is asked.
	maxFieldObjects = 100
	// maxFieldKinds is of how many kinds it is asked; of more, a field may well be in few.
	maxFieldKinds = 5
)

// namedFields are fields of objects, as a flag names them.
type namedFields struct {
	flag   string
	fields change.Fields
}

// fieldCheck is a Sink before next that finds fields which no object can have, so that nobody waits
// for one. It looks for them in the objects that come, and asks the server for the schema only when
// all that exists has come and one was in none.
type fieldCheck struct {
	*session
	next   event.Sink
	links  *event.Links
	named  []namedFields // that no object has had
	looked int
	asking sync.WaitGroup
}

// checkFields returns a Sink before next; it is next itself where no field is named.
func checkFields(w *watching, next event.Sink) (_ event.Sink, wait func()) {
	var named []namedFields
	for _, c := range w.conditions() {
		for _, f := range c.Fields {
			named = append(named, namedFields{c.Flag, f})
		}
	}
	for _, p := range w.print.Compare.Only {
		if f := p.Names(); len(f) > 0 {
			named = append(named, namedFields{"only", f})
		}
	}
	if len(named) == 0 || len(w.plan.Missing) > 0 { // which may have the field
		return next, func() {}
	}
	f := &fieldCheck{session: w.session, next: next, links: event.NewLinks(w.plan.Targets), named: named}
	return f, f.asking.Wait
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
	case !e.Type.IsMark() && f.looked < maxFieldObjects && e.Whole():
		f.looked++
		text := e.Object.Raw()
		f.named = slices.DeleteFunc(f.named, func(n namedFields) bool { return n.fields.In(text) })
	case e.Type.IsMark() && e.Type != event.Heartbeat && len(f.links.All()) > 0 && f.links.Count(event.PhaseConnecting) == 0 && f.links.Count(event.PhaseGone) == 0:
		named, kinds := f.named, f.kinds()
		f.named = nil
		if len(kinds) > 0 && len(kinds) <= maxFieldKinds {
			f.asking.Go(func() { f.judge(ctx, named, kinds) })
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

// judge says which fields are in the schema of no kind.
func (f *fieldCheck) judge(ctx context.Context, named []namedFields, kinds map[schema.GroupVersionKind]string) {
	var schemas []ask.Schema
	var resources []string
	for kind, resource := range kinds {
		s, err := ask.SchemaOf(ctx, f.Cluster, kind)
		if err != nil {
			return // nor is it known then that nothing has the field
		}
		schemas, resources = append(schemas, s), append(resources, resource)
	}
	slices.Sort(resources)
	said := map[string]bool{}
	for _, n := range named {
		missing, meant := lacking(schemas, n.fields)
		if missing == nil || said[missing.String()] {
			continue
		}
		said[missing.String()] = true
		line := fmt.Sprintf("--%s: there is no field %s in %s", n.flag, missing, strings.Join(resources, ", "))
		if meant != nil {
			line += fmt.Sprintf("; did you mean %s?", meant)
		}
		f.warn(line)
	}
}

// lacking returns what is missing in all of the schemas, of that which goes furthest.
func lacking(schemas []ask.Schema, fields change.Fields) (missing, meant change.Fields) {
	for _, s := range schemas {
		m, near := s.Lacks(fields)
		switch {
		case m == nil:
			return nil, nil
		case len(m) > len(missing) || len(m) == len(missing) && meant == nil:
			missing, meant = m, near
		}
	}
	return missing, meant
}
