package inventory

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/reason"
)

// changedParts describes the effects of a change on the parts of an object that reasons name: the removed keys of a
// ConfigMap or Secret, or the spec of a ResourceQuota. Keys are the names of the parts.
type changedParts map[string]string

const (
	// specPart is the name of the spec.
	specPart = ".spec"
	// maxParts is the maximum number of parts per change.
	maxParts = 50
)

// changedPartsOf returns the changed parts of a change with a Diff, or nil for other kinds of objects.
func changedPartsOf(c *Change) (found changedParts) {
	kind := c.Event.Object.Kind
	isQuota, hasData := kind == "ResourceQuota", kind == "ConfigMap" || kind == "Secret"
	if c.Event.Object.APIVersion != "v1" || !isQuota && !hasData {
		return nil
	}
	found = changedParts{}
	for n := range c.Diff.Changes {
		one := &c.Diff.Changes[n]
		switch at := one.Path[0].Field; {
		case len(found) == maxParts:
			return found
		case isQuota && at == "spec" && found[specPart] == "":
			found[specPart] = summarize(one)
		case hasData && (at == "data" || at == "binaryData") && one.Kind == change.Removed:
			found.addRemoved(one)
		}
	}
	return found
}

// addRemoved adds the removed keys: one, or all of a removed map.
func (p changedParts) addRemoved(c *change.Change) {
	if len(c.Path) == 2 {
		p[c.Path[1].Field] = c.Path[0].Field + "." + summarize(c)
		return
	}
	all, _ := c.Old.(map[string]any)
	for key, value := range all {
		if len(p) == maxParts {
			return
		}
		one := change.Change{Path: append(c.Path[:1:1], change.Step{Field: key}), Kind: change.Removed, Old: value, Masked: c.Masked}
		p[key] = one.Path[0].Field + "." + summarize(&one)
	}
}

// findCulprit finds the object that the problem's reason names. It requires Inventory.mu to be held.
func (p *Problem) findCulprit(i *Inventory) {
	named, is := reason.FindCulprit(p.State.Message)
	if !is {
		return
	}
	of := p.State.Entry
	resource, isWatched := i.kinds[schema.GroupKind{Kind: named.Kind}]
	if !isWatched {
		return
	}
	p.namedByReason, p.culprit = named, i.byName[name{of.Cluster, resource, of.Namespace, named.Name}]
	if p.culprit != nil && p.culprit.state().Type == event.Deleted {
		p.deletedCulprit = p.culprit.state()
	}
}

// namedCause returns the latest change before the problem to the part of the object that the reason names, or nil.
func (l *scannedEntry) namedCause(p *Problem) *Cause {
	part := p.namedByReason.Key
	switch {
	case p.namedByReason.Kind == "ResourceQuota":
		part = specPart
	case part == "":
		return p.deletionCause()
	}
	for n := len(l.causes) - 1; n >= 0; n-- {
		one := l.causes[n]
		what, changed := one.parts[part]
		isNew := one.parts == nil && part == specPart // creation of the object
		if !changed && !isNew || !one.precedes(p.Since) {
			continue
		}
		if changed {
			one.Summary, one.ShortSummary = what, ""
		}
		return &one
	}
	return nil
}

// deletionCause returns the deletion of the missing object that the reason names, or nil.
func (p *Problem) deletionCause() *Cause {
	s := p.deletedCulprit
	if s == nil {
		return nil
	}
	if one := (Cause{Entry: s.Entry, State: s, Summary: "it was deleted"}); one.precedes(p.Since) {
		return &one
	}
	return nil
}
