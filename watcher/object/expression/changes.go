package expression

import (
	"maps"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// comparison compares the old and the new object of an event and caches the results. It is
// an opaque CEL value that changed() gets as a hidden argument.
type comparison struct {
	opaque
	old, new *state // nil if the event has no changes, and if only digests of the old object are known
	compare  change.Options
	// changedByDigest is used if only digests of the old object are known. Otherwise it is nil.
	changedByDigest func(p change.Pattern) (changed, known bool)
	all             []change.Change // cache of allChanges
	list            ref.Val
	changed         map[string]bool // by pattern
}

// comparison returns the comparison for the event. Added and deleted objects have no changes.
// It returns an error value if the old object is unknown.
func (in *Input) comparison() ref.Val {
	if in.compared != nil {
		return in.compared
	}
	c := &comparison{compare: in.options.Compare, changed: map[string]bool{}}
	c.compare.Masks = nil
	switch {
	case in.event.Digests != "" && in.options.Digests != nil:
		c.changedByDigest = in.changedByDigest
	case in.event.Type != event.Modified:
	case in.old.object.IsZero():
		in.oldMissing = true
		return missing()
	default:
		c.old, c.new = &in.old, &in.object
	}
	in.compared = c
	return c
}

func (c *comparison) diff(o change.Options) []change.Change {
	if c.old == nil {
		return nil
	}
	return change.Diff(c.old.text(), c.new.text(), o).Changes
}

// allChanges returns all changes that Options.Compare selects.
func (c *comparison) allChanges() []change.Change {
	if c.all == nil {
		c.all = c.diff(c.compare)
	}
	return c.all
}

// changes returns the value of the variable changes.
func (in *Input) changes() ref.Val {
	c, ok := in.comparison().(*comparison)
	if !ok {
		return in.comparison() // the error
	}
	if c.changedByDigest != nil { // digests cannot list the changes
		if in.event.Type != event.Modified {
			return types.NewRefValList(types.DefaultTypeAdapter, nil)
		}
		in.oldMissing = true
		return missing()
	}
	if c.list == nil {
		found := c.allChanges()
		values := make([]ref.Val, len(found))
		for i := range found {
			values[i] = changeValue(&found[i])
		}
		c.list = types.NewRefValList(types.DefaultTypeAdapter, values)
	}
	return c.list
}

// changedByDigest reports whether the fields that the pattern matches changed since an earlier run, which left their
// digests.
func (in *Input) changedByDigest(p change.Pattern) (changed, known bool) {
	changed, known = in.options.Digests.Changed(in.event.Digests, p, in.object.text())
	in.oldMissing = in.oldMissing || !known
	return changed, known
}

// touches reports whether the fields that the pattern matches changed. Noise counts if the
// pattern names it. The error is errMissing if the old state is unknown.
func (c *comparison) touches(p change.Pattern) (bool, error) {
	if changed, cached := c.changed[p.String()]; cached {
		return changed, nil
	}
	touched := false
	if c.changedByDigest != nil {
		var known bool
		if touched, known = c.changedByDigest(p); !known {
			return false, errMissing
		}
	}
	if c.old != nil && !c.equalAt(p.FixedPrefix()) {
		o := c.compare
		o.Only = change.Patterns{p}
		touched = len(c.diff(o)) > 0
	}
	c.changed[p.String()] = touched
	return touched, nil
}

// equalAt reports whether the JSON text at a path is the same in both states. This check is
// cheap. It returns false if the text cannot be found without decoding the object.
func (c *comparison) equalAt(fields []string) bool {
	c.old.value()
	c.new.value()
	was, known := c.old.lazy.textAt(fields)
	is, too := c.new.lazy.textAt(fields)
	return known && too && was == is
}

// changeFields are the fields of an item of changes, with their types.
var changeFields = map[string]*types.Type{
	"path":        types.StringType,
	"kind":        types.StringType,
	"old":         types.DynType,
	"new":         types.DynType,
	"manager":     types.StringType,
	"operation":   types.StringType,
	"subresource": types.StringType,
}

// changeValue returns a change as a CEL map. Added fields have no old, and removed fields have no new.
func changeValue(c *change.Change) ref.Val {
	value := map[string]any{
		"path":        c.Path.String(),
		"kind":        string(c.Kind),
		"manager":     c.Writer.Manager,
		"operation":   c.Writer.Operation,
		"subresource": c.Writer.Subresource,
	}
	if c.Kind != change.Added {
		value["old"] = c.Old
	}
	if c.Kind != change.Removed {
		value["new"] = c.New
	}
	return types.NewMap(lazyAdapter, value)
}

// changeType is the CEL type of an item of changes. It makes unknown fields compile errors.
const changeType = "Change"

// provider adds changeType to the types of CEL.
type provider struct{ types.Provider }

func (p provider) FindStructType(name string) (*types.Type, bool) {
	if name == changeType {
		return types.NewTypeTypeWithParam(types.NewObjectType(changeType)), true
	}
	return p.Provider.FindStructType(name)
}

func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if name != changeType {
		return p.Provider.FindStructFieldNames(name)
	}
	return slices.Collect(maps.Keys(changeFields)), true
}

func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if name != changeType {
		return p.Provider.FindStructFieldType(name, field)
	}
	t, there := changeFields[field]
	return &types.FieldType{Type: t}, there
}
