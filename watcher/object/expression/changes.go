package expression

import (
	"maps"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// comparison is what an event changed: the two states, and what has been asked of them.
// For CEL it is a value that only changed() knows.
type comparison struct {
	opaque
	was, is *state // nil where nothing can have changed
	compare change.Options
	// digests are all that is known of the state before; nil: they are not asked.
	digests func(p change.Pattern) (changed, known bool)
	all     []change.Change // with the options of the comparison
	list    ref.Val
	changed map[string]bool // by pattern
}

// comparison returns the comparison of the old object with the new one. An object that
// was added or deleted has no changes. They are missing where the old one is not known.
func (in *Input) comparison() ref.Val {
	if in.compared != nil {
		return in.compared
	}
	c := &comparison{compare: in.options.Compare, changed: map[string]bool{}}
	c.compare.Masks = nil
	switch {
	case in.event.Digests != "" && in.options.Digests != nil:
		c.digests = in.byDigests
	case in.event.Type != event.Modified:
	case in.old.object.IsZero():
		in.lacksOld = true
		return missing()
	default:
		c.was, c.is = &in.old, &in.object
	}
	in.compared = c
	return c
}

func (c *comparison) between(o change.Options) []change.Change {
	if c.was == nil {
		return nil
	}
	return change.Diff(c.was.text(), c.is.text(), o).Changes
}

// found returns what changed.
func (c *comparison) found() []change.Change {
	if c.all == nil {
		c.all = c.between(c.compare)
	}
	return c.all
}

// changes returns what changed as a list for CEL.
func (in *Input) changes() ref.Val {
	c, ok := in.comparison().(*comparison)
	if !ok {
		return in.comparison() // the error
	}
	if c.digests != nil { // they do not say what
		if in.event.Type != event.Modified {
			return types.NewRefValList(types.DefaultTypeAdapter, nil)
		}
		in.lacksOld = true
		return missing()
	}
	if c.list == nil {
		found := c.found()
		values := make([]ref.Val, len(found))
		for i := range found {
			values[i] = changeValue(&found[i])
		}
		c.list = types.NewRefValList(types.DefaultTypeAdapter, values)
	}
	return c.list
}

// byDigests reports whether something at or below what the pattern names changed, as far as it is
// known from an earlier run.
func (in *Input) byDigests(p change.Pattern) (changed, known bool) {
	changed, known = in.options.Digests.Changed(in.event.Digests, p, in.object.text())
	in.lacksOld = in.lacksOld || !known
	return changed, known
}

// touches reports whether something changed at or below what the pattern names, which
// counts then even if it is noise.
// With an error it is not known.
func (c *comparison) touches(p change.Pattern) (bool, error) {
	known, asked := c.changed[p.String()]
	if asked {
		return known, nil
	}
	touched := false
	if c.digests != nil {
		var isKnown bool
		if touched, isKnown = c.digests(p); !isKnown {
			return false, errMissing
		}
	}
	if c.was != nil && !c.sameAt(p.FixedPrefix()) {
		o := c.compare
		o.Only = change.Patterns{p}
		touched = len(c.between(o)) > 0
	}
	c.changed[p.String()] = touched
	return touched, nil
}

// sameAt reports whether what the fields lead to is written the same in both states, as far
// as that is seen without decoding them: mostly it is.
func (c *comparison) sameAt(fields []string) bool {
	c.was.value()
	c.is.value()
	was, known := c.was.lazy.textAt(fields)
	is, too := c.is.lazy.textAt(fields)
	return known && too && was == is
}

// changeFields are the fields of a change, with their types.
var changeFields = map[string]*types.Type{
	"path":        types.StringType,
	"kind":        types.StringType,
	"old":         types.DynType,
	"new":         types.DynType,
	"manager":     types.StringType,
	"operation":   types.StringType,
	"subresource": types.StringType,
}

// changeValue returns a map. What was added has no old, what was removed no new.
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
	return types.NewMap(lazily, value)
}

// changeType is a type of its own, so that an unknown field is found before the watch begins.
const changeType = "Change"

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
