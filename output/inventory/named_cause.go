package inventory

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/reason"
)

// parts say in a few words what a change did to what reasons name: to the keys in data, or to the spec of a quota.
type parts map[string]string

const (
	// ofSpec is the name of the part that a spec is.
	ofSpec = ".spec"
	// maxParts is how many parts of a change are held.
	maxParts = 50
)

// partsOf are those of a change that is known.
func partsOf(c *Change) (found parts) {
	kind := c.Event.Object.Kind
	isQuota, hasData := kind == "ResourceQuota", kind == "ConfigMap" || kind == "Secret"
	if c.Event.Object.APIVersion != "v1" || !isQuota && !hasData {
		return nil
	}
	found = parts{}
	for n := range c.Diff.Changes {
		one := &c.Diff.Changes[n]
		switch at := one.Path[0].Field; {
		case len(found) == maxParts:
			return found
		case isQuota && at == "spec" && found[ofSpec] == "":
			found[ofSpec] = inShort(one)
		case hasData && (at == "data" || at == "binaryData") && one.Kind == change.Removed:
			found.removed(one)
		}
	}
	return found
}

// removed takes in the keys that were removed, one or all of them.
func (p parts) removed(c *change.Change) {
	if len(c.Path) == 2 {
		p[c.Path[1].Field] = c.Path[0].Field + "." + inShort(c)
		return
	}
	all, _ := c.Old.(map[string]any)
	for key, value := range all {
		if len(p) == maxParts {
			return
		}
		one := change.Change{Path: append(c.Path[:1:1], change.Step{Field: key}), Kind: change.Removed, Old: value, Masked: c.Masked}
		p[key] = one.Path[0].Field + "." + inShort(&one)
	}
}

// find finds what the reason names, under the lock of the Inventory.
func (p *Problem) find(i *Inventory) {
	named, is := reason.NamedBy(p.State.Message)
	if !is {
		return
	}
	of := p.State.Entry
	resource, isWatched := i.kinds[schema.GroupKind{Kind: named.Kind}]
	if !isWatched {
		return
	}
	p.named, p.names = named, i.named[name{of.Cluster, resource, of.Namespace, named.Name}]
	if p.names != nil && p.names.state().Type == event.Deleted {
		p.gone = p.names.state()
	}
}

// of is the last change before a problem of what its reason names, to the part that it names.
func (l *looked) of(p *Problem) *Cause {
	part := p.named.Key
	switch {
	case p.named.Kind == "ResourceQuota":
		part = ofSpec
	case part == "":
		return p.deletion()
	}
	for n := len(l.meant) - 1; n >= 0; n-- {
		one := l.meant[n]
		what, changed := one.parts[part]
		isNew := one.parts == nil && part == ofSpec // it was created
		if !changed && !isNew || !one.isBefore(p.Since) {
			continue
		}
		if changed {
			one.Summary, one.ShortSummary = what, ""
		}
		return &one
	}
	return nil
}

// deletion is that of an object that is missing.
func (p *Problem) deletion() *Cause {
	s := p.gone
	if s == nil {
		return nil
	}
	if one := (Cause{Entry: s.Entry, State: s, Summary: "it was deleted"}); one.isBefore(p.Since) {
		return &one
	}
	return nil
}
