package recording

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// definitionKey is the target of all CustomResourceDefinitions. Definitions are named after their resource, for example
// "databases.example.com".
var definitionKey = event.Key{Resource: schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}}

// definitions tracks when CustomResourceDefinitions existed, according to the lines of a recording. While the
// definition of a resource does not exist, the resource has no objects. This holds only for resources that
// have a definition at some time: other resources belong to API servers that may not have answered.
type definitions struct {
	tracked map[string]bool          // names of the definitions to track
	existed map[string][]GapInterval // past periods in which a definition existed, by name
	exists  map[string]time.Time     // since when a definition has existed, by name
}

func newDefinitions(tracked map[string]bool) *definitions {
	return &definitions{tracked: tracked, existed: map[string][]GapInterval{}, exists: map[string]time.Time{}}
}

// observe takes the next line.
func (d *definitions) observe(l *line) {
	switch {
	case l.header != nil: // the objects that exist follow
		for name := range d.exists {
			d.end(name, l.Time)
		}
	case !l.hasObject() || l.Target.Resource().GroupResource() != definitionKey.Resource || !d.tracked[l.Object.Name]:
	case l.Type == event.Deleted:
		d.end(l.Object.Name, l.Time)
	default:
		if _, exists := d.exists[l.Object.Name]; !exists {
			d.exists[l.Object.Name] = l.Time
		}
	}
}

func (d *definitions) end(name string, at time.Time) {
	if since, exists := d.exists[name]; exists {
		d.existed[name] = append(d.existed[name], GapInterval{From: since, To: at, Reason: reasonUnrecorded})
		delete(d.exists, name)
	}
}

// tracks reports whether the definition of a resource is tracked. d may be nil.
func (d *definitions) tracks(resource schema.GroupResource) bool {
	return d != nil && d.tracked[resource.String()]
}

// isAbsent reports whether the definition of a resource is tracked and does not exist according to the latest lines.
func (d *definitions) isAbsent(resource schema.GroupResource) bool {
	if !d.tracks(resource) {
		return false
	}
	_, exists := d.exists[resource.String()]
	return !exists
}

// mayHaveObjects returns the periods up to end in which a resource may have had objects: while its definition existed, and
// while definitions were not covered.
func (d *definitions) mayHaveObjects(s *coverage, resource schema.GroupResource, end time.Time) (all []GapInterval) {
	all = slices.Concat(s.gaps(definitionKey, end), d.existed[resource.String()])
	if since, exists := d.exists[resource.String()]; exists {
		all = append(all, GapInterval{From: since, To: later(since, end), Reason: reasonUnrecorded})
	}
	slices.SortFunc(all, func(a, b GapInterval) int { return a.From.Compare(b.From) })
	return all
}

// trackDefinitions makes w track the definitions of the custom resources among targets that were not recorded yet when the
// first of files began. It does nothing if there are none.
func (r *Recording) trackDefinitions(ctx context.Context, w *walker, files []file, targets []event.Target) error {
	selectsObjects := func(s event.Selection) bool { return s.Labels != "" || s.Fields != "" || !s.Shard.IsAll() }
	if len(files) == 0 || files[0].header == nil || !slices.Contains(r.targets, definitionKey) || slices.ContainsFunc(r.selections, selectsObjects) {
		return nil // a selector may hide a definition that exists
	}
	isNew := func(t event.Target) bool {
		return t.Resource().Group != "" && !slices.ContainsFunc(files[0].header.Targets, func(s coverageState) bool { return covers(s.key(), t.Key()) })
	}
	if !slices.ContainsFunc(targets, isNew) {
		return nil
	}
	names, err := r.definitionNames(ctx)
	if err != nil || len(names) == 0 {
		return err
	}
	tracked := map[string]bool{}
	for _, t := range targets {
		if name := t.Resource().GroupResource().String(); isNew(t) && names[name] {
			tracked[name] = true
		}
	}
	if len(tracked) > 0 {
		w.coverage.definitions = newDefinitions(tracked)
	}
	return nil
}

// definitionNames returns the names of the definitions in the last segment.
func (r *Recording) definitionNames(ctx context.Context) (map[string]bool, error) {
	w, err := newWalker(nil)
	if err != nil {
		return nil, err
	}
	defer w.close()
	names := map[string]bool{}
	w.take = func(l *line) error {
		if l.hasObject() && l.Target.Resource().GroupResource() == definitionKey.Resource {
			names[l.Object.Name] = true
		}
		return nil
	}
	if err := w.walk(ctx, r.segmentsFrom(r.endTime)); err != nil && !errors.Is(err, errEnd) {
		return nil, err
	}
	return names, nil
}
